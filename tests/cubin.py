"""Read a cubin's ELF: which function it holds, and what that says about itself."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

SYMBOL_TABLE, FUNCTION = 2, 2
# Attributes in the sections .nv.info and .nv.info.<function>, by number.
REGISTERS, STACK, PARAMETER, THREADS = 0x2F, 0x11, 0x17, 0x10
SIZED = 4  # an attribute whose bytes follow; others hold two bytes themselves


class Section(NamedTuple):
    """One section: its name and kind, and its bytes."""

    name: str
    kind: int
    content: bytes


class Function(NamedTuple):
    """A cubin's only function. ``parameters`` are sizes in bytes, in order."""

    symbol: str
    registers: int
    stack: int
    threads: int
    parameters: list[int]


def read(cubin: bytes) -> Function:
    """Return the function of ``cubin``; fails where there are several or none."""
    sections = {section.name: section for section in _sections(cubin)}
    (symbol,) = _functions(sections)
    assert f".text.{symbol}" in sections
    about_all = dict(_attributes(sections[".nv.info"].content))
    about_it = list(_attributes(sections[f".nv.info.{symbol}"].content))
    parameters = {}
    for body in (body for number, body in about_it if number == PARAMETER):
        _, at, _, flags = struct.unpack("<IHHI", body)
        parameters[at] = flags >> 18
    (threads,) = (struct.unpack("<III", body) for number, body in about_it if number == THREADS)
    return Function(
        symbol,
        struct.unpack("<II", about_all[REGISTERS])[1],
        struct.unpack("<II", about_all[STACK])[1],
        threads[0],
        [parameters[at] for at in sorted(parameters)],
    )


def _sections(cubin: bytes) -> Iterator[Section]:
    """Yield the sections of a 64-bit ELF file."""
    assert cubin[:5] == b"\x7fELF\x02"
    (table,) = struct.unpack_from("<Q", cubin, 0x28)
    size, count, names_at = struct.unpack_from("<HHH", cubin, 0x3A)
    heads = [struct.unpack_from("<IIQQQQIIQQ", cubin, table + at * size) for at in range(count)]
    names = heads[names_at][4]
    for name, kind, _, _, start, length, *_ in heads:
        yield Section(_text(cubin, names + name), kind, cubin[start : start + length])


def _functions(sections: dict[str, Section]) -> list[str]:
    """Return the names of the functions in the symbol table."""
    strings = sections[".strtab"].content
    (table,) = (section.content for section in sections.values() if section.kind == SYMBOL_TABLE)
    symbols = struct.iter_unpack("<IBBHQQ", table)
    return [_text(strings, name) for name, info, *_ in symbols if info & 15 == FUNCTION]


def _attributes(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield each attribute's number and bytes."""
    at = 0
    while at < len(content):
        form, number, size = struct.unpack_from("<BBH", content, at)
        at += 4
        length = size if form == SIZED else 0
        yield number, content[at : at + length]
        at += length


def _text(content: bytes, start: int) -> str:
    """Return the text that starts there and ends before the next zero."""
    return content[start : content.index(b"\0", start)].decode()

"""Sizes that remember how they were computed, so that a launch's grid explains itself.

A kernel's wrapper computes its grid from the shapes of its inputs. Where those are `Size`s, out
comes the number of programs and its formula in one: ``batch * heads * ceil(seq_q / BLOCK_M)``.
Operations that are not listed here give the plain number.
"""

from __future__ import annotations

from collections.abc import Callable

_ATOM, _PRODUCT, _SUM = range(3)  # how loosely a rule's outermost operation binds


class Size(int):
    """A whole number and the ``rule`` that gives it.

    ``part`` holds a and b of a half-finished division rounded up: a + b, a + b - 1, -a, -a // b.
    """

    def __new__(cls, value: int, rule: str, level: int = _ATOM, part: tuple = ("",)) -> Size:
        """Return ``value`` with its rule; how loosely that binds is ``level``."""
        made = super().__new__(cls, value)
        made.rule, made.level, made.part = rule, level, part
        return made

    def __neg__(self) -> Size:
        if self.part[0] == "-a // b":
            return _rounded_up(-int(self), *self.part[1:])
        return Size(-int(self), f"-{_bracketed(self, _PRODUCT)}", _PRODUCT, ("-a", self))


def rule_of(value: object) -> str:
    """Return how ``value`` was computed; a plain number's rule is the number."""
    return value.rule if isinstance(value, Size) else str(value)


def _bracketed(value: int, loosest: int) -> str:
    """Return the rule of an operand, in brackets if it binds no tighter than ``loosest``."""
    return f"({rule_of(value)})" if getattr(value, "level", -1) >= loosest else rule_of(value)


def _quotient(rounding: str, a: int, b: int) -> str:
    """Return the rule of a / b, rounded."""
    return f"{rounding}({_bracketed(a, _SUM)} / {_bracketed(b, _PRODUCT)})"


def _rounded_up(value: int, a: int, b: int) -> int:
    """Return ``value`` as ceil(a / b), which is a where b is the plain number 1."""
    return a if type(b) is int and b == 1 else Size(value, _quotient("ceil", a, b))


def _sum(a: int, b: int) -> Size:
    """Return a + b."""
    return Size(int(a) + int(b), f"{rule_of(a)} + {rule_of(b)}", _SUM, ("a + b", a, b))


def _difference(a: int, b: int) -> Size:
    """Return a - b."""
    part = getattr(a, "part", ("",))
    is_one = type(b) is int and b == 1
    kept = ("a + b - 1", *part[1:]) if part[0] == "a + b" and is_one else ("",)
    return Size(int(a) - int(b), f"{rule_of(a)} - {_bracketed(b, _SUM)}", _SUM, kept)


def _product(a: int, b: int) -> int:
    """Return a * b; a factor that is the plain number 1 is not mentioned."""
    for one, other in ((a, b), (b, a)):
        if type(one) is int and one == 1:
            return other
    return Size(int(a) * int(b), f"{_bracketed(a, _SUM)} * {_bracketed(b, _SUM)}", _PRODUCT)


def _divided(a: int, b: int) -> Size:
    """Return a // b; what (x + b - 1) // b and -(-x // b) are is ceil(x / b)."""
    value, part = int(a) // int(b), getattr(a, "part", ("",))
    if part[0] == "a + b - 1" and rule_of(part[2]) == rule_of(b):
        return _rounded_up(value, part[1], b)
    half_done = ("-a // b", part[1], b) if part[0] == "-a" else ("",)
    return Size(value, _quotient("floor", a, b), _ATOM, half_done)


def _operator(compute: Callable[[int, int], int], is_right: bool) -> Callable:
    """Return ``compute`` as a method of a Size on the left or the right, for whole numbers only."""

    def method(self: Size, other: object) -> object:
        if type(other) not in (int, Size):
            return NotImplemented
        return compute(other, self) if is_right else compute(self, other)

    return method


for _name, _compute in (
    ("add", _sum),
    ("sub", _difference),
    ("mul", _product),
    ("floordiv", _divided),
):
    setattr(Size, f"__{_name}__", _operator(_compute, False))
    setattr(Size, f"__r{_name}__", _operator(_compute, True))

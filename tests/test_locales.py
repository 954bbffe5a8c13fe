"""Both languages say everything, nothing is said that is never shown, and errors read the same."""

from __future__ import annotations

import ast
import itertools
import json
import re
import string
from collections.abc import Iterator, Mapping
from functools import cache

import numpy as np
import pytest

from kernels import ALGORITHMS, tile_inputs
from kernels.inputs import OWN_NUMBERS, PRESETS
from kernels.problems import arrays_for, choose_for, schedule_for, trace_for
from kernels.trace import Trace
from tests.rows import ROWS
from tests.test_architecture import PYTHON, ROOT, sources
from viz.locales import LANGUAGES, from_browser, has, table, text

EN = table("en")
NAMESPACES = {key.split(".")[0] for key in EN}
KEY = re.compile(r"[a-z]\w*(\.\w+)+")
HOLE = "\0"  # stands for a placeholder of an f-string or a JavaScript template
TREES = {path: ast.parse(path.read_text("utf-8")) for path in PYTHON}


def fields(template: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(template) if name is not None}


# The two tables.


@pytest.mark.parametrize("language", LANGUAGES)
def test_tables_are_sorted_flat_strings(language):
    path = ROOT / "viz" / "locales" / f"{language}.json"
    pairs = json.loads(path.read_text("utf-8"), object_pairs_hook=list)
    keys = [key for key, _ in pairs]
    assert keys == sorted(set(keys)), "keys stand once each, in order"
    assert all(isinstance(value, str) for _, value in pairs)
    assert all(KEY.fullmatch(key) for key in keys)


def test_languages_hold_the_same_keys():
    for language in LANGUAGES:
        assert set(table(language)) ^ set(EN) == set()


@pytest.mark.parametrize("language", [name for name in LANGUAGES if name != "en"])
def test_languages_fill_in_the_same_details(language):
    other = table(language)
    differing = {k for k in EN.keys() & other.keys() if fields(EN[k]) != fields(other[k])}
    assert not differing


@pytest.mark.parametrize("language", LANGUAGES)
def test_templates_can_be_filled(language):
    for key, template in table(language).items():
        assert all(name.isidentifier() for name in fields(template)), key
        text(language, key, **{name: 1 for name in fields(template)})


def test_chinese_is_chinese():
    """A key that was copied and not translated has no Chinese character in a sentence of words."""
    zh = table("zh")
    copied = [
        key
        for key, said in EN.items()
        if zh.get(key) == said
        and len(re.findall(r"[A-Za-z]{2,}", re.sub(r"\{\w+\}", "", said))) > 2
    ]
    assert not copied


# Keys in the code.


def python_literals() -> Iterator[tuple[str, str]]:
    """Yield (where, text) for every string in Python; an f-string's placeholders become HOLE."""
    for path, tree in TREES.items():
        inside = set()
        for node in ast.walk(tree):
            where = f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}"
            if isinstance(node, ast.JoinedStr):
                inside |= {id(part) for part in node.values}
                parts = [p.value if isinstance(p, ast.Constant) else HOLE for p in node.values]
                yield where, "".join(parts)
            elif isinstance(getattr(node, "value", None), str) and id(node) not in inside:
                yield where, node.value


def page_literals() -> Iterator[tuple[str, str]]:
    """Yield (where, text) for every string in JavaScript and HTML, and of JavaScript in Python."""
    texts = [(path, path.read_text("utf-8")) for path in sources(".js", ".html")]
    for path, tree in TREES.items():
        constants = (n.value for n in ast.walk(tree) if isinstance(n, ast.Constant))
        texts += [(path, value) for value in constants if isinstance(value, str) and "\n" in value]
    for path, source in texts:
        for literal in script_literals(source):
            yield str(path.relative_to(ROOT)), literal


def script_literals(source: str) -> Iterator[str]:
    """Yield every string of JavaScript or HTML; a template's placeholders become HOLE."""
    at = 0
    while at < len(source):
        skipped = re.compile(r"/\*.*?\*/|(?<!:)//[^\n]*", re.DOTALL).match(source, at)
        quoted = re.compile(r"'([^'\n]*)'|\"([^\"\n]*)\"").match(source, at)
        if skipped:
            at = skipped.end()
        elif quoted:
            yield quoted[1] or quoted[2] or ""
            at = quoted.end()
        elif source[at] == "`":
            literal, inner, at = template(source, at + 1)
            yield literal
            for part in inner:
                yield from script_literals(part)
        else:
            at += 1


def template(source: str, at: int) -> tuple[str, list[str], int]:
    """Read a template that begins at ``at``: its text, its placeholders' code, and its end."""
    literal, inner = "", []
    while at < len(source) and source[at] != "`":
        if not source.startswith("${", at):
            literal, at = literal + source[at], at + 1
            continue
        begin, depth, at = at + 2, 1, at + 2
        while depth and at < len(source):
            if source[at] == "`":
                at = template(source, at + 1)[2] - 1
            depth += {"{": 1, "}": -1}.get(source[at], 0)
            at += 1
        literal += HOLE
        inner.append(source[begin : at - 1])
    return literal, inner, at + 1


def test_strings_of_a_script_are_found():
    script = """
    // it's a comment, 'a.b'
    say('a.b', `c.${d ? `e.${f({ g: 1 })}.h` : 'i.j'}.k`); /* `l.m` */ const url = "n.o";
    """
    assert list(script_literals(script)) == ["a.b", f"c.{HOLE}.k", f"e.{HOLE}.h", "i.j", "n.o"]


LITERALS = [*python_literals(), *page_literals()]
PREFIXES = {namespace + "." for namespace in NAMESPACES}
FILES = re.compile(r".*\.(py|js|css|html|md|json|png|csv)")


def named_keys() -> dict[str, str]:
    """Return key -> where, for every literal that can only be a key."""
    return {
        literal: where
        for where, literal in LITERALS
        if KEY.fullmatch(literal)
        and literal.split(".")[0] in NAMESPACES
        and (literal in EN or not FILES.fullmatch(literal))
    }


def families() -> dict[str, str]:
    """Return pattern -> where, for literals with placeholders that begin like a key."""
    found = {}
    for where, literal in LITERALS:
        if HOLE not in literal or literal.startswith(HOLE):
            continue
        if KEY.fullmatch(literal.replace(HOLE, "x")) and literal.split(".")[0] in NAMESPACES:
            found[re.escape(literal).replace(re.escape(HOLE), r"[\w.]+")] = where
    return found


def test_every_key_in_the_code_exists():
    missing = {key: where for key, where in named_keys().items() if key not in EN}
    assert not missing


def test_every_family_of_keys_has_members():
    empty = {
        family.replace(r"[\w.]+", "{…}"): where
        for family, where in families().items()
        if not any(re.fullmatch(family, key) for key in EN)
    }
    # A template of a caption may exist for no algorithm in particular.
    assert not empty


def test_every_key_is_used():
    named, patterns = named_keys(), [re.compile(family) for family in families()]
    unused = [
        key
        for key in EN
        if key not in named and not any(pattern.fullmatch(key) for pattern in patterns)
    ]
    assert unused == []


# Families whose members are known.


def calls(name: str) -> Iterator[tuple[str, ast.Call]]:
    for path, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] == name:
                yield f"{path.relative_to(ROOT)}:{node.lineno}", node


def constants(node: ast.expr | None) -> list[str]:
    """Return the strings that ``node`` can be: a literal, or either branch of a condition."""
    if isinstance(node, ast.IfExp):
        return constants(node.body) + constants(node.orelse)
    is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return [node.value] if is_text and node.value else []


def input_errors() -> list[tuple[str, str, str]]:
    """Return (where, key, sentence) of every InputError that is raised with both written out."""
    found = []
    for where, call in calls("InputError"):
        if len(call.args) == 2 and all(isinstance(arg, ast.Constant) for arg in call.args):
            found.append((where, call.args[0].value, call.args[1].value))
    return found


def test_every_input_error_has_its_sentence_word_for_word():
    raised = input_errors()
    assert len(raised) >= 10
    wrong = {
        f"{where} error.{key}": (sentence, EN.get(f"error.{key}"))
        for where, key, sentence in raised
        if EN.get(f"error.{key}") != sentence
    }
    assert not wrong


def test_every_error_sentence_is_raised_with_its_details():
    raised = {key for _, key, _ in input_errors()}
    assert {key[len("error.") :] for key in EN if key.startswith("error.")} == raised
    for where, call in calls("InputError"):
        if len(call.args) == 2 and isinstance(call.args[1], ast.Constant):
            given = {keyword.arg for keyword in call.keywords}
            assert fields(call.args[1].value) <= given, where


@pytest.mark.parametrize(
    "call, argument, prefix",
    [("JobFailed", 0, "failed."), ("Failure", 0, "failed."), ("Progress", 0, "progress.")],
)
def test_every_kind_that_a_job_reports_has_words(call, argument, prefix):
    kinds = [
        (where, kind)
        for where, node in calls(call)
        if len(node.args) > argument
        for kind in constants(node.args[argument])
    ]
    assert kinds
    assert not [(where, prefix + kind) for where, kind in kinds if prefix + kind not in EN]


def test_every_reason_for_no_gpu_has_words_wherever_reasons_are_shown():
    prefixes = {key[: key.index(".reason.") + 8] for key in EN if ".reason." in key}
    assert prefixes
    shown = {p: {key[len(p) :] for key in EN if key.startswith(p)} for p in prefixes}
    for names in shown.values():
        assert names == set().union(*shown.values())
    for where, node in calls("Device"):
        for keyword in node.keywords:
            if keyword.arg == "reason":
                for reason in constants(keyword.value):
                    assert all(reason in names for names in shown.values()), where


def test_presets_algorithms_and_phases_have_names():
    wanted = {f"preset.{preset}" for preset in (*PRESETS, OWN_NUMBERS)}
    wanted |= {f"algorithm.{name}.title" for name in ALGORITHMS}
    wanted |= {f"phase.{phase}" for _, phase, *_ in emitted_cases()}
    assert not wanted - set(EN)
    for prefix, extra in (("preset.", ()), ("phase.", ())):
        assert {key for key in EN if key.startswith(prefix)} - wanted == set(extra)


# Captions: one template for whatever can happen.

NUMBERS = [
    *itertools.product(PRESETS, ("",)),
    (OWN_NUMBERS, "1 5 2 9 9 3 nan 1 2 3"),
    (OWN_NUMBERS, "nan nan nan nan 1 2"),
    (OWN_NUMBERS, "1 inf 2 3 4 5"),
    (OWN_NUMBERS, "1 2 inf inf -inf 3"),
    (OWN_NUMBERS, "1 2 -inf -inf 1 3 -inf -inf -inf"),
    (OWN_NUMBERS, "-inf -inf nan 1"),
    (OWN_NUMBERS, "-inf -inf 1 2"),
    (OWN_NUMBERS, "-inf -inf -inf"),
    (OWN_NUMBERS, "0 0 300 0"),
    (OWN_NUMBERS, "88 88 88 88 88 88"),
    (OWN_NUMBERS, "-200 -300"),
]

# What the player makes of a case, looking at what had happened before.
REFINED = {
    ("accumulate", "overflow"): ("overflow", "overflow_kept", "overflow_sum"),
    ("normalize", "normal"): ("normal", "zero"),
    ("store", "normal"): ("normal", "last"),
}


RISES = ("rise", "rise_one", "rise_all", "rise_only", "started")
REFINED_TILES = {
    ("new_max", "rise"): RISES,
    ("rescale", "rise"): RISES,
    ("new_max", "same"): ("same", "same_only"),
    ("rescale", "same"): ("same", "same_only"),
    ("scores", "masked"): ("masked", "masked_all"),
    ("load_q", "normal"): ("normal", "unseeing"),
    ("store", "normal"): ("normal", "last"),
}
GRIDS = [
    {"seq_q": 5, "seq_k": 17, "n_splits": 3},
    {"seq_q": 9, "seq_k": 6, "n_splits": 4},
    {"seq_q": 1, "seq_k": 1, "size_m": 5, "size_n": 3, "size_k": 9},
]


@cache
def emitted_cases() -> set[tuple[str, str, str, int]]:
    """Return (algorithm, phase, case, pass) for all that the mirrors say over many inputs."""
    said = set()
    for entry, (preset, numbers), (n_cols, block), dtype in itertools.product(
        ROWS.values(), NUMBERS, ((7, 2), (8, 8), (3, 8), (1, 1)), ("float32", "float16")
    ):
        given = {"preset": preset, "n_cols": n_cols, "block": block, "head_dim": 2, "seed": 1}
        trace = trace_for(entry, choose_for(entry, {**given, "dtype": dtype, "numbers": numbers}))
        said |= cases_of(trace, REFINED)
    for entry, preset, sizes, mask in itertools.product(
        ALGORITHMS.values(), tile_inputs.PRESETS, GRIDS, tile_inputs.MASKS
    ):
        if entry.name in ROWS:
            continue
        given = {"preset": preset, "mask": mask, "block_m": 4, "block": 4, "head_dim": 2, **sizes}
        choice = choose_for(entry, given)
        arrays = arrays_for(entry, choice)
        for spoilt in (None, *(name for name in arrays if preset == "normal")):
            # A link cannot ask for a NaN, but a mirror can say that there is one.
            spoil = {} if spoilt is None else {spoilt: np.full_like(arrays[spoilt], np.nan)}
            trace = entry.trace({**arrays, **spoil}, schedule_for(entry, choice), "float32")
            said |= cases_of(trace, REFINED_TILES)
    return said


def cases_of(trace: Trace, refined: Mapping) -> set[tuple[str, str, str, int]]:
    return {
        (trace.algorithm, step.phase, case, step.pass_index)
        for step in trace.steps
        for case in refined.get((step.phase, step.case), (step.case,))
    }


def captions_of(name: str, phase: str, case: str, pass_index: int) -> list[str]:
    """Return the keys of a case's templates: the algorithm's own first, then those that all share.

    Rows that one block holds share some that others do not.
    The second kernel of a grid, and the next, may have their own: ``load2``, ``store3``.
    """
    if name in ROWS:
        whole = [f"caption.whole.{phase}.{case}"] * ROWS[name].whole_row
        return [f"caption.{name}.{phase}.{case}", *whole, f"caption.{phase}.{case}"]
    own = [f"{phase}{pass_index + 1}"] * (pass_index > 0) + [phase]
    shared = [f"caption.tile.{phase}.{case}", f"caption.tile.any.{case}"]
    return [*(f"caption.{name}.{one}.{case}" for one in own), *shared]


def test_every_case_has_a_caption_and_every_caption_a_case():
    unsaid, chosen = [], set()
    for emitted in sorted(emitted_cases()):
        keys = captions_of(*emitted)
        found = [key for key in keys if key in EN]
        # A case that no template names is told as a normal one, which must not be for NaN and ∞.
        if not found and emitted[2] in ("nan", "nan_kept", "inf", "overflow", "masked", "empty"):
            unsaid.append(keys[0])
        chosen.update(found[:1])
        chosen.update(keys[1:])  # what all share may be overruled by each that exists so far
    assert not unsaid
    for name, phase, _, pass_index in emitted_cases():
        keys = captions_of(name, phase, "normal", pass_index)
        assert set(keys) & set(EN), keys
    captions = {key for key in EN if key.startswith("caption.")}
    own_fallbacks = {key for key in captions if key.endswith(".normal")}
    assert sorted(captions - chosen - own_fallbacks) == []


def test_captions_use_only_what_the_player_gives():
    scripts = {name: (ROOT / f"viz/player/js/{name}.js").read_text("utf-8")
               for name in ("caption", "tile-caption")}  # fmt: skip
    given = {name: set(re.findall(r"\b(\w+):", script)) for name, script in scripts.items()}
    given["tile-caption"].add("alphas")  # chips, a row each
    for entry in ROWS.values():
        trace = trace_for(entry, choose_for(entry, {}))
        given["caption"] |= set().union(*(step.values for step in trace.steps))
    for_grids = {"tile", *(ALGORITHMS.keys() - ROWS.keys())}
    unknown = {}
    for key in EN:
        if key.startswith("caption."):
            script = "tile-caption" if key.split(".")[1] in for_grids else "caption"
            unknown[key] = fields(EN[key]) - given[script]
    assert not {key: names for key, names in unknown.items() if names}


# The lookups themselves.


def test_text_fills_in_details_and_refuses_unknown_keys():
    assert text("en", "error.numbers_text", got="a list") == "The numbers must be text, got a list."
    assert has("error.numbers_text") and not has("error.nonsense")
    with pytest.raises(KeyError):
        text("en", "error.nonsense")


@pytest.mark.parametrize(
    "header, language",
    [
        (None, "en"),
        ("", "en"),
        ("zh-CN,zh;q=0.9,en;q=0.8", "zh"),
        ("ZH", "zh"),
        ("en-GB,zh;q=0.5", "en"),
        ("de-DE, de;q=0.9, zh;q=0.5", "zh"),
        ("fr", "en"),
        ("*;q=0.1,,;;", "en"),
    ],
)
def test_the_browsers_language_is_taken_where_it_is_ours(header, language):
    assert from_browser(header) == language

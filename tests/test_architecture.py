"""Who may import what, and other rules that keep the house in order. README.md has the table."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from kernels import ALGORITHMS

ROOT = Path(__file__).parent.parent
OURS = ("kernels", "benchmarks", "viz", "app")
STANDARD = set(sys.stdlib_module_names) | {"__future__"}

# Path pattern -> what may be imported beyond the standard library. The first match counts, and a
# name allows what is inside it. "lazily" is allowed inside functions only.
RULES = [
    (r"kernels/\w+/(kernel|autograd)\.py", {"allowed": ("torch", "triton", "kernels")}),
    (r"kernels/.*", {"allowed": ("numpy", "kernels")}),
    (
        r"benchmarks/figure_file\.py",
        {"allowed": ("numpy", "kernels", "benchmarks"), "lazily": ("viz",)},
    ),
    (
        r"benchmarks/.*",
        {"allowed": ("numpy", "kernels", "benchmarks"), "lazily": ("torch", "triton")},
    ),
    (
        r"viz/(figures/.*|export\.py)",
        {
            "allowed": (
                "numpy",
                "plotly",
                "PIL",
                "kernels.trace",
                "kernels.inputs",
                "kernels.tiles",
                "benchmarks.results",
                "benchmarks.memory_results",
                "benchmarks.launches_results",
                "viz.figures",
                "viz.locales",
                "viz.theme",
            )
        },
    ),
    (r"viz/.*", {"allowed": ("numpy", "gradio", "kernels", "benchmarks", "viz")}),
    (r"app\.py", {"allowed": ("gradio", "kernels", "benchmarks", "viz")}),
]


class Import(NamedTuple):
    """One imported module, where, and whether a function does it."""

    module: str
    line: int
    lazily: bool


def sources(*suffixes: str) -> list[Path]:
    """Return the project's own files with one of ``suffixes``, tests left out."""
    files = [ROOT / "app.py"] if (ROOT / "app.py").exists() else []
    for folder in OURS[:-1]:
        files += (ROOT / folder).rglob("*")
    return sorted(f for f in files if f.suffix in suffixes and "__pycache__" not in f.parts)


PYTHON = sources(".py")
each_file = pytest.mark.parametrize("path", PYTHON, ids=lambda p: p.relative_to(ROOT).as_posix())


def imports(tree: ast.AST, lazily: bool = False) -> Iterator[Import]:
    """Yield every import of ``tree``; ``from a import b`` counts as a.b, which may be a module."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(alias.name, node.lineno, lazily)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"line {node.lineno}: imports are absolute here"
            for alias in node.names:
                yield Import(f"{node.module}.{alias.name}", node.lineno, lazily)
        is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        yield from imports(node, lazily or is_function)


def rule_for(path: str) -> dict[str, tuple[str, ...]]:
    return next(rule for pattern, rule in RULES if re.fullmatch(pattern, path))


def within(module: str, names: tuple[str, ...]) -> bool:
    """Return whether ``module`` is one of ``names`` or inside one."""
    return any(module == name or module.startswith(f"{name}.") for name in names)


def offences(path: str, text: str) -> list[str]:
    """Return what ``text``, as the file ``path``, imports against the rules."""
    rule = rule_for(path)
    bad = []
    for found in imports(ast.parse(text)):
        top = found.module.split(".")[0]
        allowed = top in STANDARD or within(found.module, rule["allowed"])
        if found.lazily:
            allowed = allowed or within(found.module, rule.get("lazily", ()))
        is_kernel = re.match(r"kernels\.\w+\.(kernel|autograd)\b", found.module)
        if within(found.module, ("app",)) or (is_kernel and "torch" not in rule["allowed"]):
            allowed = False  # nothing imports the app; a kernel is asked for by name, in a worker
        if not allowed:
            bad.append(f"{path}:{found.line} imports {found.module}")
    return bad


@each_file
def test_imports_keep_to_the_rules(path):
    assert not offences(path.relative_to(ROOT).as_posix(), path.read_text("utf-8"))


@pytest.mark.parametrize(
    "path, text, is_bad",
    [
        ("kernels/online_softmax/mirror.py", "import torch", True),
        ("kernels/online_softmax/kernel.py", "import torch\nimport triton.language as tl", False),
        ("kernels/online_softmax/kernel.py", "import numpy", True),
        ("kernels/inputs.py", "def f():\n    import torch", True),
        ("kernels/inputs.py", "from benchmarks import worker", True),
        ("kernels/__init__.py", "from kernels.online_softmax import kernel", True),
        ("kernels/three_stage/kernel.py", "from kernels.matmul.kernel import product", False),
        ("kernels/three_stage/mirror.py", "from kernels.matmul.kernel import product", True),
        ("benchmarks/check.py", "def f():\n    from kernels.matmul import kernel", True),
        ("benchmarks/check.py", "def f():\n    import torch", False),
        ("benchmarks/check.py", "import torch", True),
        ("benchmarks/check.py", "class A:\n    from triton import jit", True),
        ("benchmarks/check.py", "if True:\n    import torch", True),
        ("benchmarks/check.py", "import gradio", True),
        ("benchmarks/check.py", "import viz", True),
        ("benchmarks/check.py", "def f():\n    import viz", True),
        ("benchmarks/figure_file.py", "def f():\n    from viz.tabs import page", False),
        ("benchmarks/figure_file.py", "from viz.tabs import page", True),
        ("benchmarks/figure_file.py", "def f():\n    import torch", True),
        ("viz/figures/state.py", "import plotly.graph_objects as go", False),
        ("viz/figures/state.py", "from kernels import trace", False),
        ("viz/figures/state.py", "from kernels import ALGORITHMS", True),
        ("viz/figures/state.py", "import gradio", True),
        ("viz/figures/state.py", "from benchmarks import worker", True),
        ("viz/export.py", "from benchmarks.worker import Worker", True),
        ("viz/tabs/run.py", "import torch", True),
        ("viz/tabs/run.py", "def f():\n    import app", True),
        ("app.py", "import gradio as gr\nfrom viz.tabs import run", False),
        ("app.py", "def f():\n    import torch", True),
    ],
)
def test_the_rules_catch_what_they_should(path, text, is_bad):
    assert bool(offences(path, text)) == is_bad


def strings(tree: ast.AST) -> Iterator[tuple[str, int]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value, node.lineno


def test_viz_knows_no_algorithm_by_name():
    problems = {entry.problem for entry in ALGORITHMS.values()}
    names = ALGORITHMS.keys() - problems  # it does know kinds of problems, and one is a name too
    named = []
    for path in sources(".py"):
        if "viz" not in path.relative_to(ROOT).parts:
            continue
        for value, line in strings(ast.parse(path.read_text("utf-8"))):
            named += [f"{path.name}:{line}" for name in names if re.search(rf"\b{name}\b", value)]
    for path in sources(".js", ".html", ".css"):
        text = path.read_text("utf-8")
        named += [path.name for name in names if re.search(rf"\b{name}\b", text)]
    assert not named


def test_no_file_is_a_drawer_for_everything():
    for path in PYTHON:
        assert path.stem not in ("utils", "util", "helpers", "misc", "common")


@pytest.mark.parametrize("suffix, limit", [(".py", 320), (".js", 320), (".css", 400)])
def test_files_stay_short_enough_to_read(suffix, limit):
    lengths = {p: len(p.read_text("utf-8").splitlines()) for p in sources(suffix)}
    assert not {p.relative_to(ROOT).as_posix(): n for p, n in lengths.items() if n > limit}


def run_python(code: str) -> str:
    environment = {**os.environ, "GRADIO_ANALYTICS_ENABLED": "False", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


LOADED = "print(*sorted({'torch', 'triton', 'gradio', 'plotly'} & set(sys.modules)))"


def test_the_pages_process_loads_neither_torch_nor_triton():
    loaded = run_python(f"import app, sys; {LOADED}").split()
    assert "gradio" in loaded and not {"torch", "triton"} & set(loaded)


def test_mirrors_need_only_numpy():
    code = (
        "import sys; from kernels import ALGORITHMS; from kernels.problems import *; "
        "[trace_for(e, choose_for(e, {})) for e in ALGORITHMS.values()]; "
    )
    assert run_python(code + LOADED).split() == []


def test_the_worker_is_imported_without_torch():
    code = "import sys, benchmarks.worker, benchmarks.jobs, benchmarks.child; "
    assert run_python(code + LOADED).split() == []

"""A kernel is its mirror, written again: the same phases in the same order, and the same update.

The sources are read, never imported: these tests need neither torch nor Triton.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from kernels import ALGORITHMS
from kernels.algorithm import Algorithm, read_source
from kernels.problems import choose_for, trace_for
from tests.rows import ROWS

ROOT = Path(__file__).parent.parent

each = pytest.mark.parametrize("entry", ALGORITHMS.values(), ids=lambda entry: entry.name)
each_row = pytest.mark.parametrize("entry", ROWS.values(), ids=lambda entry: entry.name)
each_grid = pytest.mark.parametrize(
    "entry", [e for name, e in ALGORITHMS.items() if name not in ROWS], ids=lambda e: e.name
)


def tree_of(module: str) -> ast.Module:
    return ast.parse((ROOT / f"{module.replace('.', '/')}.py").read_text("utf-8"))


def functions_of(tree: ast.Module) -> dict[str, ast.FunctionDef]:
    return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}


def is_jitted(node: ast.FunctionDef) -> bool:
    return any(ast.unparse(d).startswith("triton.jit") for d in node.decorator_list)


def jitted(entry: Algorithm) -> dict[str, ast.FunctionDef]:
    found = functions_of(tree_of(entry.kernel_module))
    return {name: node for name, node in found.items() if is_jitted(node)}


def kernels_of(entry: Algorithm) -> list[ast.FunctionDef]:
    """Return what a launch runs, a pass each or all passes in one, in the order of the file.

    Where nothing is jitted, that is the function which launches other algorithms' kernels.
    """
    kernels = [node for name, node in jitted(entry).items() if name.endswith("_kernel")]
    if kernels:
        return kernels
    first = next(line.number for line in entry.source if line.phase)
    functions = functions_of(tree_of(entry.kernel_module)).values()
    return [node for node in functions if node.lineno <= first <= node.end_lineno]


def executed_markers(entry: Algorithm) -> list[tuple[str, int, int, str]]:
    """Return (module, line, pass, phase) of the marked lines, in the order in which they run.

    Calls of jitted functions are followed, into other algorithms' files too.
    """

    def markers(module: str, function: ast.FunctionDef) -> Iterator[tuple[str, int, int, str]]:
        tree = tree_of(module)
        reached = {
            name: (module, node) for name, node in functions_of(tree).items() if is_jitted(node)
        }
        for node in tree.body:
            if isinstance(node, ast.ImportFrom) and node.module.endswith(".kernel"):
                theirs = functions_of(tree_of(node.module))
                for name in (alias.name for alias in node.names):
                    if name in theirs and is_jitted(theirs[name]):
                        reached[name] = node.module, theirs[name]
        called = {
            node.lineno: reached[node.func.id]
            for node in ast.walk(function)
            if isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in reached
        }
        path = ROOT / f"{module.replace('.', '/')}.py"
        marked = {x.number: x for x in read_source(path.read_text("utf-8")) if x.phase}
        for number in range(function.lineno, function.end_lineno + 1):
            if number in called:
                yield from markers(*called[number])
            if number in marked:
                yield module, number, marked[number].pass_index, marked[number].phase

    return [found for node in kernels_of(entry) for found in markers(entry.kernel_module, node)]


def phases_in_order(pairs) -> dict[int, list[str]]:
    """Return, by pass, each phase once, in the order of its first appearance."""
    order: dict[int, list[str]] = {}
    for pass_index, phase in pairs:
        seen = order.setdefault(pass_index, [])
        if phase not in seen:
            seen.append(phase)
    return order


@each
def test_kernel_marks_the_mirrors_phases_in_the_mirrors_order(entry):
    trace = trace_for(entry, choose_for(entry, {}))
    mirror = phases_in_order((step.pass_index, step.phase) for step in trace.steps)
    kernel = phases_in_order((x[2], x[3]) for x in executed_markers(entry))
    for pass_index, phases in kernel.items():
        if phases == ["any"]:  # one line that runs a whole pass
            kernel[pass_index] = mirror[pass_index]
    assert kernel == mirror
    assert list(kernel) == list(range(entry.n_passes))


@each
def test_every_marked_line_runs(entry):
    marked = {line.number for line in entry.source if line.phase}
    assert {x[1] for x in executed_markers(entry) if x[0] == entry.kernel_module} == marked


@each
def test_shown_source_is_the_file(entry):
    lines = (entry.folder / "kernel.py").read_text("utf-8").splitlines()
    for line in entry.source:
        assert lines[line.number - 1].startswith(line.code.split("  # [")[0].rstrip())
        assert "#:" not in line.code
    first = entry.source[0].code
    assert first.startswith("@triton.jit" if jitted(entry) else "def ")


def update_of(entry: Algorithm, file: str) -> ast.FunctionDef | None:
    """Return the ``update`` that a file defines or takes from another algorithm's."""
    module = f"kernels.{entry.name}.{file}"
    while module:
        tree = tree_of(module)
        if "update" in functions_of(tree):
            return functions_of(tree)["update"]
        module = next(
            (
                node.module
                for node in tree.body
                if isinstance(node, ast.ImportFrom) and "update" in [a.name for a in node.names]
            ),
            None,
        )
    return None


def plain_arguments(function: ast.FunctionDef) -> list[str]:
    """Return the arguments that are arrays: no default, and not a constant of compilation."""
    arguments = function.args.args[: len(function.args.args) - len(function.args.defaults)]
    return [arg.arg for arg in arguments if arg.annotation is None]


@each
def test_update_is_the_same_function_in_kernel_and_mirror(entry):
    mirror, kernel = (update_of(entry, file) for file in ("mirror", "kernel"))
    assert (mirror is None) == (kernel is None)
    if kernel is None:
        assert "rescale" not in {stanza.phase for stanza in entry.stanzas}
        return
    assert plain_arguments(mirror) == plain_arguments(kernel)
    returned = [
        [ast.unparse(item) for item in node.body[-1].value.elts] for node in (mirror, kernel)
    ]
    # The kernel may return more, for the capture.
    assert returned[0] == returned[1][: len(returned[0])]


def constants(kernel: ast.FunctionDef) -> list[str]:
    return [a.arg for a in kernel.args.args if ast.unparse(a.annotation or a) != a.arg]


@each
def test_a_kernel_has_a_capture_if_its_state_is_captured(entry):
    found = [constants(kernel) for kernel in jitted(entry).values()]
    assert any("CAPTURE" in names for names in found) == bool(entry.captured)
    assert all(name.isupper() for names in found for name in names)


def launch_of(entry: Algorithm) -> ast.FunctionDef:
    return functions_of(tree_of(entry.kernel_module))["launch"]


@each_row
def test_a_row_kernel_has_one_entry_point(entry):
    (kernel,) = kernels_of(entry)
    assert kernel.name == f"{entry.name}_kernel"
    arguments = launch_of(entry).args
    # One call fits all: inputs in the entry's order, and an algorithm of x alone takes v=None.
    wanted = ["x", "v"] if entry.inputs == ("x",) else list(entry.inputs)
    assert [a.arg for a in arguments.args] == wanted
    assert len(arguments.defaults) == len(wanted) - len(entry.inputs)
    options = dict(zip((a.arg for a in arguments.kwonlyargs), arguments.kw_defaults, strict=True))
    assert {"block", "num_warps", "capture", "out"} <= set(options)
    # Only the block must be given, and only where it is a choice.
    needed = {name for name, default in options.items() if default is None}
    assert needed == (set() if entry.whole_row else {"block"})


@each_grid
def test_a_grid_kernel_takes_tensors_by_name_and_a_schedule(entry):
    arguments = launch_of(entry).args
    assert [a.arg for a in arguments.args] == ["tensors", "tiles"]
    options = [a.arg for a in arguments.kwonlyargs]
    assert options[:4] == ["num_warps", "num_stages", "capture", "out"]
    assert not arguments.defaults and None not in arguments.kw_defaults  # options are optional

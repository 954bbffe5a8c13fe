"""What ships: the container's file, the Space's front matter, the pins, and the two commands."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from tests.test_architecture import OURS, PYTHON, imports

ROOT = Path(__file__).parent.parent


def read(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def instructions() -> list[tuple[str, str]]:
    """Return the Dockerfile's (instruction, arguments), lines put together, comments left out."""
    lines = re.sub(r"^#.*\n", "", read("Dockerfile"), flags=re.MULTILINE)
    lines = re.sub(r"\\\n\s*", "", lines)
    return [tuple(line.split(maxsplit=1)) for line in lines.splitlines() if line.strip()]


def arguments(instruction: str) -> list[str]:
    return [rest for name, rest in instructions() if name == instruction]


def environment() -> dict[str, str]:
    return dict(pair.split("=", 1) for line in arguments("ENV") for pair in line.split())


def front_matter() -> dict[str, str]:
    _, head, _ = read("README.md").split("---\n", 2)
    return dict(line.split(": ", 1) for line in head.strip().splitlines())


def test_container_serves_on_the_port_that_the_space_expects():
    port = front_matter()["app_port"]
    assert port == "7860" == environment()["PORT"]
    assert arguments("EXPOSE") == [port]
    assert environment()["BLOCKWISE_HOST"] == "0.0.0.0"
    assert arguments("CMD")[-1] == '["python", "app.py"]'
    (health,) = arguments("HEALTHCHECK")
    assert "urllib" in health and "PORT" in health


def test_container_runs_as_an_ordinary_user_with_writable_caches():
    assert arguments("USER") == ["1000"]
    order = [name for name, _ in instructions()]
    assert order.index("USER") > max(i for i, name in enumerate(order) if name in ("COPY", "RUN"))
    assert "useradd --uid 1000" in " ".join(arguments("RUN"))
    home = environment()["HOME"]
    for name in ("TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "GRADIO_TEMP_DIR"):
        assert environment()[name].startswith(home + "/")
    assert environment()["GRADIO_ANALYTICS_ENABLED"] == "False"


def test_container_has_a_compiler_and_another_torch_can_be_chosen():
    installed = " ".join(arguments("RUN"))
    assert " gcc " in installed and " libc6-dev " in installed
    assert "TORCH_INDEX_URL=" in arguments("ARG")
    assert '--index-url "$TORCH_INDEX_URL"' in installed
    assert arguments("FROM") == ["python:3.12-slim"]


def test_container_holds_every_file_that_the_app_needs():
    copied = " ".join(arguments("COPY")).split()
    assert {"app.py", *OURS[:-1], "requirements.txt", "LICENSE"} <= set(copied)
    for name in copied:
        assert name.startswith("./") or (ROOT / name).exists(), name
    ignored = read(".dockerignore").splitlines()
    assert not set(ignored) & set(copied)


def test_space_front_matter_is_complete():
    head = front_matter()
    assert head["sdk"] == "docker" and head["license"] == "apache-2.0"
    assert head["suggested_hardware"] == "l4x1" and head["title"] == "Blockwise"
    assert len(head["short_description"]) <= 60 and head["pinned"] == "false"
    colours = {"red", "yellow", "green", "blue", "indigo", "purple", "pink", "gray"}
    assert {head["colorFrom"], head["colorTo"]} <= colours and len(head["emoji"]) == 1


def test_readme_shows_the_two_commands_first():
    body = read("README.md").split("---\n", 2)[2]
    assert re.search(r"# Blockwise\n\n```\nmake run .*\nmake test .*\n```", body)


def test_readmes_figures_are_those_of_the_recorded_runs():
    """Every cell of both tables, from the files: bytes or operations over the median."""
    folder = ROOT / "benchmarks" / "recorded"
    names = {
        "Blockwise": "ours", "torch eager": "torch", "torch.compile": "compile", "copy": "copy",
        "SDPA flash": "sdpa_flash", "SDPA cuDNN": "sdpa_cudnn", "SDPA efficient": "sdpa_efficient",
    }  # fmt: skip

    def rate(pattern: str, who: str, value: str, quantity: str, unit: float) -> str:
        (file,) = folder.glob(f"sweep-nvidia-h200-2026-11-30-{pattern}.json")
        wanted = names[who], int(value.replace(",", ""))
        points = json.loads(file.read_text("utf-8"))["points"]
        (point,) = (p for p in points if (p["provider"], p["value"]) == wanted)
        return f"{point[quantity] / point['median_ms'] / unit:,.0f}"

    lines = [line for line in read("README.md").splitlines() if line.startswith("| ")]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    first = next(k for k, row in enumerate(rows) if row[0].startswith("softmax, GB/s"))
    lengths, second = rows[first][1:], first + 5
    for who, *cells in rows[first + 1 : second]:
        sweep = "softmax-n-cols-256-1048576-9-bfloat16"
        assert cells == [rate(sweep, who, n, "n_bytes", 1e6) for n in lengths]
    providers = rows[second][1:]
    assert len(lengths) == 7 and len(providers) == 4
    for what, *cells in rows[second + 1 : second + 9]:
        way, head_dim, mask = re.fullmatch(r"(\w+), head_dim (\d+)(, causal)?", what).groups()
        sweep = "attention" if way == "forward" else "attention-backward"
        sweep += f"-seq-512-16384-6-bfloat16-*-b4-h16-d{head_dim}-{'causal' if mask else 'none'}"
        assert cells == [rate(sweep, who, "16384", "flops", 1e9) for who in providers]


def test_readme_links_to_files_that_exist():
    for name in ("README.md", "GLOSSARY.md"):
        for target in re.findall(r"\]\(([^)#:]+)\)", read(name)):
            assert (ROOT / target).exists(), f"{name} links to {target}"


def test_readme_names_every_setting_that_the_code_reads():
    read_names = set()
    for path in PYTHON:
        read_names |= set(re.findall(r"\b(BLOCKWISE_\w+)", path.read_text("utf-8")))
    assert read_names
    assert {name for name in read_names if f"`{name}`" not in read("README.md")} == set()


def test_licence_is_apache_2():
    assert "Apache License\n                           Version 2.0" in read("LICENSE")


def pins(name: str) -> dict[str, str]:
    """Return package -> its requirement without marker and comment."""
    found = {}
    for line in read(name).splitlines():
        line = line.split(" #")[0].split(";")[0].strip()
        if line and not line.startswith(("#", "-r")):
            package, operator, version = re.fullmatch(r"([\w.-]+)(==|<)([\w.]+)", line).groups()
            found[package] = operator + version
    return found


def test_what_the_code_imports_is_pinned():
    named = {
        found.module.split(".")[0]
        for path in PYTHON
        for found in imports(ast.parse(path.read_text("utf-8")))
    }
    outside = named - set(sys.stdlib_module_names) - set(OURS) - {"__future__"}
    pinned = {package for package, version in pins("requirements.txt").items() if version[0] == "="}
    assert outside - {"PIL"} <= pinned


@pytest.mark.parametrize("name", ["torch", "triton", "gradio", "plotly"])
def test_installed_versions_are_the_pinned_ones(name):
    try:
        installed = metadata.version(name)
    except metadata.PackageNotFoundError:
        pytest.skip(f"{name} is not installed here")
    assert "==" + installed.split("+")[0] == pins("requirements.txt")[name]


@pytest.mark.parametrize("name", ["pydantic", "fastapi", "starlette", "huggingface_hub"])
def test_upper_bounds_hold_what_is_installed(name):
    installed = tuple(int(part) for part in metadata.version(name).split(".")[:2])
    bound = tuple(int(part) for part in pins("requirements.txt")[name][1:].split("."))
    assert installed < bound


def test_plotly_writes_for_the_plotly_js_that_gradio_serves():
    import gradio
    import plotly

    with (Path(plotly.__file__).parent / "package_data" / "plotly.min.js").open("rb") as file:
        (wanted,) = re.findall(rb"plotly\.js v(\d+\.\d+\.\d+)", file.read(200))
    assets = Path(gradio.__file__).parent / "templates" / "frontend" / "assets"
    (bundled,) = assets.glob("PlotlyPlot-*.js")
    assert re.search(rb"version[=:]\s*[\"'`]" + re.escape(wanted), bundled.read_bytes())


def make(*arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        ["make", *arguments], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )


def test_make_alone_says_what_there_is():
    said = make().stdout
    for target in ("run", "test", "lint", "format", "clean"):
        assert f"make {target} " in said


def test_make_run_serves_where_it_is_told():
    planned = make("-n", "run", "PORT=9000", "HOST=0.0.0.0").stdout
    assert 'BLOCKWISE_HOST="0.0.0.0" PORT="9000"' in planned and "app.py" in planned


def test_ci_is_what_a_person_runs():
    assert "set -euo pipefail" in read(".ci/run")
    assert (ROOT / ".ci" / "run").stat().st_mode & 0o111
    assert "make test" in read(".ci/run")


def test_pre_commit_fetches_nothing():
    settings = read(".pre-commit-config.yaml")
    assert settings.count("repo:") == settings.count("repo: local") == 1
    assert settings.count("language: system") == settings.count("- id:")

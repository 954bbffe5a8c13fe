"""A sweep as one HTML file: what is on it, that it asks nobody, that no word in it is markup."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from benchmarks import figure_file
from benchmarks.sweep_choice import choose_landscape
from tests.sweeps import CASE, RUN
from tests.test_sweep_command import COMMAND, answers
from tests.test_sweep_command import shell as shell  # a fixture
from viz.figures import document
from viz.tabs.measure import speed_html


@pytest.fixture
def without_plotly(monkeypatch):
    """Leave plotly's own code out: it has four megabytes, and addresses of its own."""
    monkeypatch.setattr(document, "get_plotlyjs", lambda: "PLOTLY")


def test_the_file_holds_what_the_page_shows(tmp_path, without_plotly):
    figure_file.write_html(RUN, tmp_path / "a.html")
    page = (tmp_path / "a.html").read_text("utf-8")
    assert "Recorded on NVIDIA H200, 2026-01-02" in page and "torch 2.13.0" in page
    assert RUN.command in page and "<script>PLOTLY</script>" in page
    assert page.count("Plotly.newPlot(") == 2  # the chart and the roofline
    # 1.536 MB in 2 us.
    assert ">768</td>" in page and "it does not want to" in page
    assert not re.search(r"""(src|href)=|url\(|@import|https?://""", page)


def test_no_word_of_a_run_is_markup(without_plotly):
    odd = "<img onerror=alert(1)>"
    page = speed_html.to_html(replace(RUN, command=odd, device=replace(RUN.device, name=odd)))
    assert odd not in page and page.count("&lt;img onerror=alert(1)&gt;") >= 3


def test_a_command_writes_the_file(shell, tmp_path, without_plotly):
    file = tmp_path / "a.html"
    code, *_ = shell([*COMMAND, "--html", file], *answers())
    assert code == 0 and "NVIDIA H200" in file.read_text("utf-8")


def test_what_cannot_be_written_is_refused_before_anything_is_measured(
    shell, tmp_path, monkeypatch
):
    command = ["sweep", "--operation", "matmul", "--values", "512", "--landscape"]
    code, _, err, worker = shell([*command, "--html", tmp_path / "a.html"])
    assert code == 2 and "a landscape has only one" in err and not worker.jobs
    code, _, err, worker = shell([*COMMAND, "--html", "/nowhere/a.html"])
    assert code == 2 and "/nowhere/a.html cannot be written" in err and not worker.jobs
    monkeypatch.setattr(figure_file, "find_spec", lambda name: None)
    assert figure_file.why_not(CASE) == "--html needs plotly and gradio, not installed here."
    assert figure_file.why_not(choose_landscape("matmul", 512))
    code, *_, worker = shell([*COMMAND, "--html", tmp_path / "a.html"])
    assert code == 2 and not worker.jobs

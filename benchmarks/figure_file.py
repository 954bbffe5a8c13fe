"""A sweep's figures as one HTML file: what the page shows of a run, to be sent or kept.

The only file here that knows the page: it asks it for the document, when there is one to write.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from benchmarks.sweep_results import LandscapeCase, SweepCase, SweepRun

NEEDED = ("plotly", "gradio")


def why_not(case: SweepCase | LandscapeCase) -> str:
    """Return why no page can be written of a case, in a sentence; "" if it can."""
    if not isinstance(case, SweepCase):
        return "--html draws a sweep over a size, and a landscape has only one."
    lacking = [name for name in NEEDED if find_spec(name) is None]
    return f"--html needs {' and '.join(lacking)}, not installed here." if lacking else ""


def write_html(run: SweepRun, path: Path) -> None:
    """Write the page of a run: chart, roofline and table, without anything from the network."""
    from viz.tabs.measure.speed_html import to_html

    path.write_text(to_html(run), "utf-8")

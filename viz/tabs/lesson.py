"""Lesson: what each algorithm computes, why it is right, and where it comes from."""

from __future__ import annotations

import gradio as gr

from kernels import ALGORITHMS
from viz.tabs.page import NO_PROGRESS, Page, algorithms, dropdown


def build(page: Page) -> None:
    """Lay out the tab inside an open `gr.Tab`: one lesson at a time, following the language."""
    first = next(iter(ALGORITHMS))
    chosen = page.label(
        dropdown(algorithms("en"), first, elem_id="lesson-algorithm"),
        algorithms,
        label="watch.algorithm",
    )
    body = gr.Markdown(lesson("en", first), elem_id="lesson-text")
    gr.on(
        [chosen.input, page.language.change],
        lesson,
        [page.language, chosen],
        body,
        **NO_PROGRESS,
        api_name="lesson",
    )


def lesson(language: str, algorithm: str) -> str:
    """Return the lesson on ``algorithm``, or on the first one for a name that is unknown."""
    entry = ALGORITHMS.get(algorithm) if isinstance(algorithm, str) else None
    return (entry or next(iter(ALGORITHMS.values()))).lesson(language)

"""Figures and words as one HTML file that asks nobody for anything: all that it needs is in it."""

from __future__ import annotations

import html
from pathlib import Path

import plotly.io
from plotly.offline import get_plotlyjs

from viz import theme
from viz.figures import base

STYLE = Path(__file__).with_name("document.css")
# Follows the reader's theme, also while the file is open.
FOLLOW_THEME = """
const dark = matchMedia('(prefers-color-scheme: dark)');
const follow = () => document.documentElement.classList.toggle('dark', dark.matches);
dark.addEventListener('change', follow); follow();
"""

Part = list | base.Figure


def document(title: str, parts: list[Part], language: str) -> str:
    """Return the file's text: ``parts`` in order, each a figure or a tree of nodes of a note.

    Words are never markup; tags and attributes are those of our own trees.
    """
    style = f"{theme.css_variables()}{base.stand_in_css()}{STYLE.read_text('utf-8')}"
    drawn = (_figure(part) if isinstance(part, base.Figure) else _nodes(part) for part in parts)
    return "\n".join(
        (
            f'<!doctype html>\n<html lang="{language}">',
            f'<meta charset="utf-8"><title>{html.escape(title)}</title>',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<style>{style}</style>",
            f"<script>{get_plotlyjs()}</script><script>{FOLLOW_THEME}</script>",
            '<body class="bw-note">',
            *drawn,
            "</body></html>\n",
        )
    )


def _figure(made: base.Figure) -> str:
    """Return a figure's place and its data; plotly's own code is in the head."""
    return plotly.io.to_html(made, config=base.CONFIG, include_plotlyjs=False, full_html=False)


def _nodes(nodes: list) -> str:
    """Return a note's tree as HTML."""
    return "".join(_node(node) for node in nodes)


def _node(node: object) -> str:
    """Return one node as HTML: a string, or a tag, its attributes and its children."""
    if isinstance(node, str):
        return html.escape(node)
    tag, given, *children = node
    told = "".join(f' {name}="{html.escape(str(value))}"' for name, value in given.items())
    return f"<{tag}{told}>{_nodes(children)}</{tag}>"

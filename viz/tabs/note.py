"""Text on the page that cannot carry markup: a tree in, DOM nodes out, words by textContent only.

A node is a string, or ``[tag, {attribute: value}, child, ...]``. `gr.HTML` itself compiles its
value as a template, so that a GPU's name or an error message could run as code; here the template
is a constant, and the tree is data. Tags and attributes that are not listed are dropped.
"""

from __future__ import annotations

import json

import gradio as gr

TAGS = (
    "div span p h2 h3 b em code pre sup table caption thead tbody tr th td ul li details summary"
).split()
ATTRIBUTES = "class id role title scope colspan lang open hidden tabindex style-width".split()

_SCRIPT = """
const TAGS = new Set(%s);
const ATTRIBUTES = new Set(%s);
function build(node, parent) {
  if (typeof node === 'string') { parent.appendChild(document.createTextNode(node)); return; }
  if (!Array.isArray(node) || !TAGS.has(node[0])) return;
  const made = document.createElement(node[0]);
  for (const [name, value] of Object.entries(node[1] || {})) {
    if (name === 'style-width') made.style.width = String(value);
    else if (ATTRIBUTES.has(name) || name.startsWith('aria-')) made.setAttribute(name, value);
  }
  for (const child of node.slice(2)) build(child, made);
  parent.appendChild(made);
}
const root = element.querySelector('.bw-note');
function draw() {
  // A reader's open sections stay open when the same note is drawn again.
  const open = Array.from(root.querySelectorAll('details')).map((part) => part.open);
  const fresh = document.createDocumentFragment();
  for (const node of props.value || []) build(node, fresh);
  root.replaceChildren(fresh);
  root.querySelectorAll('details').forEach((part, i) => { if (open[i]) part.open = true; });
}
draw();
watch('value', draw);
""" % (json.dumps(TAGS), json.dumps(ATTRIBUTES))


class Note(gr.HTML):
    """A piece of the page drawn from a tree of nodes; ``live`` reads changes out politely.

    ``script`` is what a kind of note does besides, with ``element``, ``root`` and ``trigger``.
    """

    script = ""

    def __init__(self, value: list | None = None, *, live: bool = False, **kwargs: object) -> None:
        said = 'aria-live="polite" ' if live else ""
        super().__init__(
            value or [],
            html_template=f'<div {said}class="bw-note"></div>',
            js_on_load=_SCRIPT + self.script,
            apply_default_css=False,
            **kwargs,
        )

    def get_block_name(self) -> str:
        """Be drawn by Gradio's own HTML component."""
        return "html"

    def postprocess(self, value: list | None) -> list:
        """Return the tree, or an empty one."""
        return value or []

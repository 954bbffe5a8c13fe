"""How browser tests drive the player: a page for it, its range, its words, a new value."""

from __future__ import annotations

import json
from contextlib import suppress

import gradio as gr
from playwright.sync_api import TimeoutError as PlaywrightTimeout

from viz import locales, theme
from viz.player.player import Player


def serve_player(serve, show, **settings) -> str:
    """Serve a page with the player, and a box whose text ``show`` turns into its value.

    The address takes such a text as its query ``show``. ``settings`` go to `gr.Blocks`.
    """
    with gr.Blocks(**settings) as demo:
        spec = gr.Textbox(elem_id="spec")
        player = Player()
        spec.submit(show, spec, player, show_progress="hidden")

        def first(request: gr.Request):
            return show(request.query_params.get("show", "{}"))

        demo.load(first, None, player, show_progress="hidden")
    return serve(demo, theme=theme.theme(), css=theme.page_css(), head=theme.head_css())


def text(page, name):
    return page.locator(f"[data-testid={name}]").first.text_content()


def index_of(page):
    return int(page.locator("[data-testid=range]").input_value())


def submit(page, **spec):
    """Have the server send a new value, and wait until the player has taken it."""
    before = page.locator(".bw-player").get_attribute("data-run")
    field = page.locator("#spec textarea, #spec input").first
    field.fill(json.dumps(spec))
    field.press("Enter")
    page.wait_for_function(
        "(run) => document.querySelector('.bw-player').dataset.run !== run", arg=before
    )
    field.blur()


def go(page, index):
    """Go to a step through the range that stands behind the ticks."""
    page.locator("[data-testid=range]").evaluate(
        "(node, value) => { node.value = value; node.dispatchEvent(new Event('input')); }",
        str(index),
    )


def fits(page):
    """Wait until the page does not scroll sideways: a plot may still be taking its size."""
    page.wait_for_function("document.documentElement.scrollWidth <= innerWidth")


def open_tab(page, *names):
    """Open a tab by its name in English, and then the tabs inside it."""
    for name in names:
        said = locales.text("en", f"tab.{name}")
        page.get_by_role("tab", name=said, exact=True).click()


# Words that leave their box unseen, and words of a figure that leave the figure.
CLIPPED = """() => {
  const cut = [];
  for (const node of document.querySelectorAll('#run-controls *, #run-page *')) {
    const own = [...node.childNodes].some((c) => c.nodeType === 3 && c.textContent.trim());
    const input = node.matches('input');
    if (!own && !input) continue;
    const box = node.getBoundingClientRect();
    if (!box.width || node.closest('details:not([open]) > :not(summary)')) continue;
    if (getComputedStyle(node).clipPath !== 'none') continue;
    const svg = node.closest('svg');
    if (svg) {
      const room = svg.getBoundingClientRect();
      if (box.left < room.left - 1 || box.right > room.right + 1
          || box.top < room.top - 1 || box.bottom > room.bottom + 1) cut.push(node.textContent);
    } else if (node.scrollWidth > node.clientWidth + 1
               && getComputedStyle(node).overflowX !== 'auto'
               && getComputedStyle(node).display !== 'inline') {
      cut.push(input ? node.value : node.textContent);
    } else if (!node.closest('.bw-scroll') && box.right > innerWidth + 1) {
      cut.push(node.textContent);
    }
  }
  return cut;
}"""


def nothing_is_cut_off(page) -> None:
    """Hold the Run tab as it is against three widths."""
    for width in (390, 1024, 1440):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_timeout(400)
        fits(page)
        with suppress(PlaywrightTimeout):  # plots take their new size one after another
            page.wait_for_function(f"() => ({CLIPPED})().length === 0", timeout=20_000)
        assert page.evaluate(CLIPPED) == [], width

"""The head of the page: the name, what runs the kernels here, and the language switch."""

from __future__ import annotations

import gradio as gr

from benchmarks.results import Device
from viz.locales import text

_HTML = """
<div class="bw-header-box"><div class="bw-header">
  <svg class="bw-logo" viewBox="0 0 26 22" width="26" height="22" aria-hidden="true">
    <rect x="0" y="11" width="5" height="11"></rect><rect x="7" y="6" width="5" height="16"></rect>
    <rect class="now" x="14" y="0" width="5" height="22"></rect>
    <rect class="next" x="21" y="9" width="5" height="13"></rect>
  </svg>
  <h1>Blockwise</h1>
  <span class="bw-tagline"></span>
  <span class="bw-badge" role="status"><span class="bw-badge-dot"></span><b></b><span></span></span>
  <span class="bw-languages" role="group"></span>
</div></div>
"""

_CSS = """
.bw-header-box { container: bw / inline-size; }
.bw-header { display: flex; align-items: center; gap: 12px; min-height: 34px; flex-wrap: wrap; }
.bw-header h1 { font-size: 20px; line-height: 26px; font-weight: 700; margin: 0;
  color: var(--bw-ink); }
.bw-logo { fill: var(--bw-past); flex: none; }
.bw-logo .now { fill: var(--bw-focus); }
.bw-logo .next { fill: var(--bw-next); }
.bw-tagline { color: var(--bw-ink-2); font-size: 15px; }
.bw-badge { margin-left: auto; color: var(--bw-ink-2); font-size: 14px; display: inline-flex;
  align-items: center; gap: 6px; }
.bw-badge b { color: var(--bw-ink); font-weight: 400; }
.bw-badge-dot { width: 9px; height: 9px; border-radius: 50%; border: 2px solid var(--bw-ink-2); }
.bw-badge-dot.gpu { background: var(--bw-ink); border-color: var(--bw-ink); }
.bw-languages { border-left: 1px solid var(--bw-rule); padding-left: 8px; display: inline-flex; }
.bw-languages button { min-width: 40px; min-height: 32px; border: 0; background: none;
  color: var(--bw-ink-2); font: inherit; font-size: 14px; cursor: pointer; }
.bw-languages button[aria-pressed="true"] { color: var(--bw-ink); font-weight: 700; }
/* Where one line is narrow the badge breaks its name, and one button goes to the other language. */
@container bw (max-width: 639px) {
  .bw-header { flex-wrap: nowrap; gap: 10px; }
  .bw-tagline, .bw-badge b + span, .bw-languages button[aria-pressed="true"] { display: none; }
  .bw-badge { min-width: 0; }
  .bw-badge b { font-size: 13px; line-height: 16px; }
  .bw-badge-dot { flex: none; }
}
.bw-languages button:focus-visible { outline: 2px solid var(--bw-focus); border-radius: 4px; }
"""

# Device names come from a driver: they are drawn as text, never as markup.
_JS = """
function draw() {
  const value = props.value || {};
  const find = (selector) => element.querySelector(selector);
  find('.bw-tagline').textContent = value.tagline || '';
  find('.bw-badge-dot').className = 'bw-badge-dot' + (value.gpu ? ' gpu' : '');
  find('.bw-badge b').textContent = value.device || '';
  find('.bw-badge b + span').textContent = value.note ? '\\u00b7 ' + value.note : '';
  find('.bw-badge').title = value.reason || '';
  document.documentElement.lang = value.language || 'en';
  const group = find('.bw-languages');
  group.setAttribute('aria-label', value.languages_label || '');
  group.replaceChildren(...(value.languages || []).map(([code, name]) => {
    const button = document.createElement('button');
    button.type = 'button';
    button.lang = code;
    button.textContent = name;
    button.setAttribute('aria-pressed', String(code === value.language));
    button.addEventListener('click', () => trigger('select', { language: code }));
    return button;
  }));
}
watch('value', draw);
draw();
"""

LANGUAGE_NAMES = (("en", "EN"), ("zh", "中文"))


class Header(gr.HTML):
    """Show what `header_value` returned; fires ``select`` with the language that was chosen."""

    def __init__(self, value: dict) -> None:
        """Show ``value``."""
        super().__init__(
            value,
            html_template=_HTML,
            css_template=_CSS,
            js_on_load=_JS,
            apply_default_css=False,
            elem_id="bw-header",
        )

    def get_block_name(self) -> str:
        """Name the front end's component, which is the plain HTML one."""
        return "html"


def header_value(language: str, device: Device | None) -> dict:
    """Return what the header shows; without a device yet, that the hardware is being looked at."""
    value = {
        "language": language,
        "languages": [list(pair) for pair in LANGUAGE_NAMES],
        "languages_label": text(language, "header.languages"),
        "tagline": text(language, "header.tagline"),
        "gpu": False,
        "device": text(language, "header.looking"),
        "note": "",
        "reason": "",
    }
    if device is not None:
        value |= {
            "gpu": device.kind == "gpu",
            "device": device_name(language, device),
            "note": text(language, f"header.note.{device.kind}"),
        }
        if device.reason:
            value["reason"] = text(language, f"device.reason.{device.reason}", **device.details)
    return value


def device_name(language: str, device: Device) -> str:
    """Return what runs the kernels: "NVIDIA H200, sm_90" or "Triton interpreter on CPU"."""
    if device.capability:
        sm = "".join(map(str, device.capability))
        return text(language, "device.gpu", name=device.name, sm=sm)
    return text(language, f"device.{device.kind}")

"""One colour per meaning, light and dark: the tokens, the Gradio theme, and the page's own CSS.

Every colour on the page is a token of this table, so a hue means the same on every tab: `focus` is
"look here", `m` the running maximum, `l` the weights and their sum, `o` the output, `error` what
went wrong. Inputs are neutral. `tests/test_theme.py` holds the contrast of every text and keeps the
five hues apart, also to eyes that see two colours.
"""

from __future__ import annotations

from gradio import themes

# token: (light, dark). An eight-digit colour carries its own opacity: it tints what lies under it.
TOKENS: dict[str, tuple[str, str]] = {
    "focus": ("#EC5E0F", "#FB923C"),
    "focus-text": ("#C2410C", "#FDBA74"),
    "focus-tint": ("#FFF1E6", "#2B1D11"),
    "m": ("#7D0F86", "#F3A5EC"),
    "m-tint": ("#7D0F8614", "#F3A5EC1F"),
    "l": ("#2F74F2", "#5596FF"),
    "l-text": ("#1D5FD6", "#86B4FF"),
    "l-rest": ("#8FB4F7", "#35609F"),
    "o": ("#076645", "#86E29B"),
    "o-rest": ("#77BDA3", "#3F7650"),
    "alpha": ("#18181B", "#F4F4F5"),
    "alpha-text": ("#FFFFFF", "#0F0F11"),
    "error": ("#D92D20", "#EF4444"),
    "error-text": ("#B91C1C", "#FF8A8A"),
    "ink": ("#18181B", "#F4F4F5"),
    "ink-2": ("#52525B", "#BDBDC7"),
    "ink-3": ("#6B6B76", "#9A9AA4"),
    "past": ("#92929C", "#7D7D87"),
    "next": ("#CBCBD2", "#3D3D44"),
    "page": ("#FFFFFF", "#0F0F11"),
    "surface": ("#F7F7F8", "#17171A"),
    "rule": ("#E4E4E7", "#2E2E33"),
    "hair": ("#ECECEF", "#242428"),
}

PHONE = 640  # px: below it the page is one column

# What printed words and numbers are set in; the rest are marks.
TEXT_TOKENS = ("focus-text", "m", "l-text", "o", "error-text", "ink", "ink-2", "ink-3")

# The hues that must never be taken for one another.
DISTINCT_TOKENS = ("focus", "m", "l", "o", "past")

CJK = ("Noto Sans CJK SC", "PingFang SC", "Microsoft YaHei")


def css_variables() -> str:
    """Return every token as a CSS variable, ``--bw-focus`` and so on, for both themes."""
    light = "".join(f"--bw-{name}:{pair[0]};" for name, pair in TOKENS.items())
    dark = "".join(f"--bw-{name}:{pair[1]};" for name, pair in TOKENS.items())
    return f":root{{{light}color-scheme:light;}}\n.dark{{{dark}color-scheme:dark;}}\n"


def theme() -> themes.Base:
    """Return the Gradio theme: flat, small, set in fonts that ship with Gradio.

    Only weights 400 and 700 are used: the bundled 500 and 600 lack ×, −, ∑ and α. Plex Mono has no
    α at all, so Plex Sans stands second in the mono stack.
    """
    sans = themes.LocalFont("IBM Plex Sans", weights=(400, 700))
    mono = themes.LocalFont("IBM Plex Mono", weights=(400, 700))
    base = themes.Default(
        primary_hue=themes.colors.orange,
        neutral_hue=themes.colors.zinc,
        spacing_size=themes.sizes.spacing_sm,
        radius_size=themes.sizes.radius_sm,
        font=(sans, *CJK, "system-ui", "sans-serif"),
        font_mono=(mono, sans, *CJK, "ui-monospace", "monospace"),
    )
    return base.set(
        **_both("body_background_fill", "page"),
        **_both("background_fill_primary", "page"),
        **_both("background_fill_secondary", "surface"),
        **_both("body_text_color", "ink"),
        **_both("body_text_color_subdued", "ink-2"),
        **_both("block_label_text_color", "ink-2"),
        **_both("block_title_text_color", "ink-2"),
        **_both("block_info_text_color", "ink-3"),
        **_both("border_color_primary", "rule"),
        **_both("border_color_accent", "focus"),
        color_accent="var(--bw-focus)",  # has no dark twin
        **_both("color_accent_soft", "focus-tint"),
        **_both("link_text_color", "focus-text"),
        **_both("link_text_color_hover", "focus-text"),
        **_both("link_text_color_visited", "focus-text"),
        **_both("link_text_color_active", "focus-text"),
        **_both("input_background_fill", "page"),
        **_both("input_background_fill_focus", "page"),
        **_both("input_border_color", "rule"),
        **_both("input_border_color_focus", "focus"),
        **_both("checkbox_background_color_selected", "focus-text"),
        **_both("checkbox_border_color_selected", "focus-text"),
        **_both("code_background_fill", "surface"),
        **_both("table_even_background_fill", "page"),
        **_both("table_odd_background_fill", "page"),
        **_both("stat_background_fill", "surface"),
        block_background_fill="transparent",
        block_background_fill_dark="transparent",
        block_border_width="0px",
        block_border_width_dark="0px",
        block_label_background_fill="transparent",
        block_label_background_fill_dark="transparent",
        block_label_border_width="0px",
        block_label_border_width_dark="0px",
        block_padding="0px",
        block_shadow="none",
        block_shadow_dark="none",
        block_title_text_size="13px",
        block_title_text_weight="400",
        block_label_text_weight="400",
        body_text_size="15px",
        form_gap_width="0px",
        panel_background_fill="transparent",
        panel_background_fill_dark="transparent",
        panel_border_width="0px",
        panel_border_width_dark="0px",
        input_shadow="none",
        input_shadow_focus="none",
        input_shadow_focus_dark="none",
        button_primary_background_fill="#C2410C",
        button_primary_background_fill_hover="#9A3412",
        button_primary_background_fill_dark="#FB923C",
        button_primary_background_fill_hover_dark="#FDBA74",
        button_primary_text_color="#FFFFFF",
        button_primary_text_color_hover="#FFFFFF",
        button_primary_text_color_dark="#18181B",
        button_primary_text_color_hover_dark="#18181B",
        button_large_text_weight="700",
        button_medium_text_weight="700",
        button_small_text_weight="400",
    )


def _both(name: str, token: str) -> dict[str, str]:
    """Return a theme variable and its dark twin, set to one token."""
    light, dark = TOKENS[token]
    return {name: light, f"{name}_dark": dark}


def page_css() -> str:
    """Return the page's CSS: the variables, and what Gradio's theme cannot say."""
    return css_variables() + _PAGE_CSS


def head_css() -> str:
    """Return the ``<style>`` for the page's head: an @media rule in ``css=`` misses the padding."""
    return f"<style>{_HEAD_CSS}</style>"


_PAGE_CSS = """
.gradio-container { font-size: 15px; }
.gradio-container .form {
  background: transparent; border: 0; box-shadow: none; gap: 8px; overflow: visible;
}
.gradio-container input:is([type="number"], [type="text"]) { height: 32px; padding-block: 0; }
.gradio-container :is(.wrap-inner, .wrap-inner input) { height: 30px; padding-block: 0; }
.gradio-container input[type="number"] { font-family: var(--font-mono); }
.gradio-container input[role="combobox"] { text-overflow: ellipsis; padding-right: 28px; }
.gradio-container .wrap-inner { padding: 0 4px 0 8px; }
.gradio-container .tab-wrapper { height: 32px; padding: 0; margin: 0; }
.gradio-container .tab-container { height: 32px; }
.gradio-container .tab-container button {
  height: 32px; padding: 0 clamp(4px, 1.1vw, 16px); font-size: clamp(13px, 3.4vw, 14.5px);
}
.gradio-container .tab-container button.selected { color: var(--bw-focus-text); }
.gradio-container .tab-container button.selected::after {
  background: var(--bw-focus); height: 2px;
}
/* Tabs inside a tab are the smaller choice. */
.gradio-container .tabitem .tab-container button { font-size: 13px; height: 28px; }
.gradio-container .tabitem :is(.tab-wrapper, .tab-container) { height: 28px; }
.gradio-container .tabitem { padding: 6px 0 0; border: 0; }
.gradio-container .tabitem > .column { gap: 8px; }
.gradio-container .row [data-testid="block-info"] { line-height: 18px; margin-bottom: 3px; }
.gradio-container :is(button, a, input, select, textarea, summary, [tabindex]):focus-visible {
  outline: 2px solid var(--bw-focus); outline-offset: 1px;
}
.gradio-container .js-plotly-plot text { fill: var(--bw-ink-2) !important; }
.gradio-container footer { opacity: 1; color: var(--bw-ink-3); }
"""

_HEAD_CSS = f"""
body.dark {{ background: {TOKENS["page"][1]}; }}
/* hidden would make a scroll container of it, and nothing inside could be sticky */
.gradio-container {{ overflow: clip !important; }}
.gradio-container > .main.fillable {{
  max-width: 1984px !important; padding: 4px 32px 8px !important;
}}
.gradio-container > .main.fillable .contain > .column {{ gap: 4px; }}
@media (max-width: {PHONE - 1}px) {{
  .gradio-container > .main.fillable {{ padding: 4px 16px 8px !important; }}
}}
"""

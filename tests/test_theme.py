"""Colours that can be read, and told apart by every eye."""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from viz import theme

THEMES = {"light": 0, "dark": 1}

# Machado, Oliveira and Fernandes (2009), severity 1.0; they act on linear RGB.
EYES = {
    "normal": np.eye(3),
    "protan": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deutan": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "tritan": np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ]
    ),
}

# Björn Ottosson's OKLab: linear RGB to cone responses, and their cube roots to L, a, b.
TO_LMS = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
TO_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)


def linear(colour: str) -> np.ndarray:
    """Return the linear RGB of a six-digit colour."""
    srgb = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    """Return the WCAG contrast ratio of two colours."""
    weights = np.array([0.2126, 0.7152, 0.0722])
    low, high = sorted((float(weights @ linear(one)), float(weights @ linear(other))))
    return (high + 0.05) / (low + 0.05)


def oklab(colour: str, eye: np.ndarray) -> np.ndarray:
    """Return 100 × OKLab of a colour as an eye sees it."""
    seen = np.clip(eye @ linear(colour), 0, 1)
    return 100 * (TO_LAB @ np.cbrt(TO_LMS @ seen))


def test_contrast_is_the_standard_one():
    assert contrast("#000000", "#FFFFFF") == pytest.approx(21)
    assert contrast("#777777", "#FFFFFF") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("mode", THEMES)
@pytest.mark.parametrize("token", theme.TEXT_TOKENS)
@pytest.mark.parametrize("ground", ["page", "surface"])
def test_text_can_be_read(token, ground, mode):
    side = THEMES[mode]
    assert contrast(theme.TOKENS[token][side], theme.TOKENS[ground][side]) >= 4.5


@pytest.mark.parametrize("mode", THEMES)
@pytest.mark.parametrize("token", theme.TEXT_TOKENS)
def test_text_in_the_lit_column_can_be_read(token, mode):
    side = THEMES[mode]
    assert contrast(theme.TOKENS[token][side], theme.TOKENS["focus-tint"][side]) >= 4.5


@pytest.mark.parametrize("mode", THEMES)
def test_alpha_chip_can_be_read(mode):
    side = THEMES[mode]
    assert contrast(theme.TOKENS["alpha-text"][side], theme.TOKENS["alpha"][side]) >= 4.5


@pytest.mark.parametrize("mode", THEMES)
@pytest.mark.parametrize("eye", EYES)
@pytest.mark.parametrize("pair", list(combinations(theme.DISTINCT_TOKENS, 2)), ids="-".join)
def test_hues_are_told_apart(pair, eye, mode):
    one, other = (oklab(theme.TOKENS[token][THEMES[mode]], EYES[eye]) for token in pair)
    assert np.linalg.norm(one - other) >= 10


def test_every_token_becomes_a_variable_of_both_themes():
    light, dark = theme.css_variables().split(".dark")
    for token, (in_light, in_dark) in theme.TOKENS.items():
        assert f"--bw-{token}:{in_light};" in light
        assert f"--bw-{token}:{in_dark};" in dark


def test_every_variable_used_is_a_token():
    player_css = (Path(__file__).parent.parent / "viz/player/player.css").read_text("utf-8")
    local = {"zoom", "text", "gap", "formula", "lines", "indent"}  # set by the player itself
    used = set(re.findall(r"var\(--bw-([\w-]+)", theme.page_css() + player_css))
    assert used - local <= set(theme.TOKENS)


def test_no_font_is_fetched_from_another_machine():
    page = theme.page_css() + theme.head_css() + theme.theme()._get_theme_css()
    sheets = theme.theme()._stylesheets
    assert not re.search(r"""url\(['"]?(https?:)?//|@import""", page)
    assert not [sheet for sheet in sheets if "//" in str(sheet)]


def test_primary_button_can_be_read():
    made = theme.theme()
    for suffix in ("", "_dark"):
        ground = getattr(made, f"button_primary_background_fill{suffix}")
        text = getattr(made, f"button_primary_text_color{suffix}")
        assert contrast(text, ground) >= 4.5

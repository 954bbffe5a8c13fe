"""What tests share: where Chromium is, and what to do without one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).parent.parent
CHROMIUM_FILE = ROOT / ".venv" / "chromium"  # written by tests/find_chromium.py

# The same examples on every run: a failure that comes and goes teaches nothing. Times vary too much
# on a busy machine for a limit on each example.
settings.register_profile("blockwise", derandomize=True, deadline=None, max_examples=60)
settings.load_profile("blockwise")


def find_chromium() -> str | None:
    """Return the path of the Chromium to drive: BLOCKWISE_CHROMIUM, or what `make test` found."""
    path = os.environ.get("BLOCKWISE_CHROMIUM", "")
    if not path and CHROMIUM_FILE.exists():
        path = CHROMIUM_FILE.read_text("utf-8").strip()
    return path if path and Path(path).exists() else None


@pytest.fixture(scope="session")
def chromium_path() -> str:
    """Give the path of a Chromium; skip the test where there is none, and fail it in CI."""
    path = find_chromium()
    if path is None:
        reason = "no Chromium: `make browser` finds or installs one, or set BLOCKWISE_CHROMIUM"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    return path


@pytest.fixture(scope="session")
def browser(chromium_path: str) -> Iterator[object]:
    """Give a running Chromium, one for all tests: open a new context for each."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=chromium_path)
        yield running
        running.close()

"""Find or install a Chromium for the browser tests, and write its path to a file.

``python -m tests.find_chromium FILE``. The first that starts is taken: Playwright's own, one that
is installed here, one from Debian's packages. Where there is none, FILE is not written: the browser
tests are then skipped, or fail where CI is set.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
MAC_APPS = (
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)


def starts(path: str) -> bool:
    """Return whether the browser at ``path`` opens a page."""
    from playwright.sync_api import Error, sync_playwright

    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=path, timeout=60_000)
            browser.new_page().set_content("<p>")
            browser.close()
    except Error:
        return False
    return True


def playwrights_own() -> str:
    """Return where Playwright keeps its Chromium, whether or not it is there."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        return playwright.chromium.executable_path


def run(*command: str) -> bool:
    """Run a command with its output hidden; return whether it succeeded."""
    try:
        return subprocess.run(command, capture_output=True, timeout=900).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def as_root() -> tuple[str, ...] | None:
    """Return what to put before a command to run it as root, or None where that cannot be."""
    if os.geteuid() == 0:
        return ()
    return ("sudo", "-n") if run("sudo", "-n", "true") else None


def candidates() -> Iterator[str]:
    """Yield paths to try, in order; each may be installed on the way to it."""
    own = playwrights_own()
    if Path(own).exists() or run(sys.executable, "-m", "playwright", "install", "chromium"):
        yield own
        if as_root() is not None and shutil.which("apt-get"):
            run(sys.executable, "-m", "playwright", "install-deps", "chromium")
            yield own
    yield from filter(None, (shutil.which(name) for name in NAMES))
    yield from (path for path in MAC_APPS if Path(path).exists())
    root = as_root()
    if root is not None and shutil.which("apt-get"):
        run(*root, "apt-get", "update")
        if run(*root, "apt-get", "install", "-y", "--no-install-recommends", "chromium"):
            yield from filter(None, [shutil.which("chromium")])


def main(file: str) -> None:
    """Write the path of a Chromium that starts to ``file``, or say that there is none."""
    known = Path(file)
    if known.exists() and starts(known.read_text("utf-8").strip()):
        return
    known.unlink(missing_ok=True)
    for path in candidates():
        if starts(path):
            known.write_text(path + "\n", "utf-8")
            print(f"Browser tests use {path}")
            return
    print("No Chromium could be found or installed: browser tests will be skipped.")


if __name__ == "__main__":
    main(sys.argv[1])

"""Whether files can be written, asked before minutes are spent on what would go into them."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def why_no_folder(folder: Path) -> str:
    """Return why nothing can be written into a folder, in a sentence, or "". Make the folder."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # Tried, not asked: the administrator may write everywhere, but not to what is read-only.
        with tempfile.TemporaryFile(dir=folder):
            return ""
    except OSError as error:
        return f"{folder} cannot be written: {error.strerror}."


def why_no_file(path: Path) -> str:
    """Return why a file cannot be written, in a sentence, or "". Leave it as it is."""
    refusal = f"{path} cannot be written."
    try:
        if path.is_dir():
            return refusal
        if path.exists():
            return "" if os.access(path, os.W_OK) else refusal
        path.open("xb").close()
        path.unlink()
    except (OSError, ValueError):  # a name that is too long, say
        return refusal
    return ""

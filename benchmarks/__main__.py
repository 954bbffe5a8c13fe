"""``python -m benchmarks``: what the page does with real kernels, from a shell.

    python -m benchmarks check      hold the kernels against torch and float64; see `check_command`
    python -m benchmarks memory     measure attention's peak memory; see `memory_command`
    python -m benchmarks tune       find a kernel's fastest settings; see `tune_command`
    python -m benchmarks export     compile kernels for a GPU, to take away; see `export_command`
    python -m benchmarks launches   count and time launches of one formula; see `launches_command`
    python -m benchmarks sweep      measure an operation over a size; see `sweep_command`
    python -m benchmarks claims     claims of three texts, put to the test; see `claims_command`
    python -m benchmarks record     measure and keep all that is shown; see `record_command`
    python -m benchmarks list       the recorded runs; see `recorded_command`
    python -m benchmarks compare    two sweeps, side by side; see `recorded_command`

Exits with 1 if a check failed, with 2 for a mistake in the arguments.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from benchmarks import (
    check_command,
    claims_command,
    export_command,
    launches_command,
    memory_command,
    record_command,
    recorded_command,
    report,
    sweep_command,
    tune_command,
)
from benchmarks.worker import JobFailed, Worker
from kernels.errors import InputError

COMMANDS = {
    "check": check_command,
    "memory": memory_command,
    "launches": launches_command,
    "tune": tune_command,
    "sweep": sweep_command,
    "claims": claims_command,
    "record": record_command,
}
# These measure only if they are told to; else they show what there is.
SHOWING = {"claims": claims_command, "record": record_command}
# Nothing runs here: they need no worker.
WITHOUT_WORKER = {
    "export": export_command,
    "list": recorded_command,
    "compare": recorded_command,
}


class _Parser(argparse.ArgumentParser):
    """A parser whose complaints are one sentence."""

    def error(self, message: str) -> NoReturn:
        print(f"{message[:1].upper()}{message[1:].rstrip('.')}.", file=sys.stderr)
        raise SystemExit(2)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    options = _parser().parse_args(arguments)
    worker = Worker()
    try:
        if options.command in WITHOUT_WORKER:
            return WITHOUT_WORKER[options.command].run(options)
        showing = SHOWING.get(options.command)
        if showing and not showing.needs_worker(options):
            return showing.show(options)
        device = worker.device()
        print(report.device_line(device))
        if device.kind == "none":
            return 1
        return COMMANDS[options.command].run(worker, device, options)
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    except JobFailed as error:
        print(f"The worker did not start ({error}).", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    finally:
        worker.close()


def _parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    parser = _Parser(prog="python -m benchmarks")
    commands = parser.add_subparsers(dest="command", required=True)
    for command in (*COMMANDS.values(), export_command, recorded_command):
        command.add_to(commands)
    return parser


def shell() -> int:
    """Run the command; end without a word where nobody reads on, as in ``list | head``."""
    try:
        code = main()
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return code


if __name__ == "__main__":
    sys.exit(shell())

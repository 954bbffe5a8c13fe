"""``python -m benchmarks``: what the page does with real kernels, from a shell.

    python -m benchmarks check      hold the kernels against torch and float64; see `check_command`
    python -m benchmarks memory     measure attention's peak memory; see `memory_command`

Exits with 1 if a check failed, with 2 for a mistake in the arguments.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import NoReturn

from benchmarks import check_command, memory_command, report
from benchmarks.worker import JobFailed, Worker
from kernels.errors import InputError


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
        device = worker.device()
        print(report.device_line(device))
        if device.kind == "none":
            return 1
        run = memory_command.run if options.command == "memory" else check_command.run
        return run(worker, device, options)
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
    check_command.add_to(commands)
    memory_command.add_to(commands)
    return parser


if __name__ == "__main__":
    sys.exit(main())

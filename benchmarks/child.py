"""The worker's process: it says what it runs on, then runs one job after another.

Started by `process.Process`. Its standard output belongs to the protocol, so whatever a job prints
goes to stderr. It ends when its standard input closes, in mid-job too.
"""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import os
import queue
import sys
import threading
import traceback
from typing import BinaryIO

from benchmarks.device import SelfTestFailed, probe
from benchmarks.failures import classify, clean
from benchmarks.messages import Message, Order, pack_input_error, receive, send
from kernels.errors import InputError

# The parent ends a job at its limit. Should it be stuck, the child ends itself a little later.
LATE_S = 30.0


def main(self_test: str = "") -> int:
    """Probe, say hello, and run jobs until the parent goes away; return the exit code."""
    faulthandler.enable()
    incoming, outgoing = _take_pipes()
    orders: queue.Queue[Order] = queue.Queue()
    threading.Thread(target=_read_orders, args=(incoming, orders), daemon=True).start()
    try:
        device = probe(self_test)
    except SelfTestFailed as error:
        traceback.print_exc()
        send(outgoing, Message("self_test", payload=clean(str(error))))
        return 1
    gc.collect()
    gc.freeze()  # torch's and Triton's modules stay: no later collection need look at them
    send(outgoing, Message("hello", payload=device))
    while True:
        _run(orders.get(), outgoing, on_gpu=device.kind == "gpu")


def _take_pipes() -> tuple[BinaryIO, BinaryIO]:
    """Keep the pipes to the parent for ourselves: give jobs no input, and stderr for output."""
    incoming, outgoing = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return incoming, outgoing


def _read_orders(incoming: BinaryIO, orders: queue.Queue[Order]) -> None:
    """Queue what the parent sends; end the process when the parent is gone."""
    try:
        while True:
            orders.put(receive(incoming))
    except EOFError:
        os._exit(0)
    except BaseException:
        traceback.print_exc()
        os._exit(1)


def _run(order: Order, outgoing: BinaryIO, on_gpu: bool) -> None:
    """Run one job, sending what it yields and how it ended."""
    faulthandler.dump_traceback_later(order.limit_s + LATE_S, exit=True)
    send(outgoing, Message("begun", order.job_id))
    try:
        for item in order.job.run():
            send(outgoing, Message("item", order.job_id, item))
        last = Message("done", order.job_id)
    except InputError as error:
        last = Message("input_error", order.job_id, pack_input_error(error))
    except (Exception, SystemExit, KeyboardInterrupt) as error:
        traceback.print_exc()
        last = Message("failed", order.job_id, classify(error, on_gpu))
    finally:
        faulthandler.cancel_dump_traceback_later()
    # The exception and its frames, which hold tensors, are gone by now.
    _release_memory()
    send(outgoing, last)


def _release_memory() -> None:
    """Give back what the job held, so that no run leaves less memory for the next."""
    gc.collect()
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        # On a context that has faulted this raises too; the parent replaces us then.
        with contextlib.suppress(RuntimeError):
            torch.cuda.empty_cache()


if __name__ == "__main__":
    code = main(*sys.argv[1:])
    os._exit(code)  # an ordinary exit would wait for the thread that reads orders

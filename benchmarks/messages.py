"""How the page's process and its worker talk: length-prefixed pickles over two pipes.

The page sends `Order`s, the worker answers with `Message`s that carry the order's id, so that an
answer to an order that was given up is never taken for another's. Both ends are this program: the
only things pickled are frozen dataclasses of ours, NumPy arrays and plain values.
"""

from __future__ import annotations

import pickle
import struct
from typing import BinaryIO, NamedTuple

from kernels.errors import InputError

_HEADER = struct.Struct(">Q")


class JobFailed(Exception):
    """A job gave no result, for a reason the page can say.

    ``kind`` is a locale key under ``failed.`` and ``details`` are what that sentence names:

    timeout             limit (seconds): it ran past its limit and was ended
    crashed             signal: the worker's process died
    exception           type, message: the job raised
    gpu_error           message: the GPU reported a fault; the worker was replaced
    compile             message: Triton could not compile the kernel
    out_of_memory       the GPU's (or the computer's) memory did not suffice
    out_of_resources    what, required, limit: more of a GPU resource than there is
    not_ready           the worker had not started within the time that was given
    closed              the worker was closed with the app
    no_triton, no_torch, no_device   nothing here can run a kernel
    """

    def __init__(self, kind: str, **details: object) -> None:
        named = ", ".join(f"{name} {value}" for name, value in details.items())
        super().__init__(f"{kind}: {named}" if named else kind)
        self.kind = kind
        self.details = details


class Order(NamedTuple):
    """A job to run, and the seconds it may take."""

    job_id: int
    job: object
    limit_s: float


class Message(NamedTuple):
    """What a worker says.

    kind        "hello" (payload: Device), "self_test" (payload: why it failed), "begun",
                "item" (payload: a Progress or a result), "done", "failed" (payload: `Failure`),
                "input_error" (payload: key, sentence, details)
    job_id      the order that it answers; None before any
    """

    kind: str
    job_id: int | None = None
    payload: object = None


class Failure(NamedTuple):
    """How a job failed, and whether the process may be used again."""

    kind: str
    details: dict[str, object]
    replace: bool = False


def send(stream: BinaryIO, message: Order | Message) -> None:
    """Write one message and flush it. Nothing is written if it cannot be pickled."""
    data = pickle.dumps(message, protocol=5)
    stream.write(_HEADER.pack(len(data)))
    stream.write(data)
    stream.flush()


def receive(stream: BinaryIO) -> Order | Message:
    """Read one message. Raise EOFError at the end of the stream, also in mid-message."""
    (size,) = _HEADER.unpack(_exactly(stream, _HEADER.size))
    return pickle.loads(_exactly(stream, size))


def _exactly(stream: BinaryIO, size: int) -> bytes:
    """Read ``size`` bytes, or raise EOFError."""
    data = stream.read(size)
    if len(data) < size:
        raise EOFError
    return data


def pack_input_error(error: InputError) -> tuple[str, str, dict[str, object]]:
    """Return what `unpack_input_error` needs: an InputError does not survive a pickle."""
    return error.key, str(error), dict(error.details)


def unpack_input_error(key: str, sentence: str, details: dict[str, object]) -> InputError:
    """Return the InputError again; the sentence is already filled in."""
    return InputError(key, sentence.replace("{", "{{").replace("}", "}}"), **details)

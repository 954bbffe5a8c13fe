"""A queue for one worker: first come, first served, and everyone can see their place."""

from __future__ import annotations

import math
import threading
import time
from collections import deque

# Whoever neither goes on nor leaves, a closed page say, loses its place after this long.
ABANDONED_S = 10.0


class Turns:
    """Whose turn it is. A plain lock promises no order; this does."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._queue: deque[Turn] = deque()

    def join(self) -> Turn:
        """Take the last place in the queue."""
        turn = Turn(self)
        with self._changed:
            self._queue.append(turn)
        return turn


class Turn:
    """A place in the queue; place 0 is at work.

    ``expires`` is the moment (`time.monotonic`) after which whoever waits may take over; `wait`
    puts it off, and who is at work sets it.
    """

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self.expires = math.inf

    def wait(self, timeout_s: float) -> int:
        """Wait for this turn at most ``timeout_s`` and return how many are before it.

        Whoever lost their place for not asking goes to the end of the queue.
        """
        changed = self._turns._changed
        with changed:
            if self not in self._turns._queue:
                self._turns._queue.append(self)
            self.expires = time.monotonic() + timeout_s + ABANDONED_S
            changed.wait_for(lambda: self._place() == 0, timeout_s)
            return self._place()

    def is_current(self) -> bool:
        """Whether it is, still, this one's turn."""
        with self._turns._changed:
            queue = self._turns._queue
            return bool(queue) and queue[0] is self

    def leave(self) -> None:
        """Give the place up, at work or not; leaving twice is no mistake."""
        with self._turns._changed:
            if self in self._turns._queue:
                self._turns._queue.remove(self)
                self._turns._changed.notify_all()

    def _place(self) -> int:
        """Return the place in the queue, once a head whose time is over has been dropped."""
        queue = self._turns._queue
        while queue[0] is not self and time.monotonic() > queue[0].expires:
            queue.popleft()
            self._turns._changed.notify_all()
        return queue.index(self)

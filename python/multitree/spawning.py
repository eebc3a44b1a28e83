# SPDX-License-Identifier: BSD-3-Clause
"""Ranks as processes of this host, started from a program."""
from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import sys
import time
import traceback
from multiprocessing.connection import Connection, wait
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence

from . import _core
from .communicator import Communicator
from .errors import Aborted, Error, InvalidArgument, Timeout, TransportError

#: Seconds after the first failure for those of others to come: what a rank raises by itself is told, not its echoes.
ECHOES = 0.5
#: Seconds that a process has to end after SIGTERM.
ENDING = 2.0


class RankTraceback(Exception):
    """Where in its process a rank raised what `spawn()` raises; its cause."""

    def __str__(self) -> str:
        return "\n" + self.args[0]


def spawn(function: Callable[..., Any], ranks: int, *args: Any, timeout: Optional[float] = None, method: str = "spawn",
          options: Optional[Mapping[str, Any]] = None, **kwargs: Any) -> List[Any]:
    """Runs ``function(communicator, *args, **kwargs)`` in `ranks` new processes of this host, and returns what they
    return, in the order of ranks.

        >>> def total(comm, n):
        ...     return comm.all_reduce(np.full(n, comm.rank)).tolist()
        >>> multitree.spawn(total, 4, 2)
        [[6, 6], [6, 6], [6, 6], [6, 6]]

    function: can be imported by name (not a lambda), as everything that goes to and from processes is pickled. With
    `method` "spawn" the module of the program is imported there, so it starts ranks under
    ``if __name__ == "__main__":``; "fork" and "forkserver" are multiprocessing's too.
    timeout: seconds for all of it. options: of `Communicator`, as ``{"topology": "ring:4"}``.

    What a rank raises is raised here, with the attribute `rank` and its traceback as the cause, once the other ranks are
    stopped. Raises TransportError where a process dies (with how), Timeout (with the ranks that had not returned),
    InvalidArgument (ranks; what cannot be pickled).
    """
    if isinstance(ranks, bool) or not isinstance(ranks, int) or ranks < 1:
        raise InvalidArgument(f"spawn: ranks: expected 1 or more, got {ranks!r}")
    try:
        work = pickle.dumps((function, args, kwargs, dict(options or {})))
    except Exception as error:
        raise InvalidArgument(f"spawn: expected a function and arguments that can be pickled, such as those of a module, "
                              f"got {function!r}: {error}") from None
    job = _Job(ranks, work, method)
    try:
        return job.run(None if timeout is None else time.monotonic() + timeout, timeout)
    finally:
        job.stop()


class _Job:
    """The processes, and a pipe to each: its id comes first, from rank 0 to all others."""

    def __init__(self, ranks: int, work: bytes, method: str):
        context = multiprocessing.get_context(method)
        self.results: Dict[int, Any] = {}
        self.failures: Dict[int, BaseException] = {}
        self.pipes: List[Connection] = []
        self.processes: List[Any] = []
        for rank in range(ranks):
            ours, theirs = context.Pipe()
            process = context.Process(target=_rank, args=(theirs, rank, ranks, work), name=f"rank {rank}", daemon=True)
            self.pipes.append(ours)
            self.processes.append(process)
            process.start()
            theirs.close()

    def run(self, deadline: Optional[float], timeout: Optional[float]) -> List[Any]:
        waited = set(range(len(self.processes)))
        while waited:
            if self.failures and deadline != (end := self._echoes_until()):
                deadline = end
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            ready = wait([self.pipes[rank] for rank in waited], left)
            if not ready:
                break
            for pipe in ready:
                rank = self.pipes.index(pipe)
                if not self._hear(rank):
                    waited.discard(rank)
        if self.failures:
            self._raise()
        if waited:
            raise Timeout(f"spawn: after {timeout:g} s no result of rank{'s' if len(waited) > 1 else ''} "
                          f"{', '.join(map(str, sorted(waited)))}")
        return [self.results[rank] for rank in range(len(self.processes))]

    def _echoes_until(self) -> float:
        self.first = getattr(self, "first", time.monotonic())
        return self.first + ECHOES

    def _hear(self, rank: int) -> bool:
        """False: nothing more is to come."""
        try:
            kind, value = self.pipes[rank].recv()
        except (EOFError, ConnectionError):
            self.failures[rank] = TransportError(f"spawn: rank {rank} {self._end_of(rank)}")
            return False
        if kind == "id":
            for other in range(1, len(self.pipes)):
                try:
                    self.pipes[other].send(value)
                except (BrokenPipeError, ConnectionError):
                    pass  # its end is heard as well
            return True
        if kind == "result":
            self.results[rank] = pickle.loads(value)
        else:
            self.failures[rank] = _unpickle(rank, *value)
        return False

    def _end_of(self, rank: int) -> str:
        process = self.processes[rank]
        process.join(ENDING)
        code = process.exitcode
        if code is None:
            return "closed its pipe and goes on"
        if code < 0:
            return f"was killed by signal {-code} ({signal.Signals(-code).name})"
        return f"ended with exit code {code} before its function returned"

    def _raise(self) -> None:
        """What a rank did by itself, before what others say of it."""
        def order(item):
            rank, error = item
            own = not isinstance(error, (TransportError, Aborted)) or str(error).startswith("spawn: ")
            return not own, rank
        rank, error = min(self.failures.items(), key=order)
        error.rank = rank
        raise error

    def stop(self) -> None:
        for pipe in self.pipes:
            pipe.close()
        done = len(self.results) == len(self.processes)
        for process in self.processes:
            if not done and process.is_alive():
                process.terminate()
        end = time.monotonic() + ENDING
        for process in self.processes:
            process.join(max(0.0, end - time.monotonic()) if not done else ENDING)
            if process.is_alive():
                process.kill()
                process.join()


def _unpickle(rank: int, pickled: Optional[bytes], name: str, text: str) -> BaseException:
    try:
        error = pickle.loads(pickled) if pickled is not None else None
    except Exception:
        error = None
    if not isinstance(error, BaseException):
        error = Error(f"spawn: rank {rank}: {name}")
    error.__cause__ = RankTraceback(f"rank {rank} raised\n{text}")
    return error


def _rank(pipe: Connection, rank: int, size: int, work: bytes) -> None:
    """The process of a rank."""
    try:
        function, args, kwargs, options = pickle.loads(work)
        if rank == 0:
            id = _core.unique_id()
            pipe.send(("id", id))
        else:
            id = pipe.recv()
        with Communicator(rank, size, id=id, **options) as communicator:
            result = function(communicator, *args, **kwargs)
            answer = pickle.dumps(result)
        pipe.send(("result", answer))
    except BaseException as error:  # also SystemExit: the function was to return
        text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
        try:
            pickled: Optional[bytes] = pickle.dumps(error)
        except Exception:
            pickled = None
        try:
            pipe.send(("failure", (pickled, f"{type(error).__name__}: {error}", text)))
        except OSError:
            sys.stderr.write(text)  # nobody listens any more
        pipe.close()
        os._exit(1)

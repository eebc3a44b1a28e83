# SPDX-License-Identifier: BSD-3-Clause
"""Communicators: collectives of arrays between processes, on the schedules of the library."""
from __future__ import annotations

import atexit
import os
import sys
import tempfile
import threading
from contextlib import ExitStack
from typing import Any, Iterable, List, Optional, Union

import numpy as np

from . import _core
from .combining import Function, combining, name_of
from .errors import Error, InvalidArgument
from .meeting import meet
from .networks import Topology
from .schedules import Plan, Schedule, Size, nbytes

Operator = _core.Operator
Request = _core.Request
unique_id = _core.unique_id
PathLike = Union[str, "os.PathLike[str]"]


class Communicator(_core.CommunicatorBase):
    """One rank's end of a group of processes.

        >>> with multitree.Communicator() as comm:              # torchrun, mpirun, srun, multitree run; else one rank
        ...     total = comm.all_reduce(gradient)               # a new array of NumPy
        ...     comm.all_reduce(gradient, gradient)             # in place
        ...     with comm.iall_reduce(gradient, total):         # goes on by itself
        ...         compute()

    Arrays are NumPy's, of anything with the buffer protocol, or with DLPack (of a CUDA device where the process has
    loaded CUDA, between ranks with one each): contiguous in C's order, of floats of 16 to 64 bits, bfloat16 (of
    ml_dtypes, or by DLPack), integers of 8 to 64 bits, or bool. What cannot be taken raises InvalidArgument, whose
    words say what to do. Nothing is copied before a call, and the number of elements, type and operator must be equal
    at all ranks.

    Every method is collective but send(), recv(), failure(), abort() and the properties: all ranks call it, in the same
    order. Threads may share a communicator, and keep that order among themselves. Python's other threads run while one
    waits. A KeyboardInterrupt in a blocking call ends the communicator, here and at the other ranks; in
    `Request.wait()` it changes nothing. After a fork the child has to join anew.

    One that is left open is closed when the process ends (aborted, if an exception ends it); in a `with` statement it is
    closed at the end, or aborted by an exception.
    """

    def __init__(self, rank: Optional[int] = None, size: Optional[int] = None, *, address: Optional[str] = None,
                 id: Optional[bytes] = None, token: Optional[str] = None, timeout: float = 30.0,
                 join_timeout: float = 60.0, topology: Union[None, PathLike, Topology] = None, algorithm: str = "auto",
                 plan: Union[None, PathLike, Plan, Schedule] = None, segment: Optional[Size] = None,
                 transport: Optional[str] = None, tuning: Optional[str] = None,
                 progress: Union[None, bool, int, str] = None, refine: Optional[bool] = None, devices: bool = True,
                 link_timeout: Optional[float] = None, on_link_failure: Optional[str] = None,
                 encrypt: Optional[bool] = None):
        """Joins: collective, and waits for all ranks.

        Without arguments as the environment says (Open MPI, MPICH, srun, torchrun, MULTITREE_RANK, _SIZE and
        _RENDEZVOUS), once in the life of a process; where it says nothing, alone.

        rank, size: of this process, and of all; with one of
        address: "host:port" of rank 0, which listens there. For another host than this one `token` is needed.
        id: of `multitree.unique_id()`, the same at all ranks.
        token: a secret that all ranks know; without one the environment variable MULTITREE_TOKEN.

        timeout: seconds that a call waits in which nothing moves; join_timeout: for all ranks to come.
        topology: a spec, a file, or a Topology made from one, with a rank for each; default: a full mesh.
        algorithm: as for `multitree.schedule()`; "auto" (default): the memory of the host where all ranks share one, else
        the fastest by prediction for each size. plan: a file, a Plan or a Schedule, instead of both.
        segment: most bytes of a message; longer ones are pipelined. transport: "ucx", "tcp"; default: the
        environment variable MULTITREE_TRANSPORT, else what suits.
        tuning: "declared", "measured", "cached", or a file: what links take, for "auto" (docs/c-api.md).
        progress: who moves calls that were started: True (a thread of the library), the core for one, False.
        refine: whether "auto" tries rivals while it runs. devices: whether arrays may be of a CUDA device.
        link_timeout: seconds of silence after which a link between hosts is dead, 0: none is watched; default: the
        environment variable MULTITREE_LINK_TIMEOUT, else 5. on_link_failure: then "stop", calls fail (default), or
        "continue", they go on over another way (transport "tcp"), or "adapt", later ones run schedules without the link;
        else MULTITREE_ON_LINK_FAILURE. encrypt: whether messages between processes are encrypted (transport "tcp"), as
        at all ranks; default: the environment variable MULTITREE_ENCRYPT, else not.

        Raises InvalidArgument, Timeout (names the ranks that did not come), TransportError, SystemFailure, Unsupported
        (the algorithm does not serve the topology).
        """
        if threading.current_thread() is threading.main_thread():
            _core._attend_to_signals()
        wishes = _core._Wishes()
        wishes.timeout, wishes.join_timeout = _seconds("timeout", timeout), _seconds("join_timeout", join_timeout)
        wishes.algorithm, wishes.transport, wishes.tuning = algorithm, transport, tuning
        wishes.refine, wishes.devices = refine, devices
        wishes.on_link_failure, wishes.encrypt = on_link_failure, encrypt
        wishes.link_timeout = None if link_timeout is None else _seconds("link_timeout", link_timeout)
        wishes.progress = {True: "on", False: "off"}[progress] if isinstance(progress, bool) else (
            None if progress is None else str(progress))
        if segment is not None:
            wishes.segment = nbytes(segment)
        with ExitStack() as stack:
            if topology is not None:
                wishes.topology = _spec_of(topology)
            if plan is not None:
                wishes.plan = _file_of(plan, stack)
            id = _id_of(rank, size, address, id, token, join_timeout)
            super().__init__(0 if rank is None else rank, 1 if size is None else size, id, wishes)

    def split(self, color: Optional[int], key: int = 0) -> Optional[Communicator]:
        """A communicator of the ranks with the same color, in the order of keys, then of ranks; None where color is
        None, which waits for the others all the same. It has this one's settings, without topology and plan. Parts and
        the whole may be closed in any order. Raises as all_reduce(), InvalidArgument (color below 0)."""
        if color is not None and color < 0:
            raise InvalidArgument(f"split: color: expected 0 or more, or None for no part, got {color}")
        return self._split(color, key)

    def shrink(self, without: Iterable[int] = (), *, around_links: bool = False, give_up: bool = False) -> Communicator:
        """A communicator of the ranks that are left, in their order, without gaps: after TransportError or Timeout, or
        to leave out the ranks `without`. All that are left call it; ranks that do not within join_timeout are left out.
        around_links: schedules avoid links that have died. give_up: what is outstanding is dropped, and is not finished
        first. This one is closed by it; where it fails, as when another rank dies meanwhile, it may be called again.
        Raises as the constructor."""
        return self._shrink(_ranks("without", without), around_links, give_up)

    def grow(self, size: int, *, id: Optional[bytes] = None, rank: Optional[int] = None) -> Communicator:
        """A communicator of these ranks and newcomers, `size` in all, which join by `Communicator(rank, size, id=id)`.
        id: of `multitree.unique_id()`, by one of them all; other ranks here need not have it. rank: of this rank there,
        None for the same as here, so that a newcomer can have any. It has this one's settings, without topology and
        plan; newcomers need the same. This one stays as it is, and goes on where newcomers do not come. Raises as the
        constructor, InvalidArgument (ranks, sizes or ids that do not fit each other)."""
        for name, value in (("size", size), ("rank", rank)):
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
                raise InvalidArgument(f"grow: {name}: expected a whole number, 0 or more, got {value!r}")
        return self._grow(size, id, rank)

    def operator(self, base: str = "sum", *, exact: Union[None, bool, str] = None, wire: Optional[str] = None,
                 factor: Any = None, function: Optional[Function] = None, commutative: bool = True) -> Operator:
        """An operator for `op` of this communicator's calls, on arrays in host memory; all ranks make the same.

            >>> same_bits = comm.operator("sum", exact=True)
            >>> comm.all_reduce(gradient, gradient, op=same_bits)

        exact: a "sum" or "avg" of floats with the same bits for any algorithm, network, order and number of ranks that
        bring the same contributions. True or "elements": each element in a unit of its own; "blocks": of 32 elements,
        which takes less time and rounds small elements beside large ones. Starting such a call waits for other ranks.
        wire: "float16", "bfloat16" or "int8" (blocks of 64), in which float32 travels between ranks, while sums stay
        float32. Where ranks share memory nothing travels. factor: one number, of NumPy or an array, of the calls' type,
        by which this rank's input is multiplied first; only "sum"; ranks may have different ones.
        function: of two arrays of NumPy with one dimension, the same length and the calls' type, as np.logaddexp; returns
        their combination, element by element, and is associative. It is called for parts of any length, by any thread that
        waits, the first array of lower ranks; where it is not commutative, ranks have to share memory. It must not call the
        communicator. What it raises is raised by the call that it was for, and the communicator is aborted.

        Raises InvalidArgument (not one of the four, or a base that it does not go with), InvalidUsage (closed)."""
        if function is not None:
            return self._function_operator(base, function, commutative, (exact, wire, factor))
        if isinstance(factor, np.generic):
            factor = np.asarray(factor)
        if isinstance(exact, bool):
            exact = "elements" if exact else None
        return self._operator(base, exact, wire, factor)

    def _function_operator(self, base: str, function: Function, commutative: bool, others: tuple[Any, ...]) -> Operator:
        if base != "sum" or any(other is not None for other in others):
            raise InvalidArgument("operator: function: expected nothing else but commutative, as the function says it all")
        if not callable(function):
            raise InvalidArgument(f"operator: function: expected one of two arrays, as np.logaddexp, got {function!r}")
        words = f"function={name_of(function)}" + ("" if commutative else ", in the order of ranks")
        return self._operator_of_function(combining(function), words, commutative)

    def __enter__(self) -> Communicator:
        return self

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        if kind is None:
            self.close()
        else:
            self.abort()

    def __repr__(self) -> str:
        return f"Communicator(rank {self.rank} of {self.size}{', closed' if self.closed else ''})"


def _ranks(name: str, values: Iterable[int]) -> List[int]:
    ranks = list(values)
    for rank in ranks:
        if isinstance(rank, bool) or not isinstance(rank, int) or rank < 0:
            raise InvalidArgument(f"{name}: expected ranks, got {rank!r}")
    return ranks


def _seconds(name: str, value: Any) -> float:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    raise InvalidArgument(f"{name}: expected seconds, got {value!r}")


def _spec_of(what: Union[PathLike, Topology]) -> str:
    if not isinstance(what, Topology):
        return os.fspath(what)
    try:
        same = _core.load_topology(what.name)[0] == what
    except Error:
        same = False
    if not same:
        raise InvalidArgument(f"topology: expected a spec, a file, or a Topology made from one, got {what!r}, which was "
                              "not: pass a plan for it (multitree.tune(topology).plan())")
    return what.name


def _file_of(plan: Union[PathLike, Plan, Schedule], stack: ExitStack) -> str:
    if not isinstance(plan, (Plan, Schedule)):
        return os.fspath(plan)
    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="multitree-"))
    path = os.path.join(folder, "plan.json")
    plan.save(path)
    return path


def _id_of(rank: Optional[int], size: Optional[int], address: Optional[str], id: Optional[bytes], token: Optional[str],
           join_timeout: float) -> Optional[bytes]:
    """None: the environment says who is there."""
    if rank is None and size is None:
        if address is not None or id is not None:
            raise InvalidArgument("Communicator: expected rank and size with address or id, got neither")
        return None
    if rank is None or size is None or not 0 <= rank < size:
        raise InvalidArgument(f"Communicator: expected a size of 1 or more and a rank below it, got rank {rank} of {size}")
    if (address is None) == (id is None) and size > 1:
        raise InvalidArgument("Communicator: expected address or id with rank and size, got "
                              f"{'neither' if id is None else 'both'}")
    if id is not None:
        return id
    if size == 1:
        return unique_id()
    return meet(address, rank, size, token, join_timeout)


def _leave() -> None:
    """What a program has left open is closed, or aborted where an exception ends it."""
    _core._close_all(getattr(sys, "last_value", None) is not None)


atexit.register(_leave)

# SPDX-License-Identifier: BSD-3-Clause
"""Topology-aware collectives: generate schedules, prove them, predict and simulate them.

    >>> import multitree
    >>> torus = multitree.topology("torus:5x5")
    >>> schedule = multitree.schedule(torus, "symmetric", "allgather")
    >>> schedule.verify()
    VerifyReport(ok)
    >>> schedule.check_certificate()
    ProofReport(holds: bound 6, load 6, ratio 1.000, optimal)
"""
from ._core import (Bound, ProofReport, Simulation, Tables, Tuning, VerifyReport, Violation, algorithms, families,
                    format_bandwidth, format_bytes, format_time, parse_bandwidth, parse_bytes, parse_time)
from .communicator import Communicator, Operator, Request, unique_id
from .errors import (Aborted, AssumptionWarning, DeviceError, Error, FileError, InternalError, InvalidArgument,
                     InvalidInput, InvalidUsage, SystemFailure, Timeout, TransportError, Unsupported)
from .networks import LINK, Topology, topology
from .schedules import (CHUNK, ENTRY, SPAN, TRANSFER, Plan, Schedule, bound, load, parse_msccl, schedule,
                        schedule_from_arrays, tune)
from .results import Candidate, Sized, TunedRange
from .spawning import spawn
from . import drawing as _drawing  # gives Topology its picture

#: Where what people look for in the module is.
_ELSEWHERE = {"bounds": "multitree.bound(network)", "verify": "schedule.verify()", "predict": "schedule.predict(size)",
              "simulate": "schedule.simulate(size)", "view": "network, as the last line of a notebook's cell",
              "init": "multitree.Communicator(), in each process", "run": "multitree.spawn(function, ranks)",
              "save": "schedule.save(file)", "all_reduce": "multitree.Communicator().all_reduce(array)",
              "allreduce": "multitree.Communicator().all_reduce(array)",
              "broadcast": "multitree.Communicator().broadcast(array)"}


def __getattr__(name: str):
    hint = f"; use {_ELSEWHERE[name]}" if name in _ELSEWHERE else ""
    raise AttributeError(f"module 'multitree' has no attribute '{name}'{hint}")


__version__ = "0.1.0"
__all__ = [name for name in dir() if not name.startswith("_") and name not in (
    "communicator", "drawing", "errors", "meeting", "networks", "results", "schedules", "spawning")]

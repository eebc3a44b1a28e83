# SPDX-License-Identifier: BSD-3-Clause
"""Schedules, what they are worth, and what follows from them."""
from __future__ import annotations

import json
import os
from typing import Any, Mapping, Optional, Sequence, Union

import numpy as np

from . import _core
from .errors import InvalidArgument
from .networks import Topology, TopologyLike, topology

Schedule = _core.Schedule
Plan = _core.Plan
Size = Union[int, str]

#: A transfer as the library holds it; `op` is 0 where the receiver adds, 1 where it overwrites. Its route is
#: ``routes[route_begin:route_begin + route_size]``, numbers of links.
TRANSFER = np.dtype({"names": ["step", "op", "chunk", "src", "dst", "route_begin", "route_size"],
                     "formats": ["u4", "u1", "u4", "u4", "u4", "u4", "u4"],
                     "offsets": [0, 4, 8, 12, 16, 20, 24], "itemsize": 28})
#: A chunk: where it comes from and is for, the tree that it travels, its share of the buffer.
CHUNK = np.dtype({"names": ["source", "target", "tree", "weight"], "formats": ["u4", "u4", "u4", "u8"],
                  "offsets": [0, 4, 8, 16], "itemsize": 24})
#: An entry of a table of a network interface (docs/nic-spec.md).
ENTRY = np.dtype({"names": ["op", "step", "flow", "piece", "peer", "port", "route", "wait", "turn", "after", "start",
                            "size", "group", "priority"],
                  "formats": ["u1"] + ["u4"] * 9 + ["u8", "u8", "u4", "u4"],
                  "offsets": [*range(0, 40, 4), 40, 48, 56, 60], "itemsize": 64})
#: Something that took time in a simulation: kind 0 an interface (row: rank), 1 a link (row: its number); cycles.
SPAN = np.dtype({"names": ["kind", "row", "port", "message", "begin", "end"],
                 "formats": ["u1", "u4", "u4", "u4", "u8", "u8"],
                 "offsets": [0, 4, 8, 12, 16, 24], "itemsize": 32})


def nbytes(size: Size) -> int:
    """Bytes of a size given as a number or as text ("64MiB")."""
    if isinstance(size, str):
        return _core.parse_bytes(size)
    if isinstance(size, (int, np.integer)) and not isinstance(size, bool) and size >= 0:
        return int(size)
    raise InvalidArgument(f"size: expected bytes as a whole number or text as '64MiB', got {size!r}")


def schedule(network: TopologyLike, algorithm: str = "auto", collective: str = "allreduce", *, root: int = 0,
             verify: bool = True) -> Schedule:
    """A schedule of `algorithm` for a network, verified before it is returned (unless `verify` is false).

    network: as for `topology()`. algorithm: as ``"multitree"`` or ``"double-binary-tree?segments=16"``;
    ``multitree.algorithms()`` lists them. collective: "allreduce", "reduce-scatter", "allgather", "broadcast",
    "reduce", "gather" or "scatter". root: of those that have one.

    Raises InvalidArgument (a name, an option, the root), Unsupported (the algorithm does not serve this network).
    """
    if isinstance(network, str) and _names_algorithm(network):
        raise InvalidArgument(f"schedule: expected a network and then an algorithm, got the algorithm '{network}' first; did "
                              f"you mean schedule('{algorithm}', '{network}')?")
    return _core.make_schedule(topology(network), algorithm, collective, root, verify)


def _names_algorithm(word: str) -> bool:
    # Some families are called as an algorithm is, such as ring; those have sizes.
    known = {row["name"] for row in _core.algorithms()} - {row["name"] for row in _core.families()}
    return word.split("?")[0] in known


def schedule_from_arrays(network: TopologyLike, transfers: np.ndarray, routes: Any, chunks: np.ndarray,
                         collective: str = "allreduce", *, root: int = 0, algorithm: str = "custom") -> Schedule:
    """A schedule that you have made, to be verified, predicted, simulated, saved and run as any other.

    transfers: the fields of `TRANSFER`, shape (T,); routes: numbers of links, uint32; chunks: those of `CHUNK`, shape
    (C,).
    Is not verified: call `verify()`. Raises InvalidArgument (routes out of range, fields).
    """
    return _core.schedule_of_records(topology(network), collective, root, algorithm,
                                     _records("chunks", chunks, CHUNK), _records("transfers", transfers, TRANSFER),
                                     np.ascontiguousarray(routes, "u4").tobytes())


def _records(name: str, array: np.ndarray, dtype: np.dtype) -> bytes:
    # NumPy packs records where it makes arrays of arrays, so fields are compared by their names.
    if getattr(getattr(array, "dtype", None), "names", None) != dtype.names or array.ndim != 1:
        raise InvalidArgument(f"{name}: expected a one-dimensional array with the fields {', '.join(dtype.names)}, got "
                              f"{getattr(array, 'dtype', type(array).__name__)}")
    return array.astype(dtype).tobytes()


def bound(network: TopologyLike, collective: str = "allreduce", *, root: int = 0) -> _core.Bound:
    """What no schedule of the collective beats on this network, exactly, with the proof as a certificate.

    Raises InvalidArgument (root, names), Unsupported (bandwidths differ too much).
    """
    return _core.bound(topology(network), collective, root)


def tune(network: TopologyLike, collective: str = "allreduce", *, root: int = 0, first: Size = 8, last: Size = "1GiB",
         algorithms: Sequence[str] = (), message_overhead: float = 1e-6) -> _core.Tuning:
    """Compares all algorithms by predicted time and keeps the fastest for every size from `first` to `last` bytes.

    algorithms: specs to choose among; all, if there are none. message_overhead: seconds that a message costs its
    sender. Raises InvalidArgument, Unsupported (no algorithm serves the network).
    """
    return _core.tune(topology(network), collective, root, nbytes(first), nbytes(last), list(algorithms),
                      message_overhead)


def load(path: Union[str, os.PathLike[str]]) -> Plan:
    """Reads a schedule or a plan file, of this package or of the program `multitree`. What the schedules do is not
    checked: `verify()`. Raises FileError, InvalidInput ("file:line: ...")."""
    return _core.load(os.fspath(path))


def parse_msccl(text: str, network: TopologyLike, *, file: str = "msccl.xml") -> Schedule:
    """An MSCCL program as a schedule on a network whose rank r is gpu r. Raises InvalidInput ("file:line: ...")."""
    return _core.parse_msccl(text, file, topology(network))


def _transfers(self: Schedule) -> np.ndarray:
    """The transfers in canonical order, as the library holds them: dtype `TRANSFER`, shape (T,), no copy, read only."""
    return self._transfers.view(TRANSFER)


def _routes(self: Schedule) -> np.ndarray:
    """Numbers of the links that transfers pass, uint32, no copy, read only."""
    return self._routes.view("u4")


def _chunks(self: Schedule) -> np.ndarray:
    """The chunks: dtype `CHUNK`, shape (C,), no copy, read only."""
    return self._chunks.view(CHUNK)


def _bound(self: Schedule) -> _core.Bound:
    """The bound of this collective on this network, with its certificate."""
    return bound(self.topology, self.collective, root=self.root)


def check_certificate(self: Schedule, certificate: Optional[str] = None, size: Size = "64MiB") -> _core.ProofReport:
    """Adds up what the cuts of a certificate prove, and how near this schedule comes to it. certificate: JSON text;
    without one it is made first. Raises InvalidInput (form), InvalidArgument (of another network)."""
    text = self.bound().certificate if certificate is None else certificate
    return _core.check_proof(self, text, nbytes(size))


def predict(self: Schedule, size: Size, *, message_overhead: float = 0.0, pooled: bool = False) -> float:
    """Seconds of the collective on `size` bytes of the whole vector, by the alpha-beta model with contention.

    message_overhead: seconds that a message occupies its sender, whatever its size (hosts: about 1e-6).
    pooled: parallel links count as one.
    """
    return _core.predict(self, nbytes(size), message_overhead, pooled)


def simulate(self: Schedule, size: Size, *, model: Optional[str] = None, machine: str = "ideal", data: bool = False,
             trace: bool = False, **parameters: Any) -> _core.Simulation:
    """Simulates the collective on `size` bytes of the whole vector.

    model: "message" (event by event), "flit" (every router, link and interface in every cycle) or "alphabeta"; by
    default "message", and of the hardware "flit", which is the only one that has it.
    machine: "ideal" (each virtual channel of a router's input has its own way, sums take no time), or "hardware": the
    routers and interfaces in SystemVerilog, to the cycle.
    data: flit only, moves numbers and compares every sum. trace: fills `spans` in.
    parameters: of the interfaces, by their names in docs/nic-spec.md: ``virtual_channels=2, flow_control="packet"``.

    Raises Unsupported (routes or links that the model cannot have), InvalidInput (a parameter), InvalidArgument.
    """
    if model is None:
        model = "flit" if machine == "hardware" else "message"
    return _core.simulate(self, nbytes(size), model, machine, json.dumps(_plain(parameters)), data, trace)


def _plain(parameters: Mapping[str, Any]) -> dict:
    return {name: value.item() if isinstance(value, np.generic) else value for name, value in parameters.items()}


def tables(self: Schedule, elements: int) -> _core.Tables:
    """What each network interface stores of this schedule for a buffer of `elements` elements (of all shards
    together, a multiple of the ranks where there are shards). Raises InvalidArgument, Unsupported."""
    return _core.compile_tables(self, elements)


def busbw(self: Schedule, size: Size, seconds: float) -> float:
    """Bytes a second of nccl-tests' busbw: comparable with the bandwidth of links, whatever the number of ranks."""
    ranks = self.num_ranks
    share = {"allreduce": 2 * (ranks - 1) / ranks, "reduce-scatter": (ranks - 1) / ranks,
             "allgather": (ranks - 1) / ranks, "gather": (ranks - 1) / ranks, "scatter": (ranks - 1) / ranks}
    return nbytes(size) / seconds * share.get(self.collective, 1.0)


def save_schedule(self: Schedule, path: Union[str, os.PathLike[str]], *, certificate: Optional[str] = None) -> None:
    """Writes a schedule file, with a certificate (JSON text) if one is given. Raises FileError."""
    _core.plan_of(self)._save(os.fspath(path), certificate or "")


def save_plan(self: Plan, path: Union[str, os.PathLike[str]]) -> None:
    """Writes a plan file, a schedule file if there is one schedule. Raises FileError."""
    self._save(os.fspath(path), "")


def entries(self: _core.Tables, rank: int) -> np.ndarray:
    """The table of a rank: dtype `ENTRY`, no copy, read only. Raises IndexError."""
    return self._entries(rank).view(ENTRY)


Schedule.transfers = property(_transfers)
Schedule.routes = property(_routes)
Schedule.chunks = property(_chunks)
Schedule.bound = _bound
Schedule.check_certificate = check_certificate
Schedule.predict = predict
Schedule.simulate = simulate
Schedule.tables = tables
Schedule.busbw = busbw
Schedule.save = save_schedule
Plan.save = save_plan
_core.Tables.entries = entries
_core.Simulation.spans = property(lambda self: self._spans.view(SPAN))

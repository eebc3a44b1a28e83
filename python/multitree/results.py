# SPDX-License-Identifier: BSD-3-Clause
"""What answers look like."""
from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple, Tuple

from . import _core
from .schedules import Plan, Schedule


class TunedRange(NamedTuple):
    """Who is fastest from `first` to `last` bytes, both included; predicted seconds at both ends."""

    first: int
    last: int
    algorithm: str
    seconds_first: float
    seconds_last: float


class Candidate(NamedTuple):
    """An algorithm that was tried: predicted seconds at `Tuning.sizes`, or why the network does not allow it."""

    algorithm: str
    seconds: Tuple[float, ...]
    unsupported: str


class Sized(NamedTuple):
    """A schedule of a plan and the most bytes that it is for."""

    max_bytes: int
    schedule: Schedule


def _schedule(self: Schedule) -> str:
    root = f", root {self.root}" if self.collective in ("broadcast", "reduce", "gather", "scatter") else ""
    return (f"Schedule({self.collective} by {self.algorithm!r} on {self.topology.name!r}{root}: {self.num_steps} steps, "
            f"{self.num_transfers} transfers of {self.num_chunks} chunks)")


def _report(self: _core.VerifyReport) -> str:
    if self.ok:
        return "VerifyReport(ok)"
    first = "".join(f"\n  {violation.message}" for violation in self.violations)
    return f"VerifyReport({self.total_violations} violations:{first})"


def _violation(self: _core.Violation) -> str:
    return f"Violation({self.kind}: {self.message})"


def _bound(self: _core.Bound) -> str:
    what = "optimum" if self.is_optimum else "bound"
    return f"Bound({self.collective} on {self.topology.name!r}: {what} {self.value} shard times)"


def _proof(self: _core.ProofReport) -> str:
    if not self.ok:
        return "ProofReport(does not hold:" + "".join(f"\n  {fault}" for fault in self.faults) + ")"
    return f"ProofReport(holds: bound {self.bound}, load {self.load}, ratio {self.ratio:.3f}" + (
        ", optimal)" if self.optimal else ")")


def _simulation(self: _core.Simulation) -> str:
    end = f", {len(self.errors)} errors: {self.errors[0]}" if self.errors else ""
    checked = ", numbers checked" if self.checked else ""
    return f"Simulation({self.cycles} cycles, {self.seconds:.6g} s, {self.messages} messages{checked}{end})"


def _tables(self: _core.Tables) -> str:
    entries = sum(len(self.entries(rank)) for rank in range(self.num_ranks))
    return f"Tables({self.num_ranks} ranks, {entries} entries, {self.elements} elements)"


def _tuning(self: _core.Tuning) -> str:
    rows = "".join(f"\n  {_core.format_bytes(r.first)} to {_core.format_bytes(r.last)}: {r.algorithm}, "
                   f"{r.seconds_first:.3g} to {r.seconds_last:.3g} s" for r in self.ranges)
    return f"Tuning({self.topology.name!r}:{rows})"


def _plan(self: Plan) -> str:
    rows = "".join(f"\n  {'any larger size' if i + 1 == len(self.schedules) else 'to ' + _core.format_bytes(s.max_bytes)}"
                   f": {s.schedule.algorithm}" for i, s in enumerate(self.schedules))
    return f"Plan({self.topology.name!r}:{rows})"


for kind, text in ((Schedule, _schedule), (_core.VerifyReport, _report), (_core.Violation, _violation),
                   (_core.Bound, _bound), (_core.ProofReport, _proof), (_core.Simulation, _simulation),
                   (_core.Tables, _tables), (_core.Tuning, _tuning), (Plan, _plan)):
    kind.__repr__ = text

_core.Bound.value = property(lambda self: Fraction(self._text), doc="In shard times, exact.")
_core.ProofReport.bound = property(lambda self: Fraction(self._bound), doc="What it proves, in shard times.")
_core.ProofReport.load = property(lambda self: Fraction(self._load), doc="Of the busiest link, in shard times.")
_core.Tuning.ranges = property(lambda self: [TunedRange(*row) for row in self._ranges], doc="Ascending, without gaps.")
_core.Tuning.candidates = property(
    lambda self: [Candidate(name, tuple(times), why) for name, times, why in self._candidates])
Plan.schedules = property(lambda self: [Sized(*row) for row in self._sized], doc="Ascending by size.")

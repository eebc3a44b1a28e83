# SPDX-License-Identifier: BSD-3-Clause
"""Carrying a plan out: gradients into buffers, buffers to the other ranks, in the plan's order."""
import threading
import time

import torch
import torch.distributed as dist

import multitree_torch

__all__ = ["Conductor"]


class Piece:
    """Numbers of a parameter's gradient that one transfer carries."""

    def __init__(self, transfer, memory, begin, count):
        self.transfer = transfer
        self.memory = memory  # of the transfer's buffer
        self.begin, self.count = begin, count  # in the gradient


class Conductor:
    """Gradients are given by give(), in any order, and are means over all ranks after wait(). A thread of its own
    starts the plan's transfers, in the same order at all ranks: of a serial plan each when the one before it is over, of
    others all that are ready. Collective: all ranks make one alike; it has a process group of its own.
    """

    def __init__(self, plan, model, group=None):
        self.plan = plan
        self.layers = plan.layers_in(model)
        self._transfers = plan.transfers()
        self.group = dist.new_group(dist.get_process_group_ranks(group or dist.group.WORLD))
        self._ranks = dist.get_world_size(self.group)
        self._rank = dist.get_rank(self.group)
        self._changed = threading.Condition()
        self._iteration = 0  # that gradients are given for
        self._began = None  # its backward pass
        self._missing = [0] * len(self._transfers)  # pieces that are to be given before a transfer starts
        self._over = [True] * len(self._transfers)
        self._watchers = []  # (transfers, whom to call once they are over)
        self._error = None
        self._closing = False
        self._make_buffers()
        self._thread = threading.Thread(target=self._run, name="multitree_plan", daemon=True)
        self._thread.start()

    def _memory(self, count, like):
        """Zeros, which transfers read and write in place where ranks share a host."""
        backend = self.group._get_backend(torch.device("cpu"))
        if like.device.type == "cpu" and backend.name() == "multitree":
            return multitree_torch.empty(count, dtype=like.dtype, group=self.group)
        return torch.zeros(count, dtype=like.dtype, device=like.device)

    def _make_buffers(self):
        parameters = [parameter for layer in self.layers for parameter in layer.parameters]
        kinds = {(parameter.dtype, parameter.device) for parameter in parameters}
        if len(kinds) != 1:
            raise ValueError(f"{self.plan.path}: expected parameters of one type on one device, found "
                             f"{', '.join(sorted(map(str, kinds)))}")
        self._buffers = []
        for transfer in self._transfers:
            count = -(-(transfer.end - transfer.begin) // self._ranks) * self._ranks
            self._buffers.append(self._buffers[transfer.scatter] if transfer.scatter is not None
                                 else self._memory(count, parameters[0]))
        self.pieces, at = {}, 0
        for parameter in parameters:
            self.pieces[parameter] = list(self._pieces(at, at + parameter.numel()))
            at += parameter.numel()
        self._all_pieces = [0] * len(self._transfers)
        for pieces in self.pieces.values():
            for piece in pieces:
                self._all_pieces[piece.transfer] += 1
        # What is complete when a parameter's gradient is: the last transfer that writes its buffer.
        self._completes = {t.scatter: number for number, t in enumerate(self._transfers) if t.scatter is not None}
        self._needs = []
        for layer in self.layers:
            carried = {piece.transfer for parameter in layer.parameters for piece in self.pieces[parameter]}
            self._needs.append(sorted(self._completes.get(number, number) for number in carried))

    def _pieces(self, begin, end):
        for number, transfer in enumerate(self._transfers):
            first, last = max(begin, transfer.begin), min(end, transfer.end)
            if transfer.scatter is None and first < last:
                memory = self._buffers[number][first - transfer.begin:last - transfer.begin]
                yield Piece(number, memory, first - begin, last - first)

    def begin(self):
        """A backward pass starts. The one before it was given wholly, and every layer of it was waited for."""
        with self._changed:
            self._check()
            self._missing = list(self._all_pieces)
            self._over = [False] * len(self._transfers)
            self._began = time.monotonic()
            self._iteration += 1
            self._changed.notify_all()

    def give(self, parameter, gradient):
        """The gradient of a parameter, once an iteration; None: zeros."""
        flat = None if gradient is None else gradient.detach().reshape(-1)
        for piece in self.pieces[parameter]:
            if flat is None:
                piece.memory.zero_()
            else:  # as DDP scales: before the sum
                torch.mul(flat[piece.begin:piece.begin + piece.count], 1.0 / self._ranks, out=piece.memory)
        with self._changed:
            for piece in self.pieces[parameter]:
                self._missing[piece.transfer] -= 1
            self._changed.notify_all()

    def wait(self, layer):
        """Until the gradients of a layer, by number, are means."""
        needs = range(len(self._transfers)) if self.plan.together else self._needs[layer]
        with self._changed:
            self._changed.wait_for(lambda: self._error or all(self._over[number] for number in needs))
            self._check()

    def when_over(self, layers, then):
        """Calls `then(None)` once the gradients of these layers are means, or `then(error)`; from any thread."""
        needs = set(range(len(self._transfers)) if self.plan.together else
                    (number for layer in layers for number in self._needs[layer]))
        with self._changed:
            self._watchers.append((needs, then))
        self._tell()

    def _tell(self):
        with self._changed:
            told = [entry for entry in self._watchers if self._error or all(self._over[number] for number in entry[0])]
            self._watchers = [entry for entry in self._watchers if entry not in told]
        for _, then in told:
            then(self._error)

    def mean(self, parameter):
        """After wait(): valid until the next begin()."""
        pieces = self.pieces[parameter]
        if len(pieces) == 1:
            return pieces[0].memory.view(parameter.shape)
        if not pieces:
            return torch.zeros_like(parameter)
        pieces = sorted(pieces, key=lambda piece: piece.begin)
        return torch.cat([piece.memory for piece in pieces]).view(parameter.shape)

    def close(self):
        """Ends the thread; of an iteration that was given wholly, once it has been sent."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._thread.join()

    def _check(self):
        if self._error:
            raise RuntimeError(f"{self.plan.path}: a transfer failed: {self._error}") from self._error

    def _run(self):
        played = 0
        try:
            while True:
                with self._changed:
                    self._changed.wait_for(lambda: self._closing or self._iteration != played)
                    if self._iteration == played:
                        return
                    played = self._iteration
                self._play_serial() if self.plan.order == "serial" else self._play_at_once()
        except Exception as error:  # told by whoever waits
            with self._changed:
                self._error = error
                self._changed.notify_all()
            self._tell()

    def _play_serial(self):
        for number, transfer in enumerate(self._transfers):
            self._await_gradients(number)
            time.sleep(max(0.0, self._began + transfer.hold - time.monotonic()))
            self._start(number).wait()
            self._finish(number)

    def _play_at_once(self):
        # As gradients become ready, which is the same order at all ranks.
        order = sorted(range(len(self._transfers)), key=lambda number: -self._transfers[number].first)
        started = {}
        for number in order:
            self._await_gradients(number)
            if self._transfers[number].scatter is not None:
                started[self._transfers[number].scatter].wait()
            started[number] = self._start(number)
        for number in reversed(order):  # front layers became ready last, and are needed first
            started[number].wait()
            self._finish(number)

    def _await_gradients(self, number):
        scatter = self._transfers[number].scatter
        with self._changed:
            self._changed.wait_for(lambda: self._closing or self._missing[number if scatter is None else scatter] == 0)
            if self._missing[number if scatter is None else scatter]:
                raise RuntimeError("closed before all gradients were given")

    def _start(self, number):
        buffer = self._buffers[number]
        share = len(buffer) // self._ranks
        shard = buffer[self._rank * share:(self._rank + 1) * share]
        collective = self._transfers[number].collective
        if collective == "reduce-scatter":
            return dist.reduce_scatter_tensor(shard, buffer, group=self.group, async_op=True)
        if collective == "allgather":
            return dist.all_gather_into_tensor(buffer, shard, group=self.group, async_op=True)
        return dist.all_reduce(buffer, group=self.group, async_op=True)

    def _finish(self, number):
        with self._changed:
            self._over[number] = True
            self._changed.notify_all()
        self._tell()

# SPDX-License-Identifier: BSD-3-Clause
"""Files of `multitree train plan`."""
import json

from multitree_torch.training.layers import layers_of

__all__ = ["Plan", "PlanError", "Transfer"]

SCHEMA = "multitree/iteration-plan/1"
ORDERS = ("serial", "preemptive", "overlapping")
COLLECTIVES = ("allreduce", "reduce-scatter", "allgather")


class PlanError(ValueError):
    """A plan that cannot be read, or is not one of this model."""


class Transfer:
    """A collective of a plan: numbers `begin` to `end` of the gradients, which lie layer behind layer."""

    def __init__(self, planned, begin, end, scatter):
        self.collective = planned["collective"]
        self.first, self.last = planned["layers"]
        self.hold = planned["hold"]
        self.begin, self.end = begin, end
        self.scatter = scatter  # of an all-gather: the number of the transfer whose shards it collects


class Plan:
    """What an iteration sends, by which policy, and in which order.

    path: a file of `multitree train plan`. Raises PlanError with the file's name and what was expected.
    """

    REMEDY = "plan for the file that Profile.write() makes of it"

    def __init__(self, path):
        self.path = str(path)
        try:
            with open(path, encoding="utf-8") as file:
                content = json.load(file)
        except OSError as error:
            raise PlanError(f"{self.path}: {error.strerror}; make it with multitree train plan -o") from None
        except ValueError as error:
            raise PlanError(f"{self.path}: expected JSON of multitree train plan, found: {error}") from None
        found = content.get("schema") if isinstance(content, dict) else None
        if found != SCHEMA:
            raise PlanError(f"{self.path}: expected a file of multitree train plan ({SCHEMA}), found {found!r}")
        try:
            self.policy, self.together = content["policy"], content["together"]
            self.order = content["order"]
            self.names = [layer["name"] for layer in content["model"]["layers"]]
            self._tensors = [layer["tensors"] for layer in content["model"]["layers"]]
            self._planned = content["transfers"]
            self.number_bytes = None
            self._check()
        except (KeyError, TypeError, IndexError) as error:
            raise PlanError(f"{self.path}: expected a plan as multitree train plan writes it, found none of "
                            f"{error}") from None

    def _check(self):
        if self.order not in ORDERS:
            raise PlanError(f"{self.path}: order: expected one of {', '.join(ORDERS)}, found {self.order!r}; this version "
                            "of multitree_torch may be older than the plan")
        for number, planned in enumerate(self._planned):
            first, last = planned["layers"]
            if planned["collective"] not in COLLECTIVES or not 0 <= first <= last < len(self.names):
                raise PlanError(f"{self.path}: transfers[{number}]: expected one of {', '.join(COLLECTIVES)} of layers "
                                f"0 to {len(self.names) - 1}, found {planned['collective']!r} of {first} to {last}")

    def layers_in(self, model):
        """The plan's layers in this model, in forward order. Raises PlanError where the plan is one of another."""
        layers, left = layers_of(model, self.names)
        found = []
        for name, tensors in zip(self.names, self._tensors):
            if name not in layers:
                raise PlanError(f"{self.path}: layer {name!r}: expected the name of a module of this model, found none"
                                f"; {self.REMEDY}")
            numbers = [parameter.numel() for parameter in layers[name].parameters]
            width = self.number_bytes or max(1, sum(tensors) // max(1, sum(numbers)))
            if [count * width for count in numbers] != tensors:
                raise PlanError(f"{self.path}: layer {name!r}: expected gradients of {tensors} bytes, found {numbers} "
                                f"numbers in this model; {self.REMEDY}")
            if numbers:
                self.number_bytes = width
            found.append(layers[name])
        if left:
            raise PlanError(f"{self.path}: expected all trainable parameters in the plan's layers, found "
                            f"{', '.join(left[:4])} in none; {self.REMEDY}")
        return found

    def transfers(self):
        """By number: which gradients each transfer carries. \\pre layers_in()"""
        begins = [0]
        for tensors in self._tensors:
            begins.append(begins[-1] + sum(tensors))
        left = [end - begin for begin, end in zip(begins, begins[1:])]
        made, open_scatters = [], []
        for number, planned in enumerate(self._planned):
            scatter = None
            if planned["collective"] == "allgather":
                key = (planned["layers"], planned["bytes"])
                scatter = next((t for t in open_scatters if self._key(t) == key), None)
                if scatter is None:
                    raise PlanError(f"{self.path}: transfers[{number}]: expected an all-gather behind a reduce-scatter "
                                    "of the same layers, found none")
                open_scatters.remove(scatter)
                begin, end = made[scatter].begin, made[scatter].end
            else:
                begin, end = self._take(number, planned, begins, left)
                if planned["collective"] == "reduce-scatter":
                    open_scatters.append(number)
            made.append(Transfer(planned, begin, end, scatter))
        if any(left) or open_scatters:
            raise PlanError(f"{self.path}: expected transfers of all gradients, some are missing")
        return made

    def _key(self, number):
        return self._planned[number]["layers"], self._planned[number]["bytes"]

    def _take(self, number, planned, begins, left):
        """What is left of its layers from the back on. What is left of a layer is its front."""
        first, last = planned["layers"]
        end, wanted = begins[last] + left[last], planned["bytes"]
        for layer in range(last, first - 1, -1):
            if wanted == 0 or (layer < last and left[layer] != begins[layer + 1] - begins[layer]):
                break
            taken = min(wanted, left[layer])
            left[layer] -= taken
            wanted -= taken
        if wanted:
            raise PlanError(f"{self.path}: transfers[{number}]: expected {planned['bytes']} bytes that are left of the "
                            f"layers {self.names[first]!r} to {self.names[last]!r}, found {wanted} fewer")
        width = self.number_bytes or 1
        # A policy's parts may end within a number, which then goes with the part before.
        return -(-(end - planned["bytes"]) // width), -(-end // width)

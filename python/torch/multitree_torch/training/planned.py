# SPDX-License-Identifier: BSD-3-Clause
"""Plans in a program: an optimizer whose steps wait for nothing, and a communication hook of DDP."""
import contextlib

import torch

from multitree_torch.training.conductor import Conductor
from multitree_torch.training.plans import Plan

__all__ = ["PlanState", "PlannedOptimizer", "plan_hook"]


def _plan_of(plan):
    return plan if isinstance(plan, Plan) else Plan(plan)


class PlannedOptimizer:
    """Trains a model by a plan of `multitree train plan`: gradients travel as the plan says, beside the backward pass
    and the next forward pass, and a layer steps when its turn in that forward pass comes.

        optimizer = PlannedOptimizer(model, "plan.json", lambda parameters: torch.optim.SGD(parameters, lr=0.1))
        for data in batches:
            loss(model(data)).backward()
            optimizer.step()
        optimizer.synchronize()            # before parameters are read: at the end, to evaluate, to save

    model: a plain module, alike on all ranks (not DDP). make: of a list of parameters, their optimizer; called for each
    layer. group: ranks that train together, default all. Collective. Gradients are means over the ranks; a parameter
    that got none counts as zeros. They are gone after the step, so none are clipped or read outside of `make`.
    """

    def __init__(self, model, plan, make, group=None):
        self._conductor = Conductor(_plan_of(plan), model, group)
        self._optimizers = [make(layer.parameters) if layer.parameters else None for layer in self._conductor.layers]
        self._layer_of = {parameter: number for number, layer in enumerate(self._conductor.layers)
                          for parameter in layer.parameters}
        self._left = {}  # parameters whose gradients this backward pass has not given yet
        self._due = [False] * len(self._conductor.layers)  # layers whose step is to come
        self._accumulate = False
        self._handles = [parameter.register_post_accumulate_grad_hook(self._on_gradient) for parameter in self._layer_of]
        for number, layer in enumerate(self._conductor.layers):
            self._handles.append(layer.module.register_forward_pre_hook(lambda *_, number=number: self._catch_up(number)))

    @property
    def param_groups(self):
        """Those of all layers, as learning rate schedules change them."""
        return [group for optimizer in self._optimizers if optimizer for group in optimizer.param_groups]

    @contextlib.contextmanager
    def no_sync(self):
        """Backward passes inside add to the gradients of the next one outside."""
        before, self._accumulate = self._accumulate, True
        try:
            yield
        finally:
            self._accumulate = before

    def zero_grad(self, set_to_none=True):
        """Forgets gradients that have not been given away, of no_sync()."""
        del set_to_none  # there are none after a step
        for parameter in self._layer_of:
            parameter.grad = None

    def step(self):
        """Behind the backward pass. Returns at once: each layer steps before its next forward pass."""
        if not self._left and not any(self._due):
            self._begin()
        for parameter in list(self._left):
            self._give(parameter)

    def synchronize(self):
        """Until all layers have stepped."""
        for number in range(len(self._due)):
            self._catch_up(number)

    def state_dict(self):
        """After synchronize(), which it calls: the optimizers' states by layer."""
        self.synchronize()
        return {layer.name: optimizer.state_dict()
                for layer, optimizer in zip(self._conductor.layers, self._optimizers) if optimizer}

    def load_state_dict(self, state):
        self.synchronize()
        for layer, optimizer in zip(self._conductor.layers, self._optimizers):
            if optimizer:
                optimizer.load_state_dict(state[layer.name])

    def close(self):
        """Synchronizes, and leaves the model as it was."""
        self.synchronize()
        for handle in self._handles:
            handle.remove()
        self._conductor.close()

    def _begin(self):
        self.synchronize()  # layers that had no forward pass since
        self._left = dict.fromkeys(self._layer_of)
        self._due = [True] * len(self._due)
        self._conductor.begin()

    def _on_gradient(self, parameter):
        if self._accumulate:
            return
        if not self._left:
            self._begin()
        if parameter in self._left:
            self._give(parameter)

    def _give(self, parameter):
        del self._left[parameter]
        self._conductor.give(parameter, parameter.grad)
        parameter.grad = None

    def _catch_up(self, number):
        """A layer's step, if it is due and the backward pass is over."""
        if not self._due[number] or self._left:
            return
        self._conductor.wait(number)
        self._due[number] = False
        optimizer = self._optimizers[number]
        if optimizer is None:
            return
        for parameter in self._conductor.layers[number].parameters:
            parameter.grad = self._conductor.mean(parameter)
        optimizer.step()
        for parameter in self._conductor.layers[number].parameters:
            parameter.grad = None


class PlanState:
    """What plan_hook() runs. network: the module inside DDP; plan: a file of `multitree train plan`. Collective."""

    def __init__(self, network, plan, group=None):
        self._conductor = Conductor(_plan_of(plan), network, group)
        self._left = 0
        self._buckets = []  # (bucket, its future, numbers of its layers)
        self._layer_of = {parameter: number for number, layer in enumerate(self._conductor.layers)
                          for parameter in layer.parameters}

    def take(self, bucket):
        """A bucket of this rank's gradients; the future of their means."""
        if not self._left:
            self._left = len(self._layer_of)
            self._conductor.begin()
        parameters = bucket.parameters()
        for parameter, gradient in zip(parameters, bucket.gradients()):
            self._conductor.give(parameter, gradient)
        self._left -= len(parameters)
        future = torch.futures.Future()
        self._conductor.when_over({self._layer_of[parameter] for parameter in parameters},
                                  lambda error: self._finish(bucket, future, error))
        return future

    def _finish(self, bucket, future, error):
        if error is not None:
            future.set_exception(error)
            return
        for parameter, gradient in zip(bucket.parameters(), bucket.gradients()):
            gradient.copy_(self._conductor.mean(parameter))
        future.set_result(bucket.buffer())

    def close(self):
        self._conductor.close()


def plan_hook(state, bucket):
    """A communication hook of DistributedDataParallel that sends what a plan says, in its order and sizes:

        model = DistributedDataParallel(network)
        model.register_comm_hook(PlanState(network, "plan.json"), plan_hook)

    Transfers are the plan's, whatever DDP's buckets are. As ever with DDP, they are over when backward() returns; for
    what a plan does beside the next forward pass there is PlannedOptimizer.
    """
    return state.take(bucket)

# SPDX-License-Identifier: BSD-3-Clause
"""Measuring the layers of a model, for `multitree train`."""
import statistics
import time

import torch

from multitree_torch.training.layers import ROOT, layers_of

__all__ = ["Profile"]


class Profile:
    """Times of each layer's forward and backward pass, while the program trains as ever:

        with Profile(model) as profile:
            for data in batches:
                loss(model(data)).backward()
        profile.write("model.csv")                      # multitree train plan --model model.csv ...

    A layer is a module with trainable parameters of its own; where its forward pass is never called (parts of
    nn.MultiheadAttention), the module around it. To its forward pass counts all that is computed until the next layer
    begins; its backward pass ends when the last of its gradients is there. The first iteration warms up. Layers are in
    the order of their first forward pass. With parameters on a device each step is waited for.
    """

    def __init__(self, model):
        self._model = model
        self._on_device = any(parameter.device.type != "cpu" for parameter in model.parameters())
        self._layers = {}  # by name, in forward order; known after the first iteration
        self._start = self._end = None
        self._begins, self._ready = {}, {}  # of modules, by name; of parameters
        self._forward, self._backward = {}, {}
        self._handles = []

    def __enter__(self):
        self._handles.append(self._model.register_forward_hook(self._after_forward))
        for path, module in self._model.named_modules():
            begin = self._begin_all if path == "" else lambda *_, path=path: self._begin(path)
            self._handles.append(module.register_forward_pre_hook(begin))
        for parameter in self._model.parameters():
            if parameter.requires_grad:
                self._handles.append(parameter.register_post_accumulate_grad_hook(self._note))
        return self

    def __exit__(self, *_):
        self._close()
        for handle in self._handles:
            handle.remove()
        self._handles.clear()

    def _now(self):
        if self._on_device:
            torch.accelerator.synchronize()
        return time.perf_counter()

    def _begin_all(self, *_):
        self._close()
        self._begins, self._ready, self._end = {}, {}, None
        self._begin(ROOT)

    def _begin(self, name):
        if self._begins or name == ROOT:  # else a part of the model by itself
            self._begins.setdefault(name, self._now())

    def _after_forward(self, *_):
        self._end = self._now()

    def _note(self, parameter):
        self._ready[parameter] = self._now()

    def _close(self):
        """An iteration is over."""
        if self._end is None or not self._ready:
            return
        if not self._layers:
            layers, _ = layers_of(self._model, sorted(self._begins, key=self._begins.get))
            self._layers = {name: layer for name, layer in layers.items() if layer.parameters}
        else:
            self._keep_forward()
            self._keep_backward()
        self._end = None

    def _keep_forward(self):
        names = [name for name in self._layers if name in self._begins]
        begin = self._begins[ROOT]  # what comes before the first layer is of the first
        for name, end in zip(names, [self._begins[name] for name in names[1:]] + [self._end]):
            self._forward.setdefault(name, []).append(max(0.0, end - begin))
            begin = max(begin, end)

    def _keep_backward(self):
        at = self._end
        for name, layer in reversed(self._layers.items()):
            ready = max([at] + [self._ready[p] for p in layer.parameters if p in self._ready])
            self._backward.setdefault(name, []).append(ready - at)
            at = ready

    def rows(self):
        """(name, numbers of each of its tensors, seconds forward, seconds backward) by layer."""
        if not self._backward:
            raise ValueError("Profile: expected two iterations or more, each a forward and a backward pass of the "
                             "model, found fewer")
        return [(name, [parameter.numel() for parameter in layer.parameters],
                 statistics.median(self._forward.get(name, [0.0])), statistics.median(self._backward[name]))
                for name, layer in self._layers.items()]

    def write(self, path):
        """The model file that `multitree train` reads."""
        with open(path, "w", encoding="utf-8") as file:
            file.write("name,params,forward,backward\n")
            for name, numbers, forward, backward in self.rows():
                tensors = "+".join(str(count) for count in numbers)
                file.write(f"{name},{tensors},{forward * 1e6:.3f}us,{backward * 1e6:.3f}us\n")

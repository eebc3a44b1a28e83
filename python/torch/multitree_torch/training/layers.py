# SPDX-License-Identifier: BSD-3-Clause
"""The layers of a model, as plans and model files name them."""

__all__ = ["ROOT", "Layer", "layers_of"]

ROOT = "model"  # the name of the model itself


class Layer:
    """Parameters that a plan treats as one, and the module before whose forward pass they are needed."""

    def __init__(self, name, module):
        self.name, self.module, self.parameters = name, module, []


def layers_of(model, names):
    """The layers of these names, by name, and the names of trainable parameters that belong to none.

    A name is that of a module, or ROOT. A parameter belongs to the innermost named module around it; one that several
    modules share, to the first.
    """
    modules = dict(model.named_modules())
    layers = {name: Layer(name, modules["" if name == ROOT else name]) for name in names
              if name in modules or name == ROOT}
    seen, left = set(), []
    for path, module in modules.items():
        for key, parameter in module.named_parameters(recurse=False):
            if not parameter.requires_grad or parameter in seen:
                continue
            seen.add(parameter)
            around = path
            while around and around not in layers:
                around = around.rpartition(".")[0]
            layer = layers.get(around or ROOT)
            if layer is None:
                left.append(f"{path}.{key}" if path else key)
            else:
                layer.parameters.append(parameter)
    return layers, left

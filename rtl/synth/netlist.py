# SPDX-License-Identifier: BSD-3-Clause
"""What a netlist of yosys (write_json) consists of: cells, flip-flops, memories, longest path."""
import json
from collections import Counter


def number(text):
    return int(text, 2) if isinstance(text, str) else int(text)


def is_flip_flop(kind):
    return "DFF" in kind


def load(path):
    with open(path) as file:
        return json.load(file)["modules"]


def memories(module):
    """(name, bits, read ports, write ports) of each memory."""
    for name, cell in module["cells"].items():
        if cell["type"] == "$mem_v2":
            p = cell["parameters"]
            yield (name, number(p["WIDTH"]) * number(p["SIZE"]), number(p["RD_PORTS"]),
                   number(p["WR_PORTS"]))


def longest_path(module):
    """Cells on the longest way from a register or input to a register or output. A memory that is
    read counts as one, from the address to the word; what is written ends a way."""
    driver, inputs = {}, []
    for cell in module["cells"].values():
        kind, wires = cell["type"], cell["connections"]
        if is_flip_flop(kind):
            continue
        if kind == "$mem_v2":
            ports = number(cell["parameters"]["RD_PORTS"])
            if ports == 0:
                continue
            width = len(wires["RD_DATA"]) // ports
            bits = len(wires["RD_ADDR"]) // ports
            parts = [(wires["RD_DATA"][i * width:(i + 1) * width],
                      wires["RD_ADDR"][i * bits:(i + 1) * bits]) for i in range(ports)]
        else:
            out = [b for p, d in cell["port_directions"].items() if d == "output" for b in wires[p]]
            into = [b for p, d in cell["port_directions"].items() if d == "input" for b in wires[p]]
            parts = [(out, into)]
        for out, into in parts:
            inputs.append([b for b in into if isinstance(b, int)])
            for bit in out:
                if isinstance(bit, int):
                    driver[bit] = len(inputs) - 1
    before = [{driver[b] for b in bits if b in driver} for bits in inputs]
    behind = [[] for _ in before]
    for node, nodes in enumerate(before):
        for other in nodes:
            behind[other].append(node)
    open_inputs = [len(nodes) for nodes in before]
    depth = [1] * len(before)
    ready = [node for node, count in enumerate(open_inputs) if count == 0]
    for node in ready:
        for other in behind[node]:
            depth[other] = max(depth[other], depth[node] + 1)
            open_inputs[other] -= 1
            if open_inputs[other] == 0:
                ready.append(other)
    if len(ready) != len(before):
        raise ValueError("a combinational loop")
    return max(depth, default=0)


def figures(module):
    kinds = Counter(cell["type"] for cell in module["cells"].values())
    mems = list(memories(module))
    return {
        "cells": sum(n for kind, n in kinds.items() if kind != "$mem_v2"),
        "flip_flops": sum(n for kind, n in kinds.items() if is_flip_flop(kind)),
        "memories": len(mems),
        "memory_bits": sum(m[1] for m in mems),
        "read_ports": sum(m[2] for m in mems),
        "write_ports": sum(m[3] for m in mems),
        "path": longest_path(module),
    }


def by_module(modules, top):
    """{module: (instances, own cells, own flip-flops)} of a hierarchy; parameters left out."""
    result = Counter(), Counter(), Counter()

    def visit(name):
        module = modules[name]
        short = next((p for p in reversed(name.split("\\")) if p.startswith("mt_")), name)
        result[0][short] += 1
        for cell in module["cells"].values():
            if cell["type"] in modules:
                visit(cell["type"])
            elif cell["type"] != "$mem_v2":
                result[1][short] += 1
                result[2][short] += is_flip_flop(cell["type"])

    visit(top)
    return {m: (n, result[1][m], result[2][m]) for m, n in result[0].items()}

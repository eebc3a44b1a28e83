# SPDX-License-Identifier: BSD-3-Clause
"""Plans by size in a folder, as load_plan.py beside them takes them to MSCCL++, which a module of a few lines stands for."""
import importlib.util
import json
import os
import pathlib
import sys
import types

MIB = 1 << 20


class Algorithm:
    def __init__(self, id, execution_plan):  # pylint: disable=redefined-builtin
        self.name, (self.path, self.rank) = id, execution_plan


class Builder:
    added, selector = [], None

    def add_algorithm_builder(self, algorithm):
        Builder.added.append(algorithm)

    def set_algorithm_selector(self, selector):
        Builder.selector = staticmethod(selector)


def stand_in():
    """The part of MSCCL++'s Python API that the loader uses."""
    module = types.ModuleType("mscclpp")
    module.Algorithm, module.ExecutionPlan = Algorithm, lambda path, rank: (path, rank)
    module.ext = types.ModuleType("mscclpp.ext")
    module.ext.AlgorithmCollectionBuilder = Builder
    sys.modules.update({"mscclpp": module, "mscclpp.ext": module.ext})


def loaded(folder):
    spec = importlib.util.spec_from_file_location("load_plan", os.path.join(folder, "load_plan.py"))
    module = sys.modules["load_plan"] = importlib.util.module_from_spec(spec)  # dataclasses look there
    spec.loader.exec_module(module)
    return module


def request(size, collective="allreduce", ranks=16, in_place=True, **more):
    input_buffer = 1 << 30
    return types.SimpleNamespace(collective=collective, message_size=size, world_size=ranks, n_ranks_per_node=8, rank=3,
                                 input_buffer=input_buffer, output_buffer=input_buffer if in_place else 1 << 40, **more)


def problems(folder, program, execute):
    """What is wrong with the plans that `program` makes of a tuned plan for two boxes."""
    stand_in()
    tuned, plans = os.path.join(folder, "tuned.json"), os.path.join(folder, "plans", "")
    made = program("tune", "-t", "dgx-a100:2", "-a", "recursive-doubling,multitree,ring", "-b", "1K", "-e", "64M", "-o", tuned)
    made = made if made.returncode else program("export", "mscclpp", "-s", tuned, "-o", plans)
    if made.returncode:
        yield made.stderr
        return
    loader = loaded(plans)
    found = loader.plans()
    if len(found) < 2 or len({plan.name for plan in found}) != len(found):
        yield f"expected several plans with names of their own, got {found}"
    for plan in found:
        for flags in ([], ["--in-place"]):
            accepted, said = execute(str(plan.path), *flags)
            if not accepted:
                yield said
    if len(loader.register(3)) != len(Builder.added):
        yield "expected every plan to be added"
    algorithms = {"allreduce": {algorithm.name: algorithm for algorithm in Builder.added}}
    for size in (64 * found[0].units * 16, 32 * MIB):
        for in_place in (True, False):
            chosen = Builder.selector(algorithms, request(size, in_place=in_place))
            plan = next((p for p in found if chosen and p.name == chosen.name), None)
            if not plan or not plan.least <= size <= plan.most or chosen.rank != 3:
                yield f"expected the plan for {size} bytes, got {plan}"
    for other in (request(32 * MIB + 4), request(32 * MIB, "broadcast"), request(32 * MIB, ranks=8)):
        if Builder.selector(algorithms, other) is not None:
            yield f"expected no plan for {other}"
    again = pathlib.Path(plans, "again.json")
    text = json.loads(found[-1].path.read_text(encoding="utf-8"))
    again.write_text(json.dumps({**text, "name": "again"}), encoding="utf-8")
    try:
        loader.plans()
        yield "expected two plans for the same sizes to be refused"
    except ValueError as error:
        if "again.json" not in str(error):
            yield f"expected again.json to be named, got {error}"

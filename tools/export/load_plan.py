# SPDX-License-Identifier: BSD-3-Clause
"""Takes the plans in the folder of this file to MSCCL++, chosen by size. Written by `multitree export mscclpp -o FOLDER/`.

For NCCL's API, as torch.distributed uses it (with libmscclpp_nccl.so preloaded), before the communicator is made:

    import load_plan
    load_plan.register(rank)

For a communicator and an executor of one's own:

    algorithms = load_plan.load(rank)
    plan = load_plan.choose("allreduce", size, world_size, ranks_per_host, in_place=True)
    if plan: algorithms[plan.name].execute(...)

A plan sums, whatever operator is asked for. Sizes are of the whole vector: of an all-gather of what all ranks receive, of
a reduce-scatter of what a rank puts in. Buffers have to lie at the same place of their allocation on all ranks.
"""
import dataclasses
import json
import pathlib

FOLDER = pathlib.Path(__file__).resolve().parent
ALIGNMENT = 16  # bytes, that MSCCL++ cuts buffers by
ROOTLESS = ("allreduce", "allgather", "reducescatter")  # a request doesn't say which rank is the root


@dataclasses.dataclass(frozen=True)
class Plan:
    path: pathlib.Path
    name: str
    collective: str
    buffers: str  # inplace, outofplace or either
    world_size: int
    ranks_per_host: int
    units: int  # that the vector is cut into
    least: int  # bytes
    most: int

    def serves(self, collective, size, world_size, ranks_per_host, in_place):
        return (self.collective == collective and self.world_size == world_size
                and (self.ranks_per_host == ranks_per_host or self.ranks_per_host == world_size >= ranks_per_host)
                and self.least <= size <= self.most and size % (self.units * ALIGNMENT) == 0
                and self.buffers in ("either", "inplace" if in_place else "outofplace"))


def read(path):
    """What a file says of its plan; None if it is no plan of multitree."""
    text = json.loads(path.read_text(encoding="utf-8"))
    ours = text.get("multitree") if isinstance(text, dict) else None
    if not ours or "gpus" not in text:
        return None
    return Plan(path, text["name"], text["collective"], ours["buffers"], len(text["gpus"]), ours["ranks_per_host"],
                ours["units"], text["min_message_size"], text["max_message_size"])


def plans(folder=FOLDER):
    """Those of the folder, ascending by size. Two for the same call are an error: one is left from an earlier export."""
    found = sorted(filter(None, map(read, sorted(pathlib.Path(folder).glob("*.json")))),
                   key=lambda plan: (plan.collective, plan.buffers, plan.world_size, plan.ranks_per_host, plan.least))
    for one, other in zip(found, found[1:]):
        same = dataclasses.replace(other, path=one.path, name=one.name, units=one.units, least=one.least, most=one.most)
        if same == one and other.least <= one.most:
            raise ValueError(f"{other.path}: expected sizes beyond those of {one.path}, up to {one.most} bytes, got "
                             f"from {other.least} on; remove the file that is from an earlier export")
    return found


def choose(collective, size, world_size, ranks_per_host, in_place, among=None):
    """The plan for a call, or None."""
    for plan in plans() if among is None else among:
        if plan.serves(collective, size, world_size, ranks_per_host, in_place):
            return plan
    return None


def load(rank, among=None):
    """An mscclpp.Algorithm for each plan, by name."""
    import mscclpp
    return {plan.name: mscclpp.Algorithm(id=plan.name, execution_plan=mscclpp.ExecutionPlan(str(plan.path), rank))
            for plan in (plans() if among is None else among)}


def is_in_place(request):
    """Whether input and output are the same memory, as NCCL understands it."""
    shift = request.output_buffer - request.input_buffer
    if request.collective == "allgather":
        return shift == -request.rank * request.message_size
    if request.collective == "reducescatter":
        return shift == request.rank * (request.message_size // request.world_size)
    return shift == 0


def selector(among):
    """What MSCCL++ asks for each call; where it says None, MSCCL++ chooses among its own."""
    def select(algorithms, request):
        if request.collective not in ROOTLESS:
            return None
        size = request.message_size * (request.world_size if request.collective == "allgather" else 1)
        plan = choose(request.collective, size, request.world_size, request.n_ranks_per_node, is_in_place(request), among)
        return algorithms[request.collective][plan.name] if plan else None
    return select


def register(rank):
    """Adds the plans to those that MSCCL++'s communicators know, and has them chosen. Returns them.

    They have no constraint, so that MSCCL++'s own selector leaves them alone: it knows no sizes that a plan can't cut.
    """
    import mscclpp.ext
    among = plans()
    builder = mscclpp.ext.AlgorithmCollectionBuilder()
    for algorithm in load(rank, among).values():
        builder.add_algorithm_builder(algorithm)
    builder.set_algorithm_selector(selector(among))
    return among

# SPDX-License-Identifier: BSD-3-Clause
"""Plans, profiles and rounds: what trains by them ends where plain training ends, to the last bit in one host's memory."""
import os
import pathlib
import subprocess
import tempfile

import ranks
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from multitree_torch import training

STEPS = 4
PROGRAM = os.environ.get("MULTITREE_PROGRAM", "multitree")
# With parts of layers, one after the other, halves before and after, held back.
POLICIES = ("priority", "priority?part=40KiB", "bytescheduler", "dear", "horovod?cycle=1ms",
            "priority?order=overlapping&chunk=40KiB")


class Network(nn.Module):
    """A parameter of its own, parts whose forward pass is never called (of the attention), and one that is shared."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(24))
        self.first = nn.Linear(24, 60)
        self.attention = nn.TransformerEncoderLayer(60, 3, 40, dropout=0.0, batch_first=True)
        self.last = nn.Linear(60, 24)
        self.again = self.last

    def forward(self, data):
        hidden = self.attention(torch.tanh(self.first(data * self.scale)))
        return self.again(torch.tanh(self.last(hidden)) @ self.first.weight.t())


def model():
    torch.manual_seed(1)
    return Network().double()


def loss_of(network, generator):
    data = torch.randn(4, 3, 24, dtype=torch.float64, generator=generator)
    return ((network(data) - data) ** 2).mean()


def optimizer_of(parameters):
    return torch.optim.SGD(parameters, lr=0.05, momentum=0.9)


def train(rank, size, way, plan, path):
    network = trained = model()
    if way == "optimizer":
        optimizer = closing = training.PlannedOptimizer(network, plan, optimizer_of)
    else:
        trained = DistributedDataParallel(network, bucket_cap_mb=0.05)
        optimizer = optimizer_of(network.parameters())
        if way == "hook":
            closing = training.PlanState(network, plan)
            trained.register_comm_hook(closing, training.plan_hook)
    generator = torch.Generator().manual_seed(10 + rank)
    losses = []
    for _ in range(STEPS):
        loss = loss_of(trained, generator)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total = loss.detach().clone()
        dist.all_reduce(total)
        losses.append(total.item())
    if way != "ddp":
        closing.close()
    if rank == 0:
        torch.save((losses, [parameter.detach() for parameter in network.parameters()]), path)


def profile(path):
    network = model()
    with training.Profile(network) as found:
        for _ in range(3):
            loss_of(network, torch.Generator().manual_seed(3)).backward()
    rows = found.rows()
    assert [row[0] for row in rows][:3] == ["model", "first", "attention.self_attn"], rows
    assert dict((row[0], row[1]) for row in rows)["attention.self_attn"] == [3 * 60 * 60, 3 * 60, 60 * 60, 60], rows
    assert sum(sum(row[1]) for row in rows) == sum(parameter.numel() for parameter in network.parameters())
    assert all(row[2] >= 0 and row[3] >= 0 for row in rows) and sum(row[3] for row in rows) > 0
    found.write(path)


def plans(folder):
    table, plan, out = folder / "model.csv", folder / "plan.json", folder / "out"
    profile(table)
    for size in (2, 3):
        ranks.run(train, size, "ddp", None, out, backend="gloo")
        gloo = torch.load(out)
        ranks.run(train, size, "ddp", None, out)
        plain = torch.load(out)
        for policy in POLICIES if size == 2 else POLICIES[1:4]:
            subprocess.run([PROGRAM, "train", "plan", "-t", "ring:4?bw=0.1GB/s", "--model", table, "-p", policy, "-o", plan],
                           check=True, capture_output=True)
            for way in ("optimizer", "hook"):
                ranks.run(train, size, way, str(plan), out)
                losses, parameters = torch.load(out)
                assert losses == plain[0], f"{policy}, {way}: {losses}, DDP: {plain[0]}"
                assert all(torch.equal(a, b) for a, b in zip(parameters, plain[1])), f"{policy}, {way}"
                gap = max(abs(a - b) / abs(b) for a, b in zip(losses, gloo[0]))
                assert losses[-1] < losses[0] and gap <= 1e-6, f"{policy}, {way}: {losses}, Gloo: {gloo[0]}"
            print(f"{policy}, {size} ranks: as DDP, to the last bit", flush=True)


def wrong_plans(rank, size, folder):
    del rank, size
    other = nn.Linear(3, 3)
    (folder / "text").write_text("a\n")
    (folder / "list").write_text("[]\n")
    for path, network, words in ((folder / "none", other, "multitree train plan -o"), (folder / "text", other, "JSON"),
                                 (folder / "list", other, "iteration-plan/1"), (folder / "plan.json", other, "'model'"),
                                 (folder / "plan.json", model().attention, "Profile.write()")):
        try:
            training.PlannedOptimizer(network, path, optimizer_of)
        except training.PlanError as error:
            assert words in str(error) and str(path) in str(error), f"expected {words!r}, found: {error}"
            continue
        raise AssertionError(f"{path}: expected a PlanError, found none")


def accumulated(rank, size, plan):
    """Two backward passes before a step give what one of both gives; a state is saved, and loaded again."""
    results = []
    for parts in (1, 2):
        network = model()
        optimizer = training.PlannedOptimizer(network, plan, optimizer_of)
        for step in range(3):
            losses = [loss_of(network, torch.Generator().manual_seed(100 * step + 10 * rank + i)) for i in range(2)]
            if parts == 1:
                sum(losses).backward()
            else:
                with optimizer.no_sync():
                    losses[0].backward()
                losses[1].backward()
            optimizer.step()
            optimizer.load_state_dict(optimizer.state_dict())
            assert len(optimizer.param_groups) == len(optimizer.state_dict())
        optimizer.close()
        results.append(torch.cat([parameter.detach().reshape(-1) for parameter in network.parameters()]))
    assert torch.allclose(results[0], results[1], rtol=1e-12, atol=1e-12)


def in_rounds(rank, size, kind, every, rate, momentum):
    """Against the definition, carried out for all ranks in one process."""
    beside = kind is training.CoCoD
    network = model()
    inner = torch.optim.SGD(network.parameters(), lr=0.05)
    optimizer = kind(network, inner, every=every, **({} if beside else {"rate": rate, "momentum": momentum}))
    generator = torch.Generator().manual_seed(10 + rank)
    for _ in range(7):
        optimizer.zero_grad()
        loss_of(network, generator).backward()
        optimizer.step()
    optimizer.finish()
    expected = reference(size, every, beside, rate, momentum)
    found = nn.utils.parameters_to_vector(network.parameters()).detach()
    assert torch.allclose(found, expected, rtol=1e-11, atol=1e-12), (kind, (found - expected).abs().max())


def reference(size, every, beside, rate, momentum):
    networks = [model() for _ in range(size)]
    generators = [torch.Generator().manual_seed(10 + rank) for rank in range(size)]

    def vector(network):
        return nn.utils.parameters_to_vector(network.parameters()).detach().clone()

    agreed, velocity, left = vector(networks[0]), 0.0, None

    def take():
        nonlocal agreed, velocity, left
        if left is None:
            return
        mean = sum(agreed - one for one in left) / size
        velocity = momentum * velocity + mean
        agreed = agreed - rate * (mean + momentum * velocity)
        for network, one in zip(networks, left):
            nn.utils.vector_to_parameters(agreed + (vector(network) - one if beside else 0), network.parameters())
        left = None

    for step in range(1, 8):
        for network, generator in zip(networks, generators):
            optimizer = torch.optim.SGD(network.parameters(), lr=0.05)
            loss_of(network, generator).backward()
            optimizer.step()
            optimizer.zero_grad()
        if step % every == 0:
            take()
            left = [vector(network) for network in networks]
            if not beside:
                take()
    take()
    left = [vector(network) for network in networks]
    take()
    return agreed


def rounds(rank, size):
    in_rounds(rank, size, training.DiLoCo, 3, 0.7, 0.9)
    in_rounds(rank, size, training.DiLoCo, 1, 1.0, 0.0)  # every step: the mean of all gradients
    in_rounds(rank, size, training.CoCoD, 2, 1.0, 0.0)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        plans(folder)
        ranks.run(wrong_plans, 1, folder)
        ranks.run(accumulated, 2, str(folder / "plan.json"))
        ranks.run(rounds, 2)
        print("as expected")


if __name__ == "__main__":
    main()

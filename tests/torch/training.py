# SPDX-License-Identifier: BSD-3-Clause
"""Small models trained with DDP, FSDP2 and ZeRO-1: the losses are those of Gloo."""
import os
import tempfile

import ranks
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel

STEPS = 6


def model():
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(32, 200), nn.Tanh(), nn.Linear(200, 200), nn.Tanh(), nn.Linear(200, 8)).double()


def losses(way, rank, device="cpu"):
    network = model().to(device)
    if way == "fsdp2":
        mesh = dist.device_mesh.init_device_mesh(device, (dist.get_world_size(),))
        for layer in network:
            if isinstance(layer, nn.Linear):
                fully_shard(layer, mesh=mesh)
        fully_shard(network, mesh=mesh)
    else:
        network = DistributedDataParallel(network, bucket_cap_mb=0.1)
    if way == "zero1":
        optimizer = ZeroRedundancyOptimizer(network.parameters(), torch.optim.Adam, lr=1e-2)
    else:
        optimizer = torch.optim.Adam(network.parameters(), lr=1e-2)
    generator = torch.Generator().manual_seed(10 + rank)
    found = []
    for _ in range(STEPS):
        data = torch.randn(16, 32, dtype=torch.float64, generator=generator).to(device)
        loss = ((network(data) - data[:, :8]) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total = loss.detach().clone()
        dist.all_reduce(total)
        found.append(total.item())
    return found


def train(rank, size, way, path):
    found = losses(way, rank)
    if rank == 0:
        torch.save(found, path)


def compare(function, sizes):
    """function(rank, size, way, path) trains and writes rank 0's losses there."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "losses")
        for size in sizes:
            for way in ("ddp", "zero1", "fsdp2"):
                curves = []
                for backend in ("gloo", "multitree"):
                    ranks.run(function, size, way, path, backend=backend)
                    curves.append(torch.load(path))
                gap = max(abs(a - b) / abs(a) for a, b in zip(*curves))
                assert curves[0][-1] < curves[0][0] and gap <= 1e-6, f"{way}, {size} ranks: {curves}"
                print(f"{way}, {size} ranks: losses within {gap:.1e} of Gloo's", flush=True)


if __name__ == "__main__":
    compare(train, (2, 4))

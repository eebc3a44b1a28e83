#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Gloo and multitree in turn: an all-reduce alone, and iterations of DDP. Prints medians and their ratio.

usage: iteration.py [--ranks 2] [--rounds 5] [--what allreduce,mlp] [--device cuda]     (PYTHONPATH has multitree_torch)
Under torchrun (or its variables) it is one rank of the job that these name.
"""
import argparse
import os
import statistics
import tempfile
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

import multitree_torch  # noqa: F401 (makes the backend known where the package is not installed)
from torch import nn
from torch.nn.parallel import DistributedDataParallel

BACKENDS = ("gloo", "multitree")
ITERATIONS = 3


def mlp():
    """8 MiB of parameters."""
    return nn.Sequential(nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 1024)), (16, 1024)


def transformer():
    """About 109 MB of parameters."""
    layer = nn.TransformerEncoderLayer(768, 12, 3072, batch_first=True, dropout=0.0)
    return nn.TransformerEncoder(layer, 4, enable_nested_tensor=False), (1, 16, 768)


MODELS = {"mlp": mlp, "transformer": transformer}


def all_reduce(group, bytes_):
    tensor = torch.ones(bytes_ // 4)

    def step():
        dist.all_reduce(tensor, group=group)
        tensor.fill_(1.0)
    return step


def iteration(group, name):
    torch.manual_seed(0)
    network, shape = MODELS[name]()
    network = DistributedDataParallel(network, process_group=group)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.01)
    data = torch.randn(shape)

    def step():
        optimizer.zero_grad()
        network(data).square().mean().backward()
        optimizer.step()
    return step


def measure(rounds, steps):
    """Seconds of a step by backend, median of interleaved rounds."""
    times = {backend: [] for backend in steps}
    for number in range(rounds + 1):
        for backend, step in steps.items():
            dist.barrier()
            start = time.perf_counter()
            for _ in range(ITERATIONS):
                step()
            if torch.cuda.is_initialized():
                torch.cuda.synchronize()
            if number:  # the first warms up
                times[backend].append((time.perf_counter() - start) / ITERATIONS)
    return {backend: statistics.median(found) for backend, found in times.items()}


def rank_main(rank, ranks, path, arguments):
    torch.set_num_threads(1)
    if arguments.device == "cuda":
        torch.cuda.set_device(rank % torch.cuda.device_count())
    torch.set_default_device(arguments.device)
    if path:
        dist.init_process_group("gloo", store=dist.FileStore(path, ranks), rank=rank, world_size=ranks)
    else:
        dist.init_process_group("gloo")
    groups = {backend: dist.new_group(backend=backend) for backend in BACKENDS}
    for what in arguments.what.split(","):
        cells = [(f"all-reduce {size >> 10} KiB", lambda g, s=size: all_reduce(g, s)) for size in
                 (1 << 12, 1 << 16, 1 << 20, 1 << 23, 1 << 25)] if what == "allreduce" else \
                [(f"DDP {what}", lambda g, w=what: iteration(g, w))]
        for title, make in cells:
            found = measure(arguments.rounds, {name: make(group) for name, group in groups.items()})
            if dist.get_rank() == 0:
                print(f"{title}: Gloo {found['gloo'] * 1e3:.3f} ms, multitree {found['multitree'] * 1e3:.3f} ms, "
                      f"ratio {found['gloo'] / found['multitree']:.2f}", flush=True)
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--what", default="allreduce,mlp")
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    arguments = parser.parse_args()
    if "RANK" in os.environ:
        rank_main(0, 0, None, arguments)
        return
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(rank_main, (arguments.ranks, os.path.join(folder, "store"), arguments), nprocs=arguments.ranks)


if __name__ == "__main__":
    main()

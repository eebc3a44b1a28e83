# SPDX-License-Identifier: BSD-3-Clause
"""Tensors of CUDA: what tests/torch/collectives.py and training.py do, on GPUs; and the order of streams. With fewer
GPUs than ranks these share them. Skips (77) without a GPU.

usage: on_gpu.py [1|2|3 ...]     numbers of ranks (1 2 3)
"""
import gc
import sys

import collectives
import ranks
import torch
import torch.distributed as dist
import training

import multitree_torch

LENGTH = 50_000
ROUNDS = 60


def on_own_device(rank):
    torch.cuda.set_device(rank % torch.cuda.device_count())
    torch.set_default_device("cuda")


def busy(stream):
    """Work that keeps the stream from coming to what follows."""
    with torch.cuda.stream(stream):
        torch.cuda._sleep(20_000_000)


def order_of_streams(rank, size):
    """Inputs are written late on one stream, results are read on another; nothing else waits."""
    total = size * (size - 1) / 2
    writer, reader = torch.cuda.Stream(), torch.cuda.Stream()
    for stream in (torch.cuda.default_stream(), writer):
        tensor = torch.full((LENGTH,), -1.0)
        torch.cuda.synchronize()
        busy(stream)
        with torch.cuda.stream(stream):
            tensor.fill_(float(rank))
            work = dist.all_reduce(tensor, async_op=True)
        with torch.cuda.stream(reader):
            work.wait()
            doubled = tensor * 2
        torch.cuda.synchronize()
        assert (doubled == 2 * total).all(), f"stream {stream}: {doubled[:4]}"


def memory_is_kept(rank, size):
    """Inputs that the program has dropped are not given to others before the call has read them."""
    results = []
    for number in range(ROUNDS):
        output = torch.empty(LENGTH * size)
        work = dist.all_gather_into_tensor(output, torch.full((LENGTH,), float(rank + number)), async_op=True)
        results.append((number, work, output))
        for _ in range(3):
            torch.full((LENGTH,), -5.0)  # whatever is free is written at once
    gc.collect()
    for number, work, output in results:
        work.wait()
        for other in range(size):
            part = output[other * LENGTH:(other + 1) * LENGTH]
            assert (part == other + number).all(), f"round {number}, of rank {other}: {part[:4]}"


def futures(rank, size):
    total = size * (size - 1) / 2
    tensor = torch.full((LENGTH,), float(rank))
    future = dist.all_reduce(tensor, async_op=True).get_future().then(lambda f: f.value()[0] * 3)
    assert (future.wait() == 3 * total).all()
    barrier = dist.barrier(async_op=True)
    barrier.wait()
    assert barrier.is_completed()


def other_device(rank, size):
    """Of a group whose device is another: refused, and nothing changed."""
    dist.all_reduce(torch.ones(3))
    if torch.cuda.device_count() < 2 * size:
        return
    try:
        dist.all_reduce(torch.ones(3, device=f"cuda:{rank + size}"))
    except ValueError as error:
        assert "the device of this process group" in str(error), error
    else:
        raise AssertionError("expected a refusal")
    dist.all_reduce(torch.ones(3))


def all_of(rank, size, parts):
    on_own_device(rank)
    for part in parts:
        part(rank, size)
        assert multitree_torch.device() == torch.device("cuda", torch.cuda.current_device())
        if rank == 0:
            print(f"{size} ranks, {part.__name__}: as expected", flush=True)


def train(rank, size, way, path):
    """On GPUs, and with Gloo, which does not serve all of it there, on CPUs."""
    torch.cuda.set_device(rank % torch.cuda.device_count())
    found = training.losses(way, rank, "cpu" if dist.get_backend() == "gloo" else "cuda")
    if rank == 0:
        torch.save(found, path)


def main():
    if not torch.cuda.is_available():
        print("skipped: torch sees no GPU")
        sys.exit(77)
    several = [order_of_streams, memory_is_kept, futures, other_device, collectives.exchanges, collectives.messages,
               collectives.works, collectives.reductions, collectives.moves]
    for size in [int(word) for word in sys.argv[1:]] or [1, 2, 3]:
        ranks.run(all_of, size, [collectives.special_reductions, *(several if size > 1 else [])])
        if size == 2:
            training.compare(train, (size,))


if __name__ == "__main__":
    main()

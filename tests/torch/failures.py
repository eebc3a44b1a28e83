# SPDX-License-Identifier: BSD-3-Clause
"""Wrong arguments, ranks that differ, die, or do not come: exceptions that say so, and no wait without end."""
import datetime
import os
import time

import ranks
import torch
import torch.distributed as dist


def refused(words, function, *arguments, **options):
    try:
        function(*arguments, **options)
    except Exception as error:
        assert words in str(error), f"expected {words!r}, found: {error}"
        return
    raise AssertionError(f"expected a refusal with {words!r}, found none")


def arguments(rank, size):
    refused("SUM or AVG", dist.all_reduce, torch.ones(3).to_sparse(), dist.ReduceOp.MAX)
    refused("Invalid scalar type", dist.all_reduce, torch.zeros(3).to(torch.float8_e4m3fn))
    refused("non-integral", dist.all_reduce, torch.zeros(3), dist.ReduceOp.BAND)
    refused("complex", dist.all_reduce, torch.zeros(3, dtype=torch.complex64), dist.ReduceOp.MAX)
    refused("larger tensor", dist.all_gather_into_tensor, torch.zeros(3 * size + 1), torch.zeros(3))
    refused("divide equally", dist.all_to_all_single, torch.zeros(2 * size + 1), torch.zeros(2 * size + 1))
    tensor = torch.ones(3)
    dist.all_reduce(tensor)
    assert tensor[0] == size  # what was refused changed nothing


def sizes_differ(rank, size):
    try:
        dist.all_reduce(torch.ones(10 + rank))
    except Exception as error:
        assert "10" in str(error) or "rank" in str(error), error
        return
    raise AssertionError("expected an exception, as sizes differ")


def one_dies(rank, size):
    dist.all_reduce(torch.ones(3))
    if rank == 1:
        os._exit(1)
    start = time.monotonic()
    refused("1", dist.all_reduce, torch.ones(100000))
    assert time.monotonic() - start < 30
    refused("", dist.all_reduce, torch.ones(3))


def one_dies_of_any(rank, size):
    if rank == 1:
        os._exit(1)
    refused("rank 1", dist.recv, torch.zeros(3))
    refused("", dist.recv, torch.zeros(3))


def nobody_sends(rank, size):
    group = dist.new_group(timeout=datetime.timedelta(seconds=1))
    if rank == 0:
        refused("recvAnySource: Timed out waiting 1000ms", dist.recv, torch.zeros(3), group=group)
    dist.barrier()


def one_is_late(rank, size):
    group = dist.new_group(timeout=datetime.timedelta(seconds=1))
    if rank == 1:
        dist.barrier()
        return
    refused("", dist.all_reduce, torch.ones(3), group=group)
    refused("", dist.all_reduce, torch.ones(3), group=group)
    dist.barrier()


def late_for_monitored_barrier(rank, size):
    if rank == 0:
        refused("failed to pass", dist.monitored_barrier, timeout=datetime.timedelta(seconds=1))
    dist.barrier()


if __name__ == "__main__":
    ranks.run(arguments, 2)
    ranks.run(sizes_differ, 2)
    ranks.run(one_dies, 3, expected=[0, 2])
    ranks.run(one_dies_of_any, 3, expected=[0, 2])
    ranks.run(nobody_sends, 2)
    ranks.run(one_is_late, 2)
    ranks.run(late_for_monitored_barrier, 2)
    print("as expected")

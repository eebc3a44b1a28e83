# SPDX-License-Identifier: BSD-3-Clause
"""Every collective, type and operator against the values that they have by definition, and against Gloo."""
import time

import ranks
import torch
import torch.distributed as dist

import multitree_torch

NUMBERS = [torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64, torch.float16, torch.bfloat16,
           torch.float32, torch.float64]
MOVED = [*NUMBERS, torch.bool, torch.complex64, torch.complex128, torch.float8_e4m3fn]
LENGTHS = [0, 1, 7, 1000, 70001]


def values(rank, length, dtype):
    """Small whole numbers: sums and products of a few are exact in every type."""
    numbers = (torch.arange(length) * 7 + rank * 3) % 3
    return numbers.to(torch.float32).to(dtype) if dtype.is_floating_point else numbers.to(dtype)


def same(found, expected, what):
    assert found.dtype == expected.dtype and found.shape == expected.shape, what
    if found.dtype.itemsize == 1:
        found, expected = found.view(torch.uint8), expected.view(torch.uint8)
    assert torch.equal(found, expected), f"{what}: expected {expected.flatten()[:8]}, found {found.flatten()[:8]}"


def reduced(size, length, dtype, op):
    parts = torch.stack([values(rank, length, dtype).double() for rank in range(size)])
    if op == dist.ReduceOp.SUM:
        return parts.sum(0).to(dtype)
    if op == dist.ReduceOp.PRODUCT:
        return parts.prod(0).to(dtype)
    return (parts.amin(0) if op == dist.ReduceOp.MIN else parts.amax(0)).to(dtype)


def reductions(rank, size):
    for dtype in NUMBERS:
        for op in (dist.ReduceOp.SUM, dist.ReduceOp.PRODUCT, dist.ReduceOp.MIN, dist.ReduceOp.MAX):
            for length in LENGTHS:
                what = f"{dtype} {op} {length}"
                tensor = values(rank, length, dtype)
                dist.all_reduce(tensor, op)
                same(tensor, reduced(size, length, dtype, op), f"all_reduce {what}")
                tensor = values(rank, length, dtype)
                root = length % size
                dist.reduce(tensor, root, op)
                if rank == root:
                    same(tensor, reduced(size, length, dtype, op), f"reduce {what}")
                whole = reduced(size, length * size, dtype, op)
                shard = torch.empty(length, dtype=dtype)
                dist.reduce_scatter_tensor(shard, values(rank, length * size, dtype), op)
                same(shard, whole[rank * length:(rank + 1) * length], f"reduce_scatter_tensor {what}")
                dist.reduce_scatter(shard, list(values(rank, length * size, dtype).split(length or 1) if length else
                                                [torch.empty(0, dtype=dtype)] * size), op)
                same(shard, whole[rank * length:(rank + 1) * length], f"reduce_scatter {what}")


def special_reductions(rank, size):
    bits = torch.tensor([rank + 1, 6], dtype=torch.int32)
    for op, expected in ((dist.ReduceOp.BAND, lambda a, b: a & b), (dist.ReduceOp.BOR, lambda a, b: a | b),
                         (dist.ReduceOp.BXOR, lambda a, b: a ^ b)):
        tensor, result = bits.clone(), None
        dist.all_reduce(tensor, op)
        for other in range(size):
            part = torch.tensor([other + 1, 6], dtype=torch.int32)
            result = part if result is None else expected(result, part)
        same(tensor, result, str(op))
    mean = torch.full((5,), float(rank))
    dist.all_reduce(mean, dist.ReduceOp.AVG)
    same(mean, torch.full((5,), (size - 1) / 2), "AVG")
    flag = torch.tensor([rank == 0, False, True])
    dist.all_reduce(flag)
    same(flag, torch.tensor([True, False, True]), "bool")
    number = torch.full((3,), complex(rank, 1))
    dist.all_reduce(number)
    same(number, torch.full((3,), complex(size * (size - 1) / 2, size)), "complex")
    strided = torch.full((4, 6), float(rank)).t()[::2]
    dist.all_reduce(strided)
    same(strided, torch.full((3, 4), size * (size - 1) / 2), "strided")
    many = [torch.full((n,), float(rank)) for n in (1, 300, 2000)]
    with dist._coalescing_manager():
        for tensor in many:
            dist.all_reduce(tensor)
    for tensor in many:
        same(tensor, torch.full_like(tensor, size * (size - 1) / 2), "coalesced all_reduce")


def moves(rank, size):
    for dtype in MOVED:
        for length in LENGTHS:
            what = f"{dtype} {length}"
            everyone = [values(other, length, dtype) for other in range(size)]
            root = (length + 1) % size
            tensor = values(rank, length, dtype)
            dist.broadcast(tensor, root)
            same(tensor, everyone[root], f"broadcast {what}")
            outputs = [torch.empty(length, dtype=dtype) for _ in range(size)]
            dist.all_gather(outputs, everyone[rank])
            for found, expected in zip(outputs, everyone):
                same(found, expected, f"all_gather {what}")
            flat = torch.empty(length * size, dtype=dtype)
            dist.all_gather_into_tensor(flat, everyone[rank])
            for other in range(size):
                same(flat[other * length:(other + 1) * length], everyone[other], f"all_gather_into_tensor {what}")
            outputs = [torch.empty(length, dtype=dtype) for _ in range(size)]
            dist.gather(everyone[rank], outputs if rank == root else None, root)
            if rank == root:
                for found, expected in zip(outputs, everyone):
                    same(found, expected, f"gather {what}")
            tensor = torch.empty(length, dtype=dtype)
            dist.scatter(tensor, everyone if rank == root else None, root)
            same(tensor, everyone[rank], f"scatter {what}")


def exchanges(rank, size):
    # Rank r sends r + other + 1 rows to `other`.
    splits = [rank + other + 1 for other in range(size)]
    sent = torch.full((sum(splits), 3), rank)
    received = torch.empty((sum(splits), 3), dtype=sent.dtype)
    dist.all_to_all_single(received, sent, splits, splits)
    expected = torch.cat([torch.full((other + rank + 1, 3), other) for other in range(size)])
    same(received, expected, "all_to_all_single")
    inputs = list(sent.split(splits))
    outputs = [torch.empty((n, 3), dtype=sent.dtype) for n in splits]
    dist.all_to_all(outputs, inputs)
    same(torch.cat(outputs), expected, "all_to_all")
    uneven = [torch.empty(other + 1) for other in range(size)]
    dist.all_gather(uneven, torch.full((rank + 1,), float(rank)))
    for other, found in enumerate(uneven):
        same(found, torch.full((other + 1,), float(other)), "uneven all_gather")
    shards = [torch.full((other + 1,), float(rank)) for other in range(size)]
    mine = torch.empty(rank + 1)
    dist.reduce_scatter(mine, shards)
    same(mine, torch.full((rank + 1,), size * (size - 1) / 2), "uneven reduce_scatter")


def messages(rank, size):
    following, previous = (rank + 1) % size, (rank - 1) % size
    for length in (0, 5, 100000):
        work = dist.isend(torch.full((length,), float(rank)), following)
        tensor = torch.empty(length)
        dist.recv(tensor, previous)
        work.wait()
        same(tensor, torch.full((length,), float(previous)), "ring")
    # Tags in another order than sent.
    works = [dist.isend(torch.full((4,), float(tag)), following, tag=tag) for tag in (1, 2, 3)]
    for tag in (3, 1, 2):
        tensor = torch.empty(4)
        dist.recv(tensor, previous, tag=tag)
        same(tensor, torch.full((4,), float(tag)), "tags")
    for work in works:
        work.wait()
    operations = [dist.P2POp(dist.isend, torch.full((9,), rank), following),
                  dist.P2POp(dist.irecv, torch.empty(9, dtype=torch.int64), previous)]
    for work in dist.batch_isend_irecv(operations):
        work.wait()
    same(operations[1].tensor, torch.full((9,), previous), "batch")


def messages_of_any_source(rank, size):
    """Whoever is first; those of one rank and tag keep their order, beside receives that name their source."""
    lengths, each = [3, 70000, 0, 5], 2
    if rank != 0:
        sent = [dist.isend(torch.full((length,), 100.0 * rank + i), 0, tag=10 + t)
                for t, length in enumerate(lengths) for i in range(each)]
        sent.append(dist.isend(torch.full((2,), float(rank)), 0, tag=3))
        for work in sent:
            work.wait()
        return
    others = range(1, size)
    named = [dist.irecv(torch.empty(2), other, tag=3) for other in list(others)[::2]]
    for t, length in enumerate(lengths):
        taken = dict.fromkeys(others, 0)
        for _ in range(each * len(others)):
            tensor = torch.full((length,), -1.0)
            source = dist.recv(tensor, tag=10 + t) if t % 2 == 0 else wait_for_any(tensor, 10 + t)
            same(tensor, torch.full((length,), 100.0 * source + taken[source]), "any source")
            taken[source] += 1
        assert set(taken.values()) <= {each}, taken
    for work in named:
        work.wait()
    for other in list(others)[1::2]:
        tensor = torch.empty(2)
        dist.recv(tensor, other, tag=3)
        same(tensor, torch.full((2,), float(other)), "named beside any")


def wait_for_any(tensor, tag):
    work = dist.irecv(tensor, tag=tag)
    work.wait()
    return work._source_rank()


def messages_put_by(rank, size):
    """A message that nobody awaits when it begins to come, and somebody does before it is there, or after."""
    following, previous, length = (rank + 1) % size, (rank - 1) % size, 5_000_000
    for round_ in range(8):
        sent = [dist.isend(torch.full((length,), 2.0), following, tag=2), dist.isend(torch.ones(1), following, tag=1)]
        later, first = torch.empty(1), torch.empty(length)
        awaited = [dist.irecv(later, previous, tag=1)]
        time.sleep(0.001 * (round_ % 4))  # so that it is called at any moment of the message
        awaited.append(dist.irecv(first, previous, tag=2))
        for work in awaited + sent:
            work.wait()
        same(first, torch.full((length,), 2.0), "put by")


def works(rank, size):
    total = size * (size - 1) / 2
    tensors = [torch.full((n,), float(rank)) for n in (3, 50000, 7)]
    pending = [dist.all_reduce(tensor, async_op=True) for tensor in tensors]
    futures = [work.get_future().then(lambda f: f.value()[0].sum().item()) for work in pending]
    for future, tensor in zip(futures, tensors):
        future.wait()
        assert future.value() == total * tensor.numel()
    assert all(work.is_completed() and work.wait() for work in pending)
    for shared in (multitree_torch.empty(40000), multitree_torch.empty((200, 300), dtype=torch.float64)):
        assert shared.abs().sum() == 0
        shared += rank
        dist.all_reduce(shared)
        assert (shared == total).all()
    halves = dist.new_group(list(range(0, size, 2)))
    if rank % 2 == 0:
        tensor = torch.ones(5)
        dist.all_reduce(tensor, group=halves)
        same(tensor, torch.full((5,), float((size + 1) // 2)), "new_group")
    objects = [None] * size
    dist.all_gather_object(objects, {"rank": rank})
    assert objects == [{"rank": other} for other in range(size)]
    dist.barrier()
    try:
        dist.monitored_barrier()
    except ValueError as error:  # before 2.15 torch asks Gloo alone
        assert "only implemented for GLOO" in str(error), error


def sparse(rank, size):
    """Other rows at every rank, one in common, one twice, and none at the last; also with a dense dimension."""
    for trailing in ((), (3,)):
        rows = [] if rank == size - 1 else [rank + 1, 0, rank + 1]
        mine = torch.sparse_coo_tensor([rows], torch.full((len(rows), *trailing), float(rank + 1)), (size + 2, *trailing),
                                       check_invariants=True)
        dense = mine.to_dense()
        dist.all_reduce(dense)
        for op, expected in ((dist.ReduceOp.SUM, dense), (dist.ReduceOp.AVG, dense / size)):
            found = mine.clone()
            dist.all_reduce(found, op)
            assert found.is_coalesced()
            same(found.to_dense(), expected, f"sparse {op} {trailing}")
        work = dist.all_reduce(found := mine.clone(), async_op=True)
        same(work.get_future().wait()[0].to_dense(), dense, "sparse future")
        same(found.to_dense(), dense, "sparse work")


def sums(rank, size):
    """Groups whose sums of floats are exact, or travel as fewer bytes."""
    generator = torch.Generator().manual_seed(1)
    everyone = torch.randn(size, 3000, generator=generator) * 10.0 ** torch.randint(-5, 5, (size, 3000), generator=generator)
    bits = {}
    for name, algorithm in (("exact", "ring"), ("exact", "multitree"), ("exact-blocks", "ring"), ("bfloat16", "ring"), ("", "ring")):
        options = multitree_torch.Options()
        options.sums, options.algorithm = name, algorithm
        group = dist.new_group(backend="multitree", pg_options=options)
        for order in (everyone, everyone.flip(0)):
            total, mean = order[rank].clone(), order[rank].clone()
            dist.all_reduce(total, group=group)
            dist.all_reduce(mean, dist.ReduceOp.AVG, group=group)
            share = torch.empty(3000 // size)
            dist.reduce_scatter_tensor(share, order[rank][:3000 // size * size], group=group)
            with dist._coalescing_manager(group=group):
                for part in (parts := list(order[rank].clone().split(1000))):
                    dist.all_reduce(part, group=group)
            bits.setdefault(name, set()).add(total.numpy().tobytes())
            close = dict(rtol=0, atol=(2e-2 if name == "bfloat16" else 1e-5) * everyone.abs().max().item())
            torch.testing.assert_close(total.double(), everyone.double().sum(0), check_dtype=False, **close)
            torch.testing.assert_close(mean.double(), everyone.double().mean(0), check_dtype=False, **close)
            if name == "exact":
                same(share, total[rank * len(share):(rank + 1) * len(share)], "exact reduce_scatter")
                same(torch.cat(parts), total, "exact coalesced")
        whole = torch.full((3,), rank)  # what they are not for is as ever
        dist.all_reduce(whole, group=group)
        same(whole, torch.full((3,), size * (size - 1) // 2), "integers")
    assert len(bits["exact"]) == 1
    assert size < 3 or len(bits[""]) == 2, "sums that round were expected to depend on their order"
    try:
        options.sums = "exactly"
        dist.new_group(backend="multitree", pg_options=options)
    except ValueError as error:
        assert 'expected exact, exact-blocks, float16, bfloat16 or int8, found "exactly"' in str(error), error
    else:
        raise AssertionError("expected a refusal of sums that are not known")


def everything(rank, size):
    for part in (special_reductions, sparse, sums, exchanges, messages, messages_of_any_source, messages_put_by, works,
                 reductions, moves):
        part(rank, size)


if __name__ == "__main__":
    for count in (1, 2, 3):
        ranks.run(special_reductions if count == 1 else everything, count)
        print(f"{count} ranks: as expected", flush=True)

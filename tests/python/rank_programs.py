# SPDX-License-Identifier: BSD-3-Clause
"""What ranks do in the tests of communicators: functions that processes import by name."""
import os
import signal
import threading
import time

import numpy as np

import multitree

TYPES = ["f4", "f8", "f2", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"]
OPERATORS = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}
BITS = {"bit-and": np.bitwise_and, "bit-or": np.bitwise_or, "bit-xor": np.bitwise_xor,
        "logical-and": np.logical_and, "logical-or": np.logical_or, "logical-xor": np.logical_xor}


class OnlyDlpack:
    """An array that shows nothing but DLPack's methods."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def data_of(rank, dtype, count=12):
    """Small whole numbers: every type and order of sums has them exactly."""
    return (np.arange(count) * (rank + 1) % 5 + (rank % 2)).astype(dtype)


def reduced(function, ranks, dtype, count=12):
    total = data_of(0, dtype, count)
    for rank in range(1, ranks):
        total = function(total, data_of(rank, dtype, count)).astype(dtype)
    return total


def reductions(comm):
    for dtype in TYPES:
        mine = data_of(comm.rank, dtype)
        operators = dict(OPERATORS, **(BITS if dtype[0] in "iu" else {}))
        for op, function in operators.items():
            expected = reduced(function, comm.size, dtype)
            got = comm.all_reduce(mine, op=op)
            assert got.dtype == mine.dtype and got.shape == mine.shape, (dtype, op)
            assert (got == expected).all(), (dtype, op, got, expected)
    everyone = [data_of(rank, "f8") for rank in range(comm.size)]
    assert np.allclose(comm.all_reduce(everyone[comm.rank], op="avg"), np.mean(everyone, 0))
    truth = np.array([comm.rank == 0, True, False])
    assert comm.all_reduce(truth, op="logical-or").tolist() == [True, True, False]
    assert comm.all_reduce(truth, op="min").tolist() == [comm.size == 1, True, False]
    root = comm.size - 1
    got = comm.reduce(everyone[comm.rank], root=root)
    assert got is None if comm.rank != root else (got == np.sum(everyone, 0)).all()


def shapes(comm):
    """Shapes along the first dimension, in place, into arrays of the caller's, and of every kind of array."""
    n, rank = comm.size, comm.rank
    mine = np.arange(6.0).reshape(2, 3) + 100 * rank
    whole = np.concatenate([np.arange(6.0).reshape(2, 3) + 100 * r for r in range(n)])
    gathered = comm.all_gather(mine)
    assert gathered.shape == (2 * n, 3) and (gathered == whole).all()
    inside = np.zeros((2 * n, 3))
    inside[2 * rank:2 * rank + 2] = mine
    assert comm.all_gather(inside[2 * rank:2 * rank + 2], inside) is inside and (inside == whole).all()
    share = comm.reduce_scatter(whole)
    assert share.shape == (2, 3) and (share == n * mine).all()
    assert (comm.scatter(whole if rank == 0 else None, None if rank == 0 else np.empty((2, 3))) == mine).all()
    got = comm.gather(mine, root=n - 1)
    assert got is None if rank != n - 1 else (got == whole).all()
    assert (comm.all_to_all(whole) == np.concatenate([mine] * n)).all()
    value = comm.all_reduce(np.float32(2).reshape(()))
    assert value.shape == () and value == 2 * n
    told = np.arange(4) if rank == 0 else np.zeros(4, int)
    assert comm.broadcast(told) is told and told.tolist() == [0, 1, 2, 3]
    frozen = np.arange(4)
    frozen.flags.writeable = rank != 0
    assert comm.broadcast(frozen).tolist() == [0, 1, 2, 3]
    assert comm.all_reduce(mine, mine) is mine and (mine == np.sum([np.arange(6.0).reshape(2, 3) + 100 * r
                                                                   for r in range(n)], 0)).all()
    assert comm.all_gather(np.empty(0)).shape == (0,)


def kinds(comm):
    expected = np.full(8, comm.size, "f4")
    for make in (bytearray, memoryview, OnlyDlpack):
        out = np.zeros(8, "f4")
        source = np.ones(8, "f4")
        wrapped = make(source) if make is not bytearray else memoryview(bytearray(source.tobytes())).cast("f")
        result = OnlyDlpack(out) if make is OnlyDlpack else out
        assert comm.all_reduce(wrapped, result) is result and (out == expected).all(), make
    half = OnlyDlpack(np.ones(3, "f2"))
    out = np.zeros(3, "f2")
    assert (comm.all_reduce(half, out) == comm.size).all()


def brain_floats(comm):
    import ml_dtypes
    mine = np.array([1.5, 2, 3], ml_dtypes.bfloat16)
    total = comm.all_reduce(mine)
    assert total.dtype == ml_dtypes.bfloat16 and total.astype("f4").tolist() == [1.5 * comm.size, 2 * comm.size, 3 * comm.size]


def uneven(comm):
    n, rank = comm.size, comm.rank
    counts = [r + 1 for r in range(n)]
    begins = np.cumsum([0] + counts[:-1]).tolist()
    mine = np.full(rank + 1, rank, "i4")
    whole = np.concatenate([np.full(r + 1, r, "i4") for r in range(n)])
    assert (comm.all_gatherv(mine, counts) == whole).all()
    spread = np.full(2 * whole.size, -1, "i4")
    comm.all_gatherv(mine, counts, spread, displs=[2 * b for b in begins])
    assert all((spread[2 * b:2 * b + c] == r).all() for r, (b, c) in enumerate(zip(begins, counts)))
    got = comm.gatherv(mine, counts, root=0)
    assert got is None if rank else (got == whole).all()
    got = comm.scatterv(whole, counts) if rank == 0 else comm.scatterv(None, recv=np.empty(rank + 1, "i4"))
    assert (got == mine).all()
    assert (comm.reduce_scatterv(whole, np.array(counts)) == n * rank).all()
    sent = np.concatenate([np.full(rank + r + 1, 10 * rank + r, "i4") for r in range(n)])
    got = comm.all_to_allv(sent, [rank + r + 1 for r in range(n)], [rank + r + 1 for r in range(n)])
    assert (got == np.concatenate([np.full(rank + r + 1, 10 * r + rank, "i4") for r in range(n)])).all()


def messages(comm):
    """Around a ring, blocking by turns and not; and to itself."""
    n, rank = comm.size, comm.rank
    got = np.empty(1000)
    requests = [comm.irecv(got, (rank - 1) % n), comm.isend(np.full(1000, float(rank)), (rank + 1) % n)]
    assert requests[0].wait() is got and requests[1].wait() is None
    assert (got == (rank - 1) % n).all()
    if n > 1 and rank < 2:
        if rank == 0:
            comm.send(np.arange(3), 1)
        else:
            assert comm.recv(np.empty(3, int), 0).tolist() == [0, 1, 2]
    comm.barrier()


def started(comm):
    """Requests of everything, finished in another order than they were started in."""
    n, rank = comm.size, comm.rank
    ones, whole = np.ones(50), np.ones(50 * n)
    requests = [comm.iall_reduce(ones), comm.ireduce_scatter(whole), comm.iall_gather(ones), comm.iall_to_all(whole),
                comm.ireduce(ones), comm.ibroadcast(ones.copy()), comm.igather(ones),
                comm.iscatter(whole if rank == 0 else None, np.empty(50))]
    assert "under way" in repr(requests[0]) or requests[0].done
    sizes = [request.wait() for request in reversed(requests)][::-1]
    assert [None if a is None else (a.size, a.max()) for a in sizes] == [
        (50, n), (50, n), (50 * n, 1), (50 * n, 1), (50, n) if rank == 0 else None, (50, 1),
        (50 * n, 1) if rank == 0 else None, (50, 1)]
    assert all(request.done and request.test() and "complete" in repr(request) for request in requests)
    with comm.iall_reduce(ones) as request:
        pass
    assert request.done and request.wait().max() == n
    for _ in range(50):  # dropped at once: their arrays are kept until they are complete
        comm.iall_reduce(np.ones(10000))
    comm.barrier()
    assert comm.all_reduce(np.ones(1))[0] == n


def overlapped(comm):
    """Goes on while the program makes no call at all."""
    out = np.zeros(1 << 20, "f4")
    request = comm.iall_reduce(np.ones(1 << 20, "f4"), out)
    end = time.monotonic() + 20
    while not (out == comm.size).all() and time.monotonic() < end:
        time.sleep(0.01)
    arrived = bool((out == comm.size).all())
    request.wait()
    return arrived


def bits(comm, inputs):
    return comm.all_reduce(inputs[comm.rank]).tobytes()


def threads(comm):
    """Python runs on in other threads while one waits in a call."""
    if comm.rank == 0:
        counted = [0]
        stop = threading.Event()

        def count():
            while not stop.is_set():
                counted[0] += 1
                time.sleep(0.001)
        thread = threading.Thread(target=count)
        thread.start()
        comm.barrier()
        stop.set()
        thread.join()
        return counted[0]
    time.sleep(0.5)
    comm.barrier()
    return None


def parts(comm):
    half = comm.split(comm.rank % 2, key=-comm.rank)
    assert isinstance(half, multitree.Communicator)
    members = [r for r in range(comm.size) if r % 2 == comm.rank % 2][::-1]
    assert half.size == len(members) and members[half.rank] == comm.rank
    assert half.all_reduce(np.array([comm.rank]))[0] == sum(members)
    nobody = comm.split(None if comm.rank == 0 else 3)
    assert (nobody is None) == (comm.rank == 0)
    half.close()
    assert half.closed and "closed" in repr(half) and repr(comm) == f"Communicator(rank {comm.rank} of {comm.size})"
    half.close()


def handed_over(folder, name, id=None):
    """The id of that name: made here, or as soon as another rank has made it."""
    path = folder / name
    if id is not None:
        (folder / f"{name}.new").write_bytes(id)
        (folder / f"{name}.new").rename(path)
    while not path.exists():
        time.sleep(0.01)
    return path.read_bytes()


def sum_of_ones(comm):
    return int(comm.all_reduce(np.ones(1000))[0])


def shrunk_and_grown(comm, folder, options):
    """Rank 1 is lost, and comes back as rank 0 of more; the others go on meanwhile."""
    assert sum_of_ones(comm) == 3
    if comm.rank == 1:
        comm.abort()
        back = multitree.Communicator(0, 3, id=handed_over(folder, "back"), **options)
        return back.rank, sum_of_ones(back)
    try:
        while True:
            comm.all_reduce(np.ones(1000))
    except multitree.TransportError as error:
        assert "rank 1" in str(error)
    left = comm.shrink()
    assert comm.closed and isinstance(left, multitree.Communicator) and sum_of_ones(left) == 2
    id = handed_over(folder, "back", multitree.unique_id()) if left.rank == 1 else None
    larger = left.grow(3, id=id, rank=left.rank + 1)
    assert isinstance(larger, multitree.Communicator)
    assert sum_of_ones(left) == 2  # goes on as well
    left.close()
    return larger.rank, sum_of_ones(larger)


def left_out(comm, folder):
    if comm.rank == 0:
        handed_over(folder, "all are there", b"yes")
        while comm.failure() is None:
            time.sleep(0.01)
        return comm.failure()
    handed_over(folder, "all are there")
    return comm.shrink(without=[0]).size


def forked(comm):
    child = os.fork()
    if child == 0:
        try:
            comm.all_reduce(np.ones(1))
        except multitree.InvalidUsage as error:
            os._exit(0 if "forked" in str(error) else 2)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert comm.all_reduce(np.ones(1))[0] == comm.size


def interrupted(comm, where):
    """Rank 0 is interrupted in a wait that would take the deadline."""
    if comm.rank == 1:
        try:
            time.sleep(1.5)
            comm.all_reduce(np.ones(1))  # what rank 0 had put there may be enough
            if where == "call":
                comm.barrier()
        except multitree.TransportError as error:
            return str(error)
        return "went on"
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    begin = time.monotonic()
    request = comm.iall_reduce(np.ones(1)) if where == "wait" else None
    try:
        comm.all_reduce(np.ones(1)) if request is None else request.wait()
    except KeyboardInterrupt:
        took = time.monotonic() - begin
        assert took < 10, took  # the deadline is 30 s
        if request is not None:
            assert request.wait()[0] == comm.size
        return "interrupted"
    return "not interrupted"


def handled(comm):
    """The handler of a signal runs while the rank waits, and the wait goes on."""
    if comm.rank == 1:
        time.sleep(1)
        return comm.all_reduce(np.ones(1))[0]
    seen = []
    signal.signal(signal.SIGUSR1, lambda *_: seen.append(time.monotonic()))
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGUSR1)).start()
    total = comm.all_reduce(np.ones(1))[0]
    assert seen
    return total


def killed(comm, folder, call):
    try:
        comm.barrier()  # all communicators are made
        if comm.rank == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        comm.all_reduce(np.ones(100)) if call == "blocking" else comm.iall_reduce(np.ones(100)).wait()
    except multitree.TransportError as error:
        (folder / f"rank-{comm.rank}").write_text(f"{error}\n{comm.failure()}")
        raise


def late(comm):
    if comm.rank == 0:
        try:
            comm.all_reduce(np.ones(1))
        except multitree.Timeout as error:
            return str(error)
    time.sleep(1.5)
    comm.abort()
    return None


def awaited_twice(comm):
    if comm.rank == 1:
        time.sleep(1)
    request = comm.iall_reduce(np.ones(1))
    try:
        request.wait(0.05)
    except multitree.Timeout as error:
        assert "it goes on" in str(error)
        first = "too early"
    else:
        first = "complete"
    return first, request.wait(20)[0]


def aborted(comm):
    if comm.rank == 1:
        try:
            time.sleep(1)
            comm.all_reduce(np.ones(1))
            comm.barrier()
        except multitree.TransportError as error:
            return str(error)
    threading.Timer(0.3, comm.abort).start()
    try:
        comm.all_reduce(np.ones(1)) if comm.rank == 0 else None
    except multitree.Aborted as error:
        return str(error)
    return None


def differing(comm, what):
    count = 10 + comm.rank if what == "sizes" else 10
    dtype = "f8" if what == "types" and comm.rank else "f4"
    op = "max" if what == "operators" and comm.rank else "sum"
    comm.all_reduce(np.ones(count, dtype), op=op)


def identity(comm, value):
    return comm.rank, comm.size, value


def failing(comm, kind):
    if comm.rank == 1:
        if kind == "raise":
            raise ValueError("rank 1 is of another opinion")
        if kind == "exit":
            os._exit(7)
        if kind == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if kind == "lambda":
            return lambda: None
        if kind == "hang":
            time.sleep(600)
    comm.barrier()
    return None

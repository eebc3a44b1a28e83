# SPDX-License-Identifier: BSD-3-Clause
"""What ranks do in the tests of operators that are made."""
import numpy as np


def operators(comm):
    """Operators that are made: exact sums, fewer bytes on the wire, inputs that are multiplied."""
    rng = np.random.default_rng(comm.rank)
    mine = (rng.standard_normal(1000) * 10.0 ** rng.integers(-6, 6, 1000)).astype("f4")
    exact = comm.operator("sum", exact=True)
    assert repr(exact) == "Operator(sum, exact=elements)"
    total = comm.all_reduce(mine, op=exact)
    everyone = comm.all_gather(mine).reshape(comm.size, -1)
    # The same contributions from other ranks: the bits stay.
    backwards = everyone[comm.size - 1 - comm.rank].copy()
    assert comm.all_reduce(backwards, op=exact).tobytes() == total.tobytes()
    true = np.sum(everyone.astype("f8"), 0)
    largest = np.abs(everyone).max(0)
    assert (np.abs(total - true) <= comm.size * np.spacing(largest) + np.spacing(np.abs(true).astype("f4"))).all()
    blocks = comm.operator("avg", exact="blocks")
    assert np.allclose(comm.all_reduce(mine, op=blocks), true / comm.size, atol=1e-6 * np.abs(everyone).max())
    share = comm.reduce_scatter(np.tile(mine, comm.size), op=exact)
    assert share.tobytes() == total.tobytes()
    with comm.iall_reduce(mine, op=exact) as started:
        pass
    assert started.wait().tobytes() == total.tobytes()
    rounded = comm.all_reduce(np.full(64, 1.0, "f4"), op=comm.operator(wire="bfloat16"))
    assert (rounded == comm.size).all()
    for factor in np.float64(0.5), np.array(0.5):
        half = comm.operator(factor=factor)
        assert (comm.all_reduce(np.ones(3), op=half) == 0.5 * comm.size).all()
    del exact, blocks, half  # freed while the communicator goes on
    assert comm.all_reduce(np.ones(1))[0] == comm.size


def functions(comm):
    """Functions of arrays as operators: of NumPy, of one's own, in the order of ranks, started, of any type."""
    mine = np.linspace(-5, 5, 100_000).astype("f4") + comm.rank
    everyone = comm.all_gather(mine).reshape(comm.size, -1)
    log_sum = comm.operator(function=np.logaddexp)
    assert repr(log_sum) == "Operator(function=logaddexp)"
    assert np.allclose(comm.all_reduce(mine, op=log_sum), np.logaddexp.reduce(everyone.astype("f8")), rtol=1e-5, atol=1e-5)
    with comm.iall_reduce(mine, op=comm.operator(function=np.logaddexp)) as started:  # nothing else keeps the operator
        pass
    assert np.allclose(started.wait(), np.logaddexp.reduce(everyone.astype("f8")), rtol=1e-5, atol=1e-5)
    share = comm.reduce_scatter(np.arange(comm.size * 6, dtype="i8").reshape(-1, 2), op=comm.operator(function=np.gcd))
    assert (share == np.arange(comm.rank * 6, comm.rank * 6 + 6).reshape(-1, 2)).all()
    greatest = comm.operator(function=lambda lower, here: np.where(np.abs(lower) > np.abs(here), lower, here))
    farthest = np.take_along_axis(everyone, np.abs(everyone).argmax(0)[None], 0)[0]
    assert (np.abs(comm.all_reduce(mine, op=greatest)) == np.abs(farthest)).all()
    pending = comm.iall_reduce(mine, op=log_sum)
    while not pending.test():
        pass
    assert comm.all_reduce(np.ones(1))[0] == comm.size


def ordered_functions(comm):
    """Not commutative: of what each rank has that of the highest stays, and that of the lowest."""
    first = comm.operator(function=lambda lower, here: lower, commutative=False)
    last = comm.operator(function=lambda lower, here: here, commutative=False)
    assert repr(last) == "Operator(function=<lambda>, in the order of ranks)"
    mine = np.full(1000, comm.rank, "i4")
    assert (comm.all_reduce(mine, op=first) == 0).all()
    assert (comm.all_reduce(mine, op=last) == comm.size - 1).all()


def combine_wrongly(comm, what):
    """A function that raises, or returns something else; the error of the call."""
    def raises(lower, here):
        raise KeyError("mine")
    wrong = {"raises": raises, "shape": lambda lower, here: here[:1], "type": lambda lower, here: here * 1j}
    op = comm.operator(function=wrong[what])
    try:
        comm.iall_reduce(np.ones(1000), op=op).wait()
    except Exception as error:
        assert comm.closed, "aborted"
        return f"{type(error).__name__}: {error}"
    return "no combining here"

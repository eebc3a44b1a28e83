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

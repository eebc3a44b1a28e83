# SPDX-License-Identifier: BSD-3-Clause
"""For who runs programs: four processes fit a line to data of their own, with gradients summed between them.

The same function runs under torchrun, mpirun or srun with `fit(multitree.Communicator())`.
"""
import numpy as np

import multitree


def fit(comm, steps=200):
    generator = np.random.default_rng(comm.rank)                 # every rank has other data
    x = generator.uniform(-1, 1, 1000)
    y = 3 * x - 2 + generator.normal(0, 0.1, x.size)
    line = comm.broadcast(np.zeros(2))                           # slope and offset, of rank 0
    gradient = np.empty(2)
    for _ in range(steps):
        error = line[0] * x + line[1] - y
        gradient[:] = (error * x).mean(), error.mean()
        with comm.iall_reduce(gradient, gradient, op="avg") as request:
            loss = float((error ** 2).mean())                    # meanwhile
        line -= 0.5 * request.wait()
    return line, comm.all_reduce(np.array([loss]), op="avg")[0]


if __name__ == "__main__":
    results = multitree.spawn(fit, 4, timeout=60)
    (slope, offset), loss = results[0]
    assert all((line == results[0][0]).all() for line, _ in results)   # the same bits at all ranks
    print(f"slope {slope:.2f}, offset {offset:.2f}, loss {loss:.4f}")

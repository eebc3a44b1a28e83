#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""All-reduce of NumPy arrays between processes of this host: multitree.Communicator against mpi4py over several MPIs.

    python/bench/peers build/python-bench                  # makes an environment for each MPI, from PyPI
    PYTHONPATH=build/release/python python3 python/bench/collectives.py --peers build/python-bench

Rounds of all engines in turn; of each engine and size the median over rounds of the mean time of a call, over ranks and
calls. Worst cell first. An engine that is not there is skipped with the reason.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve()
SIZES = [8, 64, 512, 4 << 10, 32 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20]


def calls_for(size, budget):
    """So many that they take about `budget` seconds, at a guess."""
    return max(3, int(budget / (20e-6 + size * 1e-9)))


def measure(call, barrier, size, budget):
    """Mean seconds of a call at this rank."""
    calls = calls_for(size, budget)
    for _ in range(max(2, calls // 10)):
        call()
    barrier()
    begin = time.perf_counter()
    for _ in range(calls):
        call()
    return (time.perf_counter() - begin) / calls


def times(make, barrier, everyone, ranks, sizes, budget):
    import numpy as np
    result = {}
    for size in sizes:
        send, recv = np.ones(size // 4, np.float32), np.zeros(size // 4, np.float32)
        seconds = measure(make(send, recv), barrier, size, budget)
        assert (recv == ranks).all(), f"{size} bytes: wrong sums"
        result[size] = everyone(seconds) / ranks
    return result


def of_multitree(comm, sizes, budget):
    import numpy as np

    def make(send, recv):
        all_reduce = comm.all_reduce
        return lambda: all_reduce(send, recv)
    return times(make, comm.barrier, lambda mine: float(comm.all_reduce(np.array([mine]))[0]), comm.size, sizes, budget)


def of_mpi(sizes, budget):
    from mpi4py import MPI
    world = MPI.COMM_WORLD

    def make(send, recv):
        all_reduce, buffers = world.Allreduce, ([send, MPI.FLOAT], [recv, MPI.FLOAT])
        return lambda: all_reduce(*buffers)
    found = times(make, world.Barrier, world.allreduce, world.size, sizes, budget)
    if world.rank == 0:
        print(json.dumps(found), flush=True)


def run_multitree(ranks, sizes, budget):
    import multitree
    return multitree.spawn(of_multitree, ranks, sizes, budget, timeout=600)[0]


def run_mpi(folder, ranks, sizes, budget):
    command = [str(folder / "bin/mpiexec"), "-n", str(ranks), str(folder / "bin/python"), str(HERE), "--worker",
               json.dumps([sizes, budget])]
    environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                   "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"}
    environment.pop("PYTHONPATH", None)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"exit code {done.returncode}")
    return {int(size): seconds for size, seconds in json.loads(done.stdout.strip().splitlines()[-1]).items()}


def engines(peers):
    """Name -> function(ranks, sizes, budget)."""
    found = {"multitree": run_multitree}
    for name in ("openmpi", "mpich"):
        folder = pathlib.Path(peers or "nowhere") / name
        if (folder / "bin/mpiexec").exists():
            found[name] = lambda *arguments, folder=folder: run_mpi(folder.resolve(), *arguments)
        else:
            print(f"# skipped: mpi4py over {name}: no {folder}/bin/mpiexec (python/bench/peers makes it)")
    return found


def report(cells, names):
    """cells: (ranks, size) -> engine -> seconds."""
    others = [name for name in names if name != "multitree"]
    rows = []
    for (ranks, size), seconds in cells.items():
        best = min((seconds[name] for name in others if name in seconds), default=None)
        rows.append((best / seconds["multitree"] if best else float("nan"), ranks, size, seconds))
    rows.sort(key=lambda row: row[0])
    print(f"{'ranks':>5} {'bytes':>9} " + " ".join(f"{name + ' us':>13}" for name in names) + f" {'best other/ours':>16}")
    for ratio, ranks, size, seconds in rows:
        print(f"{ranks:>5} {size:>9} " + " ".join(
            f"{seconds[name] * 1e6:>13.2f}" if name in seconds else f"{'-':>13}" for name in names) + f" {ratio:>16.2f}")
    if others:
        print(f"# geometric mean {statistics.geometric_mean(row[0] for row in rows):.2f}, worst {rows[0][0]:.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", help="folder of python/bench/peers")
    parser.add_argument("--ranks", default="2,4,8")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="bytes")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--budget", type=float, default=0.2, help="seconds for an engine, size and round, about")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        return of_mpi(*json.loads(options.worker))
    sizes = [int(size) for size in options.sizes.split(",")]
    found = engines(options.peers)
    cells = {}
    for ranks in map(int, options.ranks.split(",")):
        rounds = {name: [] for name in found}
        for _ in range(options.rounds):
            for name, run in found.items():
                try:
                    rounds[name].append(run(ranks, sizes, options.budget))
                except RuntimeError as error:
                    print(f"# skipped: {name}, {ranks} ranks: {error}")
        for size in sizes:
            cells[ranks, size] = {name: statistics.median(one[size] for one in all_rounds)
                                  for name, all_rounds in rounds.items() if all_rounds}
    report(cells, list(found))


if __name__ == "__main__":
    sys.exit(main())

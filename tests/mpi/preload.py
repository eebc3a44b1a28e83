#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""An MPI program prints the same digests with and without the preloaded library, which serves what it can.

usage: preload.py NAME MPIRUN PROGRAM LIBRARY
"""
import os
import re
import shutil
import subprocess
import sys


def launch(mpirun, ranks, program, library, mode="digest", **variables):
    """The program under `mpirun`, ended."""
    environment = [f"{name}={value}" for name, value in variables.items()]
    if library:
        environment.append(f"LD_PRELOAD={library}")
    is_open_mpi = "openmpi" in os.path.basename(mpirun)
    options = ["--oversubscribe"] if is_open_mpi else []
    if is_open_mpi and os.geteuid() == 0:
        options.append("--allow-run-as-root")
    command = [mpirun, *options, "-n", str(ranks), "env", *environment, program, mode]
    return subprocess.run(command, capture_output=True, text=True, timeout=240)


def run(*arguments, **variables):
    """Standard output of such a program that succeeds, and its standard error."""
    result = launch(*arguments, **variables)
    if result.returncode != 0:
        sys.exit(f"{' '.join(result.args)}: exit code {result.returncode}\n{result.stdout[-500:]}\n{result.stderr[-2000:]}")
    return result.stdout, result.stderr


def served(log, call):
    """How many calls of a kind were served and passed on, as rank 0's log has it."""
    found = re.search(rf"rank 0: {call}: (\d+) served, (\d+) passed on", log)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def expect(condition, words, log):
    if not condition:
        sys.exit(f"expected {words}, found\n{log}")


def check_other_family(name, mpirun, program, library):
    """The library of another MPI says which one to preload, before anything is misread."""
    other = library.replace(*(("_openmpi", "_mpich") if name == "openmpi" else ("_mpich", "_openmpi")))
    if not os.path.exists(other):
        print(f"{name}: no library of another MPI to preload: left out")
        return
    result = launch(mpirun, 2, program, other)
    expect(result.returncode != 0 and not result.stdout, "no result with the library of another MPI", result.stdout)
    expect(f"{os.path.basename(other)} is preloaded" in result.stderr and f"preload {os.path.basename(library)}" in result.stderr,
           "the name of the library to preload", result.stderr)
    print(f"{name}: {os.path.basename(other)} is refused")


def main():
    name, mpirun, program, library = sys.argv[1:]
    if not shutil.which(mpirun):
        print(f"skipped: {mpirun} is not installed")
        return
    check_other_family(name, mpirun, program, library)
    for ranks in (4, 3, 1):
        plain, _ = run(mpirun, ranks, program, "")
        with_log, log = run(mpirun, ranks, program, library, MULTITREE_MPI_LOG=1, MULTITREE_MPI_MIN_BYTES=0)
        if plain != with_log:
            different = [pair for pair in zip(plain.splitlines(), with_log.splitlines()) if pair[0] != pair[1]]
            sys.exit(f"{name}, {ranks} ranks: without and with the library: {different[:5]}\n{log}")
        expect(len(plain.splitlines()) > 1300, "600 digests", plain)
        if ranks == 1:
            expect(served(log, "MPI_Allreduce")[0] == 0, "nothing served for one rank", log)
            continue
        for call in ("MPI_Allreduce", "MPI_Reduce_scatter", "MPI_Reduce_scatter_block", "MPI_Allgather"):
            yes, no = served(log, call)
            expect(yes > 50 and no > 10, f"calls of {call} served and passed on", log)
        for call in ("Bcast", "Reduce", "Gather", "Scatter", "Ibcast", "Ireduce", "Iallgather",
                     "Ireduce_scatter_block", "Ireduce_scatter", "Igather", "Iscatter", "Allgatherv", "Iallgatherv", "Alltoall",
                     "Ialltoall", "Alltoallv", "Gatherv", "Scatterv", "Allreduce_init", "Reduce_init",
                     "Reduce_scatter_block_init", "Allgather_init", "Bcast_init", "Gather_init", "Scatter_init"):
            expect(served(log, f"MPI_{call}")[0] >= 4, f"calls of MPI_{call} served", log)
        # All on the world and its halves, none on the copy, which has no communicator yet.
        expect(served(log, "MPI_Iallreduce") == (48 + 64, 48), "112 of 160 MPI_Iallreduce served", log)
        for reason in ("element type or operator", "communicator of one rank", "in place",
                       "no blocking collective on this communicator before"):
            expect(reason in log, f"the reason '{reason}'", log)
        print(f"{name}, {ranks} ranks: {len(plain.splitlines())} digests agree")
    # Whatever is wished, the program runs.
    plain, _ = run(mpirun, 4, program, "")
    for variables in ({}, {"MULTITREE_MPI_DISABLE": "allreduce,allgather"}, {"MULTITREE_MPI_MIN_BYTES": 1000},
                      {"MULTITREE_MPI_MAX_COMMS": 0}, {"MULTITREE_MPI_AT_INIT": 0},
                      {"MULTITREE_MPI_TOPOLOGY": "torus:2x2", "MULTITREE_MPI_ALGORITHM": "multitree"}):
        text, log = run(mpirun, 4, program, library, MULTITREE_MPI_LOG=1, **variables)
        if text != plain:
            sys.exit(f"{name}, {variables}: results differ\n{log}")
        if "MULTITREE_MPI_MAX_COMMS" in variables:
            expect(served(log, "MPI_Allreduce")[0] == 0, "nothing served without communicators", log)
        if "MULTITREE_MPI_DISABLE" in variables:
            expect(served(log, "MPI_Allreduce")[0] == 0 and served(log, "MPI_Reduce_scatter")[0] > 0,
                   "only reductions to shards served", log)
        print(f"{name}, {variables}: digests agree")
    plain, _ = run(mpirun, 2, program, "", "errors")
    text, log = run(mpirun, 2, program, library, "errors")
    if text != plain:
        sys.exit(f"{name}, errors of the caller: {text} instead of {plain}\n{log}")
    expect("null types: MPI_ERR_TYPE, MPI_ERR_TYPE" in text, "MPI_ERR_TYPE for null types", text)
    print(f"{name}, errors of the caller: those of MPI")
    threads, _ = run(mpirun, 4, program, "", "threads")
    text, log = run(mpirun, 4, program, library, "threads", MULTITREE_MPI_LOG=1, MULTITREE_MPI_MIN_BYTES=0)
    if text != threads:
        sys.exit(f"{name}, two threads: results differ: {text} instead of {threads}\n{log}")
    if text:  # MPI_THREAD_MULTIPLE is there
        # A thread's first call makes its communicator.
        expect(served(log, "MPI_Allreduce") == (100, 0) and served(log, "MPI_Iallreduce") == (100, 0),
               "all calls of two threads served", log)
    print(f"{name}, two threads: {'digests agree' if text else 'skipped: no MPI_THREAD_MULTIPLE'}")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""nccl-tests, compiled against multitree.h by the headers of renames beside this, finds no wrong value on host memory.

usage: MULTITREE_NCCL_TESTS_SOURCE=CHECKOUT nccl_tests.py LIBRARY HEADERS [MPIRUN MPICXX [PROGRAM...]]
By ranks as threads, as several of one thread (groups), and as processes where MPIRUN is there.
"""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

import suites

RENAMES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "nccl")
# What reduces has an operator, what has a root is run with every one.
PROGRAMS = {
    "all_reduce": ["-o", "all"], "reduce_scatter": ["-o", "all"], "reduce": ["-o", "all", "-r", "-1"],
    "broadcast": ["-r", "-1"], "all_gather": [], "alltoall": [], "alltoallv": [], "sendrecv": [],
    "gather": ["-r", "-1"], "scatter": ["-r", "-1"], "hypercube": [],
}
# From less than an element to what is cut into pieces; -c 1: every value is compared.
SIZES = ["-b", "4", "-e", "1M", "-f", "64", "-n", "1", "-w", "1", "-c", "1", "-d", "all"]
# Ranks, processes, options (of a process and of each of its threads), and the algorithm.
WAYS = [(1, 1, [], "auto"), (2, 1, ["-t", "2"], "auto"), (4, 1, ["-t", "4"], "auto"), (2, 1, ["-g", "2"], "auto"),
        (4, 1, ["-t", "2", "-g", "2"], "auto"), (3, 1, ["-g", "3"], "auto"), (2, 2, [], "auto"), (4, 4, [], "auto"),
        (3, 3, [], "auto"), (4, 2, ["-t", "2"], "auto"), (4, 1, ["-t", "4"], "multitree"), (3, 3, [], "ring")]


def compile_one(compiler, flags, source, out):
    """nvcc's grammar is C++ but for launches, of which the one that is compiled here is a self-test's."""
    with open(source, encoding="utf-8") as file:
        text = re.sub(r"<<<[^;]*?>>>", "", file.read())
    command = [compiler, *flags, f"-I{os.path.dirname(source)}", "-x", "c++", "-c", "-", "-o", out]
    done = subprocess.run(command, input=f'#line 1 "{source}"\n{text}', capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{os.path.basename(source)} does not compile with {compiler}:\n{done.stderr[-3000:]}")
    return out


def build(compiler, source, library, headers, folder, names, mpi):
    """Compiles the programs `names` into `folder`."""
    os.makedirs(folder)
    flags = ["-std=c++17", "-O1", "-w", "-fpermissive", "-DNCCL_OS_LINUX", f"-I{RENAMES}", f"-I{headers}",
             *(f"-I{source}/{part}" for part in ("src", "os", "verifiable"))] + (["-DMPI_SUPPORT"] if mpi else [])

    def compiled(path):
        return compile_one(compiler, flags, os.path.join(source, path), os.path.join(folder, os.path.basename(path) + ".o"))

    shared = [compiled(path) for path in
              ("src/common.cu", "src/util.cu", "src/timer.cc", "os/linux.cc", "verifiable/verifiable.cu",
               f"{RENAMES}/last_error.cpp")]
    where = os.path.dirname(library)
    for name in names:
        command = [compiler, compiled(f"src/{name}.cu"), *shared, library, f"-Wl,-rpath,{where}", "-lpthread",
                   "-o", os.path.join(folder, name)]
        subprocess.run(command, check=True)


def judge(code, output):
    if code != 0:
        return f"exit code {code}"
    found = re.search(r"Out of bounds values : (\d+) (\w+)", output)
    if not found:
        return "no count of wrong values"
    return None if found.groups() == ("0", "OK") else f"{found[1]} wrong values"


def rows_of(output):
    return sum(1 for line in output.splitlines() if re.match(r" +\d+ +\d+ ", line))


def main():
    library, headers, *rest = sys.argv[1:]
    mpirun, mpicxx = (rest + ["", ""])[:2]
    names = rest[2:] or list(PROGRAMS)
    source = suites.source_of("MULTITREE_NCCL_TESTS_SOURCE", "nccl-tests")
    names = [name for name in names if glob.glob(f"{source}/src/{name}.cu")]
    with_mpi = bool(mpirun and shutil.which(mpirun) and shutil.which(mpicxx))
    failed, runs, lines = [], 0, 0
    with tempfile.TemporaryDirectory() as folder:
        build(os.environ.get("CXX", "g++"), source, library, headers, f"{folder}/threads", names, False)
        if with_mpi:
            build(mpicxx, source, library, headers, f"{folder}/processes", names, True)
        else:
            print("ranks as processes: left out, as there is no MPI")
        for name in names:
            for ranks, processes, options, algorithm in WAYS:
                if (processes > 1 and not with_mpi) or (name == "hypercube" and ranks > 2 and "-g" in options):
                    continue  # its steps need each other, and in a group of several ranks they would be one
                command = [f"{folder}/{'processes' if processes > 1 else 'threads'}/{name}",
                           *SIZES, *PROGRAMS[name], *options]
                outcome = suites.launch(mpirun if processes > 1 else "", processes, command, "", judge,
                                        {"MULTITREE_ALGORITHM": algorithm})
                runs, lines = runs + 1, lines + rows_of(outcome.log)
                if not outcome.passed:
                    failed.append(f"{name}, {ranks} ranks, {processes} processes {' '.join(options)}, {algorithm}: "
                                  f"{outcome.words}\n{outcome.log[-2500:]}")
                print("." if outcome.passed else "X", end="", flush=True)
    print("", *failed, f"nccl-tests: {len(names)} programs, {runs} runs, {lines} rows of a type, operator, root and size, "
          f"{len(failed)} runs failed", sep="\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

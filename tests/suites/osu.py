#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""OSU's micro-benchmarks of collectives with validation (-c) end alike with and without the preloaded library.

usage: MULTITREE_OSU_SOURCE=CHECKOUT osu.py NAME MPIRUN MPICC LIBRARY [PROGRAM...]
A release from 7.0 on. With the library twice: with its own least sizes, and serving all that it can.
"""
import glob
import os
import subprocess
import sys
import tempfile

import suites

KINDS = ("blocking", "non_blocking", "persistent")
UTILITIES = ("osu_util", "osu_util_mpi", "osu_util_graph", "osu_util_papi", "osu_util_validation")
# What configure would define.
FLAGS = ["-w", "-O1", "-D_ENABLE_MPI_", "-DFIELD_WIDTH=18", "-DFLOAT_PRECISION=2", '-DPACKAGE_VERSION="0"']
# As characters, sums of the suite's own values do not fit.
TYPES = ("mpi_int", "mpi_float")
SIZES = ["-m", "4:262144", "-i", "5", "-x", "1", "-c"]


def build(mpicc, source, folder):
    """Compiles all that this MPI can compile; the names."""
    flags = [*FLAGS, f"-I{source}/c/util"]
    objects = []
    for name in UTILITIES:
        objects.append(os.path.join(folder, name + ".o"))
        subprocess.run([mpicc, *flags, "-c", f"{source}/c/util/{name}.c", "-o", objects[-1]], check=True)
    built, left = [], []
    for file in sorted(file for kind in KINDS for file in glob.glob(f"{source}/c/mpi/collective/{kind}/*.c")):
        name = os.path.basename(file)[len("osu_"):-len(".c")]
        command = [mpicc, *flags, file, *objects, "-lm", "-lpthread", "-o", os.path.join(folder, name)]
        done = subprocess.run(command, capture_output=True, check=False)
        (built if done.returncode == 0 else left).append(name)
    print(f"not compiled with {os.path.basename(mpicc)}: {' '.join(left) or 'none'}")
    return built


def judge(code, output):
    if code != 0:
        return f"exit code {code}"
    return "a wrong value" if "Fail" in output else None


def main():
    name, mpirun, mpicc, library, *only = sys.argv[1:]
    source = suites.source_of("MULTITREE_OSU_SOURCE", "OSU's micro-benchmarks")
    suites.need(mpirun)
    suites.need(mpicc)
    with tempfile.TemporaryDirectory() as folder:
        rows = []
        for program in build(mpicc, source, folder):
            if only and program not in only:
                continue
            for kind in ("",) if "barrier" in program else TYPES:
                for ranks in sorted({min(ranks, suites.MOST_RANKS) for ranks in (2, 3, suites.MOST_RANKS)}):
                    command = [os.path.join(folder, program), *([] if not kind else [*SIZES, "-T", kind])]
                    plain = suites.launch(mpirun, ranks, command, "", judge)
                    for least in ("", "0"):
                        ours = suites.launch(mpirun, ranks, command, library, judge, least=least)
                        rows.append((f"{program} {kind} ({ranks} ranks, least size {least or 'unset'})", plain, ours))
                        print("." if plain.passed == ours.passed else "X", end="", flush=True)
        print()
        return suites.compare(f"{name}, OSU's collectives", rows)


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""MPICH's tests of collectives, test/mpi/coll, end alike with and without the preloaded library.

usage: MULTITREE_MPICH_SOURCE=CHECKOUT mpich_coll.py NAME MPIRUN MPICC LIBRARY [PROGRAM...]
A checkout of version 4.0 fits the MPIs of Debian 12.
"""
import glob
import os
import re
import subprocess
import sys
import tempfile

import suites

SHIMS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "shims")


def build(mpicc, source, folder):
    """Compiles all that this MPI can compile; the names."""
    tests = os.path.join(source, "test", "mpi")
    flags = ["-w", "-O1", f"-I{SHIMS}", f"-I{tests}/include", f"-I{tests}/dtpools/include"]
    util = [f"{tests}/util/{name}.c" for name in ("mtest", "mtest_common", "mtest_single", "dtypes")]
    pools = sorted(glob.glob(f"{tests}/dtpools/src/*.c"))
    objects = []
    for file in util + pools:
        out = os.path.join(folder, os.path.basename(file) + ".o")
        if subprocess.run([mpicc, *flags, "-c", file, "-o", out], capture_output=True, check=False).returncode == 0:
            objects.append(out)
        else:
            print(f"{os.path.basename(file)}: does not compile with {mpicc}")
    built, left = set(), []
    for file in sorted(glob.glob(f"{tests}/coll/*.c")):
        name = os.path.basename(file)[:-2]
        command = [mpicc, *flags, file, *objects, "-lm", "-lpthread", "-o", os.path.join(folder, name)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        (built.add if done.returncode == 0 else left.append)(name)
    print(f"not compiled with {os.path.basename(mpicc)}: {' '.join(left) or 'none'}")
    return built


def rows_of(source):
    """(program, ranks, arguments, variables) as the suite's list has them, each once with the ranks allowed here."""
    seen = []
    with open(os.path.join(source, "test/mpi/coll/testlist.in"), encoding="utf-8") as lines:
        for line in lines:
            words = line.split("#")[0].split()
            if len(words) < 2 or "env=MPIR" in line or "@" in words[0] or any("mem=" in word for word in words):
                continue
            arguments = [word[4:] for word in words[2:] if word.startswith("arg=")]
            if "-option=2" in arguments or "-option=1" in arguments:
                continue  # more memory than a test machine has
            row = (words[0], min(int(words[1]), suites.MOST_RANKS), tuple(arguments))
            if row not in seen:
                seen.append(row)
    return seen


def judge(code, output):
    if code != 0:
        return f"exit code {code}"
    return None if re.search(r"No Errors", output) else "no 'No Errors'"


def main():
    name, mpirun, mpicc, library, *only = sys.argv[1:]
    source = suites.source_of("MULTITREE_MPICH_SOURCE", "MPICH's sources")
    suites.need(mpirun)
    suites.need(mpicc)
    with tempfile.TemporaryDirectory() as folder:
        built = build(mpicc, source, folder)
        rows = []
        for program, ranks, arguments in rows_of(source):
            if program not in built or (only and program not in only):
                continue
            command = [os.path.join(folder, program), *arguments]
            both = [suites.launch(mpirun, ranks, command, used, judge) for used in ("", library)]
            rows.append((f"{program} {' '.join(arguments)} ({ranks} ranks)", *both))
            print("." if both[0].passed == both[1].passed else "X", end="", flush=True)
        print()
        return suites.compare(f"{name}, MPICH's test/mpi/coll", rows)


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What a call of Python takes more than the same call of C: an all-reduce of 8 bytes by one rank, in the same process.

    PYTHONPATH=build/release/python python3 python/bench/overhead.py build/release/lib/libmultitree.so

Rounds of both in turn, medians and least values in nanoseconds. Needs a C compiler.
"""
import ctypes
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
CALLS, ROUNDS = 100_000, 15


def compiled(library, folder):
    output = f"{folder}/overhead.so"
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-I", HERE.parents[1] / "runtime/c", HERE / "overhead.c", library, "-o",
                    output, f"-Wl,-rpath,{pathlib.Path(library).resolve().parent}"], check=True)
    function = ctypes.CDLL(output).nanoseconds_of_a_call
    function.restype, function.argtypes = ctypes.c_double, [ctypes.c_long]
    return function


def main(library):
    import numpy as np

    import multitree
    value = np.ones(1)
    with tempfile.TemporaryDirectory() as folder, multitree.Communicator(0, 1) as comm:
        of_c, all_reduce = compiled(library, folder), comm.all_reduce
        c, python, empty = [], [], []
        for _ in range(ROUNDS):
            c.append(of_c(CALLS))
            begin = time.perf_counter_ns()
            for _ in range(CALLS):
                all_reduce(value, value)
            middle = time.perf_counter_ns()
            for _ in range(CALLS):
                pass
            python.append((middle - begin) / CALLS)
            empty.append((time.perf_counter_ns() - middle) / CALLS)
    for name, times in (("C", c), ("Python", python), ("an empty loop of Python", empty)):
        print(f"{name}: median {statistics.median(times):.0f} ns, least {min(times):.0f} ns")
    print(f"a call of Python takes {statistics.median(p - q for p, q in zip(python, c)):.0f} ns more (median of rounds)")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])

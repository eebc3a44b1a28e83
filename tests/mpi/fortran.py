#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A Fortran program with a library in C ends well with the preloaded library, and has its log.

usage: fortran.py NAME MPIRUN LIBRARY
"""
import os
import shutil
import subprocess
import sys
import tempfile

from preload import expect, run, served

ROUNDS = 21  # of three reductions in C; two of them, and the last, with two in Fortran
IN_C = 3 * ROUNDS
IN_FORTRAN = 2 * 3


def build(name, folder):
    """The program, or what is missing to build it."""
    here = os.path.dirname(os.path.abspath(__file__))
    for tool, source in ((f"mpicc.{name}", "program_library.c"), (f"mpifort.{name}", "program.f90")):
        if not shutil.which(tool) or not shutil.which("gfortran"):
            print(f"skipped: {tool} or gfortran is not installed")
            sys.exit()
        subprocess.run([tool, "-w", "-c", os.path.join(here, source), "-o", os.path.join(folder, source + ".o")],
                       check=True, cwd=folder)
    program = os.path.join(folder, "program")
    subprocess.run([f"mpifort.{name}", "program.f90.o", "program_library.c.o", "-o", program], check=True, cwd=folder)
    return program


def main():
    name, mpirun, library = sys.argv[1:]
    if not shutil.which(mpirun):
        print(f"skipped: {mpirun} is not installed")
        return
    with tempfile.TemporaryDirectory() as folder:
        program = build(name, folder)
        expect(run(mpirun, 4, program, "")[0] == "ok\n", "ok without the library", "")
        # With an algorithm that is named, messages; without, the memory of the host.
        for variables in ({"MULTITREE_MPI_ALGORITHM": "ring"}, {}):
            # Fewer communicators at a time than the program makes in all.
            text, log = run(mpirun, 4, program, library, MULTITREE_MPI_LOG="all", MULTITREE_MPI_MIN_BYTES=0,
                            MULTITREE_MPI_MAX_COMMS=12, **variables)
            expect(text == "ok\n", "ok", text + log)
            # MPICH's Fortran calls the functions of C, that of Open MPI does not.
            calls = IN_C + (IN_FORTRAN if name == "mpich" else 0)
            expect(served(log, "MPI_Allreduce") == (calls, 0), f"{calls} calls served, none passed on", log)
            expect(log.count("MPI_Allreduce: ") == 4, "a log of every rank", log)
            print(f"{name}, {variables}: {calls} calls served")


if __name__ == "__main__":
    main()

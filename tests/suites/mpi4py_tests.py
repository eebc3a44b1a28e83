#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""mpi4py's own tests of collectives and requests end alike with and without the preloaded library.

usage: MULTITREE_MPI4PY_SOURCE=SOURCES mpi4py_tests.py NAME MPIRUN LIBRARY [MODULE...]
The sources are those of the mpi4py that MULTITREE_MPI4PY_PYTHON (default: python3) imports.
"""
import os
import re
import shutil
import subprocess
import sys

import suites

MODULES = ("test_cco_buf", "test_cco_vec", "test_cco_obj", "test_cco_nb_buf", "test_cco_nb_vec", "test_cco_pr_buf",
           "test_cco_pr_vec", "test_cco_buf_inter", "test_cco_obj_inter", "test_cco_vec_inter", "test_cco_ngh_buf",
           "test_comm", "test_comm_topo", "test_op", "test_request", "test_grequest", "test_threads",
           "test_util_pkl5")


def judge(code, output):
    """Every rank says how many tests it ran and how they ended: all have to be OK."""
    ran = re.findall(r"^Ran (\d+) tests?", output, re.MULTILINE)
    if code != 0 or not ran:
        return f"exit code {code}"
    return None


def main():
    name, mpirun, library, *only = sys.argv[1:]
    source = suites.source_of("MULTITREE_MPI4PY_SOURCE", "mpi4py's sources")
    suites.need(mpirun)
    python = os.environ.get("MULTITREE_MPI4PY_PYTHON", "python3")
    abi = {"MPI4PY_MPIABI": name}
    if subprocess.run([shutil.which(python) or python, "-c", "import mpi4py"], capture_output=True,
                      check=False).returncode != 0:
        print(f"skipped: {python} has no mpi4py")
        return 0
    rows = []
    for module in only or MODULES:
        for ranks in sorted({2, suites.MOST_RANKS}):
            command = [python, os.path.join(source, "test", "main.py"), "-i", module]
            both = [suites.launch(mpirun, ranks, command, used, judge, abi) for used in ("", library)]
            rows.append((f"{module} ({ranks} ranks)", *both))
            print("." if both[0].passed == both[1].passed else "X", end="", flush=True)
    print()
    return suites.compare(f"{name}, mpi4py's tests", rows)


if __name__ == "__main__":
    sys.exit(main())

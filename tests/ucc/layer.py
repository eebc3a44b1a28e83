#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""UCC with the team layer of runtime/ucc: a program of ours, and UCC's own test under MPI with every value compared.

usage: MULTITREE_UCC_SOURCE=BUILT MULTITREE_UCC_PREFIX=PREFIX layer.py SOURCE_DIR LIBRARY MPIRUN
BUILT is where UCC was configured and made, PREFIX where it was installed from there; nothing is written to either.
"""
import glob
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

LIMIT = 600  # seconds for one program
# What each run must say, beside ending with 0.
RUNS = {
    "calls": ["Allgatherv: 1 served", "Alltoallv: 1 served", "Fanin: 3 served", "Fanout: 3 served", "Scatterv: 3 served"],
    "teams": ["Allreduce: 4 served"],
    "unserved": [],
    "late": ["was given up: its team cannot be used any more"],
    "differ": ["allreduce of 10 int32", "allreduce of 20 int32"],
    "death": ["rank 2 died"],
}
KINDS = ("Barrier", "Bcast", "Reduce", "Allreduce", "Allgather", "Allgatherv", "Alltoall", "Alltoallv", "Reduce_scatter",
         "Reduce_scatterv", "Gather", "Gatherv", "Scatter", "Scatterv")


def folder_of(variable, what, sign):
    folder = os.environ.get(variable)
    if not folder:
        print(f"skipped: {variable} names no {what}")
        sys.exit(0)
    if not os.path.exists(os.path.join(folder, sign)):
        sys.exit(f"{variable}: expected a {what}, found no {sign} in {folder}")
    return os.path.abspath(folder)


def run(command, environment=None):
    """(exit code, all output). What is late ends with all that it has started."""
    process = subprocess.Popen(command, env={**os.environ, **(environment or {})}, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True)
    try:
        output, _ = process.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            output, _ = process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
        return 124, f"not over after {LIMIT} s\n{output}"
    return process.returncode, output


def lay_out(work, source, built, prefix, library):
    """A folder for LD_LIBRARY_PATH: UCC finds its layers beside the libucc.so that is loaded."""
    layers = work / "ucc"
    layers.mkdir()
    for file in glob.glob(f"{prefix}/lib/libucc.so*"):
        (work / os.path.basename(file)).symlink_to(file)
    for file in glob.glob(f"{prefix}/lib/ucc/*.so"):
        if "multitree" not in file:
            (layers / os.path.basename(file)).symlink_to(file)
    subprocess.run([f"{source}/scripts/ucc-tl", built, "--library", library, "-o", str(layers)], check=True)


def faults_of(name, code, output, wanted):
    missing = [words for words in wanted if words not in output]
    if code == 0 and not missing:
        print(f"{name}: ok")
        return 0
    print(f"{name}: exit code {code}, does not say {missing}\n{output[-4000:]}")
    return 1


def run_program(work, source, prefix, environment):
    program = str(work / "program")
    subprocess.run(["gcc", "-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", f"{source}/tests/ucc/program.c",
                    f"{source}/tests/ucc/ranks.c", f"-I{prefix}/include", f"-L{prefix}/lib", "-lucc", "-o", program],
                   check=True)
    faults = 0
    for way, algorithm in (("without messages", ""), ("by messages", "multitree")):
        for name, wanted in RUNS.items():
            code, output = run([program, name], {**environment, "UCC_TL_MULTITREE_ALGORITHM": algorithm})
            faults += faults_of(f"{name}, {way}", code, output, wanted)
    return faults


def run_suite(prefix, mpirun, environment):
    """Collectives that UCC's own test calls, in place and not, persistent and not, with every root."""
    suite = f"{prefix}/bin/ucc_test_mpi"
    if not (os.path.exists(suite) and shutil.which(mpirun)):
        print(f"left out: {suite} or {mpirun} is not there")
        return 0
    # The rest, as calls in place that the layer has not got, is for others.
    forced = {"UCC_TLS": "multitree,ucp,self", "UCC_TL_MULTITREE_TUNE": "inf"}
    faults = 0
    # More ranks than processors take their time.
    for ranks, cases in ((2, ["-I", "2", "-P", "2", "-r", "all"]), (3, ["-I", "2"])):
        root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
        exported = [word for name in {**environment, **forced} for word in ("-x", name)]
        code, output = run([mpirun, *root, "--oversubscribe", "-n", str(ranks), *exported, suite, "-m", "8:4096:512",
                            "-O", "0", *cases], {**environment, **forced})
        served = dict(re.findall(r"TL_MULTITREE INFO +(\w+): (\d+) served", output))
        missing = [kind for kind in KINDS if kind not in served]
        if code == 0 and re.search(r"failed: +0\b", output) and not missing:
            print(f"ucc_test_mpi, {ranks} ranks: ok, {sum(map(int, served.values()))} calls served by a rank")
            continue
        print(f"ucc_test_mpi, {ranks} ranks: exit code {code}, not served: {missing}\n{output[-4000:]}")
        faults += 1
    return faults


def main():
    source, library, mpirun = sys.argv[1:]
    built = folder_of("MULTITREE_UCC_SOURCE", "UCC that was configured and made", "config.h")
    prefix = folder_of("MULTITREE_UCC_PREFIX", "prefix of an installed UCC", "lib/ucc")
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        lay_out(work, source, built, prefix, library)
        environment = {"LD_LIBRARY_PATH": folder, "UCC_TLS": "multitree", "UCC_TL_MULTITREE_LOG_LEVEL": "info"}
        faults = run_program(work, source, prefix, environment) + run_suite(prefix, mpirun, environment)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

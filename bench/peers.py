# SPDX-License-Identifier: BSD-3-Clause
"""What else does a collective on this host, for bench/one_host and bench/allreduce."""
import os
import shutil
import sys

TUNED = ["--mca", "coll_tuned_use_dynamic_rules", "1", "--mca", "coll_tuned_allreduce_algorithm"]
OPEN_MPI = {
    "Open MPI": [],
    "Open MPI ucx": ["--mca", "pml", "ucx"],
    "Open MPI rabenseifner": TUNED + ["6"],
    "Open MPI ring": TUNED + ["4"],
    "Open MPI segmented ring": TUNED + ["5"],
    "Open MPI ucx rabenseifner": ["--mca", "pml", "ucx"] + TUNED + ["6"],
    "Open MPI sm": ["--mca", "coll_sm_priority", "100"],
}
GLOO = ["ring", "ring_chunked", "halving_doubling", "bcube"]


def peers_of(build, ranks, collective="allreduce"):
    """Name -> command, to be followed by sizes in bytes, of what is there; says what is not."""
    commands = {}
    root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    mpirun, mpiexec = shutil.which("mpirun.openmpi"), shutil.which("mpiexec.mpich") or shutil.which("mpirun.mpich")
    program = f"{build}/bench/bench_openmpi_collective"
    if mpirun and os.path.exists(program):
        for name, flags in OPEN_MPI.items():
            if collective == "allreduce" or TUNED[-2] not in flags:
                commands[name] = [mpirun, *root, "--oversubscribe", *flags, "-n", str(ranks), program, collective]
    else:
        print("# no Open MPI: needs mpirun.openmpi and a build with -DMULTITREE_BENCH_MPI=ON", file=sys.stderr)
    program = f"{build}/bench/bench_mpich_collective"
    if mpiexec and os.path.exists(program):
        # As Open MPI does, and as our own ranks are placed.
        bind = ["-bind-to", "core"] if ranks <= len(os.sched_getaffinity(0)) else []
        commands["MPICH"] = [mpiexec, *bind, "-n", str(ranks), program, collective]
    else:
        print("# no MPICH: needs mpiexec.mpich and a build with -DMULTITREE_BENCH_MPI=ON", file=sys.stderr)
    program = f"{build}/bench/bench_gloo_allreduce"
    if os.path.exists(program):
        for algorithm in GLOO if collective == "allreduce" else []:
            commands[f"Gloo {algorithm.replace('_', ' ')}"] = [program, str(ranks), algorithm]
    else:
        print("# no Gloo: needs libgloo-dev when the build is configured", file=sys.stderr)
    if shutil.which("mpirun") and (os.environ.get("UCC_PERFTEST") or shutil.which("ucc_perftest")):
        library = os.path.abspath(f"{build}/bench/libbench_ucc_yield.so")
        if os.path.exists(library):
            os.environ.setdefault("UCC_YIELD", library)
        commands["UCC"] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "ucc_collective"), str(ranks), collective]
    else:
        print("# no UCC: needs ucc_perftest on the PATH or in UCC_PERFTEST, and its mpirun", file=sys.stderr)
    return commands

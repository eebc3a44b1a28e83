#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every launcher and transport computes the same bits: all types, all operators, odd and even rank counts.

usage: agreement.py MULTITREE [RANKS...]

Inputs are arbitrary (not small integers), so a result whose bits agree was accumulated in the same order.
"""
import json
import os
import shutil
import subprocess
import sys

from ports import free_port

NETWORKS = {1: "ring:1", 2: "ring:2", 3: "ring:3", 5: "ring:5", 8: "torus:4x2", 13: "full:13", 16: "torus:4x4"}
# Fewer elements than chunks, an odd number, and (by the small segment) several segments a chunk.
FLAGS = ["-a", "multitree", "-b", "56", "-e", "3000", "-f", "50", "-n", "1", "-w", "0", "-d", "all", "-o", "all",
         "--data", "random", "--segment", "256", "--json", "-T", "60"]
DEADLINE = 240


def run(command, **kwargs):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=DEADLINE, text=True,
                          stdin=subprocess.DEVNULL, **kwargs)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


def by_environment(name, command, ranks, environment_of):
    """Starts the ranks with nothing but environment variables, as torchrun and srun do."""
    start = lambda rank: subprocess.Popen(command, env=dict(os.environ, **environment_of(rank)), text=True,
                                          stdout=subprocess.PIPE if rank == 0 else subprocess.DEVNULL,
                                          stdin=subprocess.DEVNULL)
    processes = [start(rank) for rank in range(ranks)]
    output, _ = processes[0].communicate(timeout=DEADLINE)
    codes = [process.wait(timeout=DEADLINE) for process in processes]
    if any(codes):
        sys.exit(f"{name}: exit codes {codes}")
    return output


def torchrun_style(command, ranks):
    port = str(free_port())
    return by_environment("torchrun style", command, ranks, lambda rank: {
        "RANK": str(rank), "WORLD_SIZE": str(ranks), "LOCAL_RANK": str(rank), "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": port})


def slurm_style(command, ranks):
    job = str(os.getpid())
    return by_environment("Slurm style", command, ranks, lambda rank: {
        "SLURM_PROCID": str(rank), "SLURM_NTASKS": str(ranks), "SLURM_LOCALID": str(rank), "SLURM_NODEID": "0",
        "SLURM_STEP_NODELIST": "127.0.0.1", "SLURM_JOB_ID": job, "SLURM_STEP_ID": "0"})


def launchers(ranks):
    """Name -> function from the command to its standard output."""
    found = {"built-in": run,
             "loopback": lambda command: run(command + ["--transport", "loopback"]),
             "tcp": lambda command: run(command, env=dict(os.environ, UCX_TLS="tcp,self"))}
    if ranks > 1:
        found["torchrun style"] = lambda command: torchrun_style(command, ranks)
        found["Slurm style"] = lambda command: slurm_style(command, ranks)
    open_mpi = shutil.which("mpirun.openmpi")
    if open_mpi:
        root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
        found["Open MPI"] = lambda command: run([open_mpi, *root, "--oversubscribe", "-n", str(ranks)] + command)
    mpich = shutil.which("mpirun.mpich")
    if mpich:
        found["MPICH"] = lambda command: run([mpich, "-n", str(ranks)] + command)
    return found


def digests(output, name):
    results = json.loads(output)["runs"][0]["results"]
    if len(results) != 12 * 5 * 2:
        sys.exit(f"{name}: expected 12 types x 5 operators x 2 sizes, got {len(results)} rows")
    table = {}
    for row in results:
        key = (row["type"], row["redop"], row["size"])
        for mode in ("out_of_place", "in_place"):
            if row[mode]["nwrong"] != 0:
                sys.exit(f"{name}: {row[mode]['nwrong']} wrong elements in {key} {mode}")
            table[key + (mode,)] = row[mode]["digest"]
    return table


def main():
    program = sys.argv[1]
    counts = [int(argument) for argument in sys.argv[2:]] or sorted(NETWORKS)
    skipped = [name for name, command in (("Open MPI", "mpirun.openmpi"), ("MPICH", "mpirun.mpich"))
               if not shutil.which(command)]
    if skipped:
        print(f"skipped: {', '.join(skipped)} not installed")
    for ranks in counts:
        command = [program, "run", "-t", NETWORKS[ranks], *FLAGS]
        reference = None
        for name, launch in launchers(ranks).items():
            table = digests(launch(command), name)
            reference = reference or table
            different = [key for key in reference if reference[key] != table[key]]
            if different:
                sys.exit(f"{ranks} ranks: {name} differs from the built-in launcher in {different[:5]} "
                         f"and {len(different)} in all")
        out_of_place = {key[:3]: value for key, value in reference.items() if key[3] == "out_of_place"}
        in_place = {key[:3]: value for key, value in reference.items() if key[3] == "in_place"}
        if out_of_place != in_place:
            sys.exit(f"{ranks} ranks: in place differs from out of place")
        print(f"{ranks:3} ranks: {', '.join(launchers(ranks))} agree in {len(reference)} results", flush=True)


if __name__ == "__main__":
    main()

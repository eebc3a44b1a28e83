#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A Slurm of our own on this host, and jobs by srun: plain, PMI-2, PMIx, several steps at a time, a rank that dies.

usage: slurm.py MULTITREE     exit code 77: skipped, with the reason
"""
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time

from ports import free_port

SKIPPED = 77
DEADLINE = 60  # of a command
RANKS = 4
RUN = ["run", "-t", "torus:2x2", "-b", "4K", "-e", "64K", "-f", "16", "-n", "2", "-w", "1", "--data", "random", "--digest",
       "--json"]

CONFIGURATION = """
ClusterName=private
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmctldPort={controller_port}
SlurmdPort={node_port}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
MpiDefault=none
JobCompType=jobcomp/none
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
KillWait=2
NodeName=localhost NodeHostname={host} NodeAddr=127.0.0.1 CPUs=16 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=10 State=UP
"""


class Failed(Exception):
    pass


def expect(holds, words):
    if not holds:
        raise Failed(words)


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def has_cgroups(mounts="/proc/self/mounts"):
    """slurmd of Slurm 22.05 asks for the controllers of its own cgroup when it starts, whatever plugins are chosen."""
    with open(mounts, encoding="utf-8", errors="replace") as listing:
        return any(line.split()[2] in ("cgroup", "cgroup2") for line in listing)


class Cluster:
    """munged, slurmctld and slurmd as children, which do not outlive this process."""

    def __init__(self, folder):
        self.folder, self.daemons = folder, []
        self.environment = dict(os.environ, SLURM_CONF=f"{folder}/slurm.conf")
        for name in [name for name in self.environment if name.startswith(("SLURM_", "PMI", "SRUN_", "SBATCH_"))]:
            if name != "SLURM_CONF":
                del self.environment[name]

    def __enter__(self):
        folder = self.folder
        for name in ("state", "spool"):
            os.mkdir(f"{folder}/{name}", 0o700)
        with open(f"{folder}/slurm.conf", "w", encoding="ascii") as file:
            file.write(CONFIGURATION.format(folder=folder, host=socket.gethostname().split(".")[0],
                                            controller_port=free_port(), node_port=free_port()))
        descriptor = os.open(f"{folder}/munge.key", os.O_WRONLY | os.O_CREAT, 0o600)
        os.write(descriptor, os.urandom(128))
        os.close(descriptor)
        try:
            self.start("munged", "--foreground", "--force", f"--key-file={folder}/munge.key",
                       f"--socket={folder}/munge.socket", f"--pid-file={folder}/munge.pid",
                       f"--log-file={folder}/munge.log", f"--seed-file={folder}/munge.seed")
            self.wait_for("munged", lambda: os.path.exists(f"{folder}/munge.socket"))
            self.start("slurmctld", "-D", "-f", f"{folder}/slurm.conf")
            self.start("slurmd", "-D", "-f", f"{folder}/slurm.conf")
            self.wait_for("an idle node", lambda: self.command("sinfo", "-h", "-o", "%T").stdout.strip() == "idle")
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_):
        self.stop()

    def start(self, *command):
        with open(f"{self.folder}/{command[0]}.out", "wb") as output:
            self.daemons.append(subprocess.Popen(["setpriv", "--pdeathsig", "KILL", *command], env=self.environment,
                                                 stdin=subprocess.DEVNULL, stdout=output, stderr=output))

    def wait_for(self, what, is_there):
        end = time.monotonic() + DEADLINE
        while not is_there():
            ended = [daemon for daemon in self.daemons if daemon.poll() is not None]
            if ended or time.monotonic() > end:
                raise Failed(f"waited for {what}" + (f": {ended[0].args[3]} has ended" if ended else "") +
                             "\n" + self.logs())
            time.sleep(0.1)

    def logs(self):
        words = ""
        for name in sorted(os.listdir(self.folder)):
            if name.endswith((".log", ".out")):
                with open(f"{self.folder}/{name}", encoding="utf-8", errors="replace") as file:
                    words += f"-- {name}\n" + "".join(file.readlines()[-15:])
        return words

    def command(self, *command):
        return subprocess.run(command, env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=DEADLINE, check=False)

    def output(self, *command):
        done = self.command(*command)
        expect(done.returncode == 0, f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr}\n{self.logs()}")
        return done.stdout

    def stop(self):
        if len(self.daemons) == 3:
            try:
                self.command("scancel", "--full", "--user=root", "--signal=KILL")
            except subprocess.TimeoutExpired:
                pass
        for daemon in reversed(self.daemons):
            daemon.terminate()
            try:
                daemon.wait(timeout=10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()


def digests(text, launcher):
    """Of all results, which must be right; `launcher`: what must have been recognised."""
    report = json.loads(text)
    expect(report["config"]["launch"] == launcher, f"expected {launcher}, got {report['config']['launch']}")
    rows = [row[mode] for row in report["runs"][0]["results"] for mode in ("out_of_place", "in_place")]
    expect(len(rows) == 4 and all(row["nwrong"] == 0 for row in rows), f"{launcher}: {rows}")
    return [row["digest"] for row in rows]


def case_interfaces(cluster, program, reference):
    """Plain srun, PMI-2 and PMIx: the same bits as without Slurm."""
    offered = cluster.output("srun", "--mpi=list") + cluster.command("srun", "--mpi=list").stderr
    for interface, launcher in (("none", "Slurm"), ("pmi2", "Slurm (PMI-1)"), ("pmix", "Slurm (PMIx)")):
        if interface not in offered.split():
            print(f"srun --mpi={interface}: this Slurm has no such plugin")
            continue
        words = cluster.output("srun", f"--mpi={interface}", "-n", str(RANKS), program, *RUN)
        expect(digests(words, launcher) == reference, f"srun --mpi={interface}: other results than without")
        print(f"srun --mpi={interface}: {launcher}, {RANKS} ranks, right results", flush=True)


def case_steps(cluster, program, reference):
    """In a batch script: a job of its own on the node, then two steps at the same time."""
    run = " ".join([program, *RUN])
    script = f"{cluster.folder}/script"
    with open(script, "w", encoding="utf-8") as file:
        file.write(f"#!/bin/sh\n{run} > {script}.0\n"
                   f"srun --exact -n {RANKS} {run} > {script}.1 &\nsrun --exact -n {RANKS} {run} > {script}.2 &\nwait\n")
    cluster.output("sbatch", "--wait", "-n", str(2 * RANKS), "-o", f"{script}.out", script)
    for step, launcher in enumerate(("local launcher", "Slurm", "Slurm")):
        with open(f"{script}.{step}", encoding="utf-8") as file:
            expect(digests(file.read(), launcher) == reference, f"step {step} of a batch job: other results")
    print("sbatch: without srun, and two steps at a time: right results", flush=True)


def case_death(cluster, program):
    """One that never comes is named, and the job ends."""
    done = cluster.command("srun", "-n", "3", "sh", "-c",
                           f'[ "$SLURM_PROCID" = 2 ] && exit 5; exec {program} run -t ring:3 -T 3 -b 1K -e 1K')
    expect(done.returncode != 0 and "in vain for rank 2" in done.stderr,
           f"expected rank 2 to be named: exit code {done.returncode}\n{done.stderr}")
    print("srun: a rank that does not come is named", flush=True)


def main():
    program = os.path.abspath(sys.argv[1])
    missing = [name for name in ("munged", "slurmctld", "slurmd", "srun", "sbatch", "setpriv") if not shutil.which(name)]
    if missing:
        skip(f"{', '.join(missing)} not installed")
    if os.geteuid() != 0:
        skip("a private Slurm needs root")
    if not has_cgroups():
        skip("no cgroup filesystem is mounted, without which slurmd does not start")
    local = subprocess.run([program, *RUN], stdout=subprocess.PIPE, text=True, timeout=DEADLINE, check=True)
    reference = digests(local.stdout, "local launcher")
    folder = tempfile.mkdtemp(prefix="slurm-")
    try:
        with Cluster(folder) as cluster:
            print(cluster.output("srun", "--version").strip(), flush=True)
            case_interfaces(cluster, program, reference)
            case_steps(cluster, program, reference)
            case_death(cluster, program)
    except Failed as failure:
        sys.exit(f"FAILED: {failure}")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Memory that ranks of a host share: nothing of it stays behind, and where there is none the job goes on or says so.

usage: memory.py MULTITREE
"""
import os
import random
import signal
import subprocess
import sys
import time

DEADLINE = 120
FOLDER = "/dev/shm"
JOB = ["run", "-t", "ring:2", "--no-host-path", "-b", "1K", "-e", "64K", "-f", "64", "-w", "0"]
RUN = [*JOB, "-n", "2"]
KILLS = 20


def fail(what, *outputs):
    sys.exit("\n".join([what, *outputs]))


def files():
    return {name for name in os.listdir(FOLDER) if name.startswith("ucx_shm_")}


def segments(creators):
    """System V memory that nobody has any more, of these processes. Not single pages: with one UCX finds out, before it
    makes its own, whether it hears of memory that comes and goes; a process that is killed right then leaves it."""
    with open("/proc/sysvipc/shm", encoding="ascii") as listing:
        rows = [line.split() for line in list(listing)[1:]]
    return [row[1] for row in rows
            if int(row[6]) == 0 and int(row[4]) in creators and int(row[3]) > os.sysconf("SC_PAGE_SIZE")]


def call(command, tls=None):
    env = {name: value for name, value in os.environ.items() if not name.startswith(("UCX_", "MULTITREE_"))}
    done = subprocess.run(command, env=dict(env, **({"UCX_TLS": tls} if tls else {})), text=True, timeout=DEADLINE,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    return done.returncode, done.stdout + done.stderr


def expect(got, code, *words):
    if got[0] != code or not all(word in got[1] for word in words):
        fail(f"expected exit code {code} and {words}, got {got[0]}", got[1])


def limited(blocks, command):
    """With files of at most so many KiB."""
    return ["bash", "-c", f'ulimit -f {blocks}; exec "$@"', "limited", *command]


def alone(setup, command):
    """With namespaces of its own, in which `setup` is done."""
    return ["unshare", "--mount", "--ipc", "sh", "-c", f'{setup} && exec "$@"', "alone", *command]


FULL = f"mount -t tmpfs -o size=16k none {FOLDER}"
NO_SEGMENTS = "echo 0 > /proc/sys/kernel/shmmni"


def case_limit_of_files(program):
    """A limit on files kills nobody."""
    before = files()
    expect(call(limited(8, [program, *RUN])), 0, "Out of bounds values : 0 OK")
    expect(call(limited(8, [program, *RUN, "-a", "multitree"]), "posix,self"), 4, "UCX: worker: ", f"({FOLDER} has ")
    expect(call(limited(8, [program, "run", "-t", "ring:2", "-a", "host", "-b", "1M", "-e", "1M", "-n", "1"])), 2,
           "cannot reserve", "File too large")
    if files() - before:
        fail(f"left behind in {FOLDER}: {files() - before}")
    print("a limit on files: messages pass, the rest is told, nothing stays behind", flush=True)


def case_full(program):
    """A full /dev/shm is not needed, is named where the user asks for it, and TCP is the last resort."""
    if subprocess.run(alone(FULL, ["true"]), stderr=subprocess.DEVNULL, check=False).returncode != 0:
        print("may not mount: a full /dev/shm is left out")
        return
    expect(call(alone(FULL, [program, *RUN])), 0, "Out of bounds values : 0 OK")
    expect(call(alone(FULL, [program, *RUN]), "posix,self"), 4, "UCX: worker: ", f"({FOLDER} has ", "of 16384 bytes left)")
    without = call(alone(NO_SEGMENTS, [program, *RUN]))
    expect(without, 0, "Out of bounds values : 0 OK")
    if "TCP instead" in without[1]:
        fail("expected memory in files", without[1])
    expect(call(alone(f"{FULL} && {NO_SEGMENTS}", [program, *RUN])), 0, "Out of bounds values : 0 OK",
           "no shared memory for messages, TCP instead: UCX: ", "of 16384 bytes left)")
    print("a full /dev/shm: messages pass", flush=True)


def children_of(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as listing:
            return [int(child) for child in listing.read().split()]
    except FileNotFoundError:
        return []


def case_interrupts(program, dice):
    """Killed while they open their memory or use it, ranks leave none."""
    before, creators = files(), set()
    for _ in range(KILLS):
        job = subprocess.Popen([program, *JOB, "-n", "100000"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
        end = time.monotonic() + 10
        while len(children_of(job.pid)) < 2 and time.monotonic() < end:
            time.sleep(0.001)
        children = children_of(job.pid)
        if len(children) < 2:
            fail("the job did not start")
        creators.update(children)
        time.sleep(dice.uniform(0, 0.15))
        for pid in (*children, job.pid):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        job.wait(timeout=DEADLINE)
    time.sleep(1)
    if files() - before or segments(creators):
        fail(f"left behind: {files() - before}, System V: {segments(creators)}")
    print(f"{KILLS} jobs killed: nothing stays behind", flush=True)


def main():
    program = sys.argv[1]
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(10**6)
    print(f"seed {seed}", flush=True)
    case_limit_of_files(program)
    case_full(program)
    case_interrupts(program, random.Random(seed))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Kills ranks of runs that are to go on without them: the rest must end with right sums, and name who is lost.

usage: survive.py MULTITREE [KILLS [SEED]]

Rounds kill one to three ranks of eight, at random moments, some at the same time; some rounds over TCP, some with
checksums. Rank 0 is among the victims: the launcher is where the ranks meet.
"""
import os
import random
import re
import signal
import sys
import time

from watched import Job

RANKS = 8
PATIENCE = 120  # seconds a round may take after its last kill
FLAGS = ["run", "-t", "torus:4x2", "-a", "multitree,ring", "-b", "16K", "-e", "256K", "-f", "4", "-T", "15",
         "--on-failure", "shrink"]


def fail(what, *outputs):
    sys.exit("\n".join([what, *outputs]))


def ranks_of(launcher):
    """The processes by rank, as far as they are there."""
    found = {}
    try:
        with open(f"/proc/{launcher}/task/{launcher}/children") as listing:
            children = [int(child) for child in listing.read().split()]
    except FileNotFoundError:
        return found
    for pid in children:
        try:
            with open(f"/proc/{pid}/environ", "rb") as environ:
                match = re.search(rb"MULTITREE_RANK=(\d+)", environ.read())
        except OSError:
            continue
        if match:
            found[int(match.group(1))] = pid
    return found


def check(output, code, killed):
    if code != 0:
        fail(f"expected exit code 0 after the loss of {killed}, got {code}", output)
    rows = [line.split("|") for line in output.splitlines() if re.match(r" +\d+ ", line)]
    wrong = not rows or any(mode.split()[-1] != "0" for row in rows for mode in row[1:])
    if wrong or "Out of bounds values : 0 OK" not in output:
        fail(f"wrong sums after the loss of {killed}", output)
    named = {int(rank) for line in re.findall(r"# ranks? ([\d, ]+) lost", output) for rank in line.split(",")}
    if not named <= set(killed):
        fail(f"killed {sorted(killed)}, but {sorted(named)} are said to be lost", output)
    return named


def run(program, dice, kills, iterations):
    flags = [*FLAGS, "-n", str(iterations)]
    env = dict(os.environ)
    if dice.random() < 0.3:
        env["UCX_TLS"] = "tcp,self"
    if dice.random() < 0.3:
        flags.append("--checksums")
    job, killed = Job([program, *flags], env), []
    try:
        # Who dies before all have met ends the run.
        if not job.await_line(r"^#  *\(B\)", PATIENCE):
            fail(f"no start within {PATIENCE} s", job.text)
        for _ in range(kills):
            time.sleep(dice.choice([0.0, dice.uniform(0.2, 1.5)]) if killed else dice.uniform(0.0, 1.5))
            there = {rank: pid for rank, pid in ranks_of(job.process.pid).items() if rank not in killed}
            if len(there) < 2:
                break  # over, or about to be
            victim = dice.choice(sorted(there))
            os.kill(there[victim], signal.SIGKILL)
            killed.append(victim)
        begin = time.monotonic()
        code = job.end(PATIENCE)
        if code is None:
            fail(f"still running {PATIENCE} s after the loss of {killed}", job.text)
        return killed, check(job.text, code, killed), time.monotonic() - begin
    finally:
        job.process.kill()
        job.process.wait()


def main():
    program = sys.argv[1]
    kills = int(sys.argv[2]) if len(sys.argv) > 2 else 200
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else random.randrange(10**6)
    print(f"{kills} kills, seed {seed}", flush=True)
    dice = random.Random(seed)
    done = noticed = 0
    iterations = 40
    while done < kills:
        killed, named, took = run(program, dice, min(dice.randint(1, 3), kills - done), iterations)
        if not killed:
            iterations *= 2  # too short for this machine
            continue
        done += len(killed)
        noticed += len(named)
        print(f"{done:4}: lost {killed}, noticed {sorted(named)}, ended {took:.2f} s later", flush=True)
    if noticed == 0:
        fail("no loss was noticed: the runs were too short")
    print(f"{done} kills, {noticed} of them in the middle of the work; no hang, no wrong sum")


if __name__ == "__main__":
    main()

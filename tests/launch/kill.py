#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Kills a rank at random moments: every survivor must leave in time, with a message and exit code 4.

usage: kill.py MULTITREE [ROUNDS [SEED]]

Odd rounds start the ranks one by one as torchrun does, so that every survivor's exit code is seen; even
rounds use the built-in launcher, and check that it leaves no process behind.
"""
import os
import random
import re
import signal
import subprocess
import sys
import time

from ports import free_port
from watched import Job

RANKS = 8
TIMEOUT = 10  # of the communicator; a death is noticed long before
LEAVE = 8  # seconds a survivor may take
MEET = 120  # seconds until all have met, on a slow machine
FLAGS = ["run", "-t", "torus:4x2", "-a", "multitree,ring", "-b", "64K", "-e", "16M", "-f", "2", "-n", "100000",
         "-T", str(TIMEOUT)]
NAMES_THE_DEAD = r"rank {0}( \(coordinator\))? (died|was killed)"


def fail(what, *outputs):
    sys.exit("\n".join([what, *outputs]))


def children_of(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as listing:
            return [int(child) for child in listing.read().split()]
    except FileNotFoundError:
        return []


def rank_of(pid):
    with open(f"/proc/{pid}/environ", "rb") as environ:
        return int(re.search(rb"MULTITREE_RANK=(\d+)", environ.read()).group(1))


def one_by_one(program, moment, victim):
    port = str(free_port())
    ranks = []
    for rank in range(RANKS):
        env = dict(os.environ, RANK=str(rank), WORLD_SIZE=str(RANKS), MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
        ranks.append(Job([program, *FLAGS], env))
    try:
        # Without a launcher nobody knows of one that dies before it has joined.
        if not ranks[0].await_line(r"^#  *\(B\)", MEET):
            fail(f"no start within {MEET} s", *(job.text for job in ranks))
        time.sleep(moment)
        ranks[victim].process.send_signal(signal.SIGKILL)
        killed = time.monotonic()
        for rank, job in enumerate(ranks):
            if rank == victim:
                continue
            code = job.end(max(0.1, killed + LEAVE - time.monotonic()))
            if code is None:
                fail(f"rank {rank} still runs {LEAVE} s after the death of rank {victim}")
            if code != 4:
                fail(f"rank {rank}: expected exit code 4, got {code}", job.text)
            if not re.search(NAMES_THE_DEAD.format(victim), job.text):
                fail(f"rank {rank} does not name rank {victim}", job.text)
        return time.monotonic() - killed
    finally:
        for job in ranks:
            job.process.kill()
            job.process.wait()


def built_in(program, moment, victim):
    launcher = subprocess.Popen([program, *FLAGS], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                stdin=subprocess.DEVNULL)
    try:
        time.sleep(moment)
        children = children_of(launcher.pid)
        if len(children) != RANKS:
            fail(f"expected {RANKS} processes after {moment:.2f} s, got {len(children)}")
        os.kill(next(pid for pid in children if rank_of(pid) == victim), signal.SIGKILL)
        killed = time.monotonic()
        try:
            _, errors = launcher.communicate(timeout=LEAVE)
        except subprocess.TimeoutExpired:
            fail(f"the launcher still runs {LEAVE} s after the death of rank {victim}")
        if launcher.returncode != 4:
            fail(f"launcher: expected exit code 4, got {launcher.returncode}", errors)
        survivors = set(re.findall(r"rank (\d+): ", errors)) - {str(victim)}
        if len(survivors) < RANKS - 1 or not re.search(NAMES_THE_DEAD.format(victim), errors):
            fail(f"expected all survivors to name rank {victim}, got", errors)
        left = [pid for pid in children if os.path.exists(f"/proc/{pid}")]
        if left:
            fail(f"processes left behind: {left}")
        return time.monotonic() - killed
    finally:
        launcher.kill()
        launcher.wait()


def main():
    program = sys.argv[1]
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else random.randrange(10**6)
    print(f"{rounds} rounds, seed {seed}", flush=True)
    dice = random.Random(seed)
    slowest = 0
    for number in range(1, rounds + 1):
        kind = one_by_one if number % 2 else built_in
        moment, victim = dice.uniform(0.4, 2.0), dice.randrange(RANKS)
        took = kind(program, moment, victim)
        slowest = max(slowest, took)
        print(f"{number:3}: {kind.__name__}, rank {victim} killed after {moment:.2f} s, all gone {took:.2f} s later",
              flush=True)
    print(f"slowest: {slowest:.2f} s")


if __name__ == "__main__":
    main()

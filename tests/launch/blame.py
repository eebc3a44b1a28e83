#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Ranks that stand still in the middle of a job: every other rank says which one, and in which call, within a second of its
deadline.

usage: blame.py MULTITREE [--jobs N] [--seed S]
"""
import argparse
import os
import random
import re
import signal
import subprocess
import sys
import time

from ports import free_port

TIMEOUT = 1.5   # seconds without progress that a rank bears
ASKING = 1.0    # to find out who
WAYS = {
    "shared memory": (["-a", "host"], {}),
    "messages, TCP": (["-a", "ring", "--transport", "tcp"], {}),
    "messages, UCX": (["-a", "multitree"], {"UCX_TLS": "tcp,self"}),
}


class Job:
    """Ranks that call all-reduces without end, each with its own output."""

    def __init__(self, program, way, ranks, size):
        flags, variables = WAYS[way]
        meeting = f"127.0.0.1:{free_port()}"
        self.ranks = [subprocess.Popen(
            [program, "run", "-t", f"full:{ranks}", *flags, "-b", size, "-e", size, "-n", "2000000000", "-w", "0",
             "-T", str(TIMEOUT)],
            env=dict(os.environ, MULTITREE_RANK=str(rank), MULTITREE_SIZE=str(ranks), MULTITREE_RENDEZVOUS=meeting,
                     **variables),
            text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            for rank in range(ranks)]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for rank in self.ranks:
            rank.kill()
            rank.communicate()


def stand_still(program, way, ranks, size, victim, delay):
    """Stops a rank after so many seconds; what the others said, and how long after it they had."""
    with Job(program, way, ranks, size) as job:
        time.sleep(delay)
        job.ranks[victim].send_signal(signal.SIGSTOP)
        begin = time.monotonic()
        words = {}
        for number, rank in enumerate(job.ranks):
            if number == victim:
                continue
            try:
                words[number] = rank.communicate(timeout=30)[0]
            except subprocess.TimeoutExpired:
                sys.exit(f"{way}: rank {number} of {ranks} did not end within 30 s; rank {victim} stands still")
        return words, time.monotonic() - begin


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--jobs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    chance = random.Random(options.seed)
    longest = 0
    for number in range(options.jobs):
        way = list(WAYS)[number % len(WAYS)]
        ranks = chance.randint(2, 6)
        size = chance.choice(["8", "4K", "256K", "4M"])
        victim = chance.randrange(ranks)
        what = f"{way}, {ranks} ranks, {size}, rank {victim} stands still"
        words, taken = stand_still(options.program, way, ranks, size, victim, 1 + chance.random())
        for rank, text in words.items():
            named = re.search(r"ranks? ([\d, -]+?)(?: \(coordinator\))? do(?:es)? not answer.* in allreduce #\d+ of \d+ float, sum", text)
            if named is None or named.group(1) != str(victim):
                sys.exit(f"{what} (seed {options.seed}, job {number}): rank {rank} said\n{text}")
        if taken > TIMEOUT + ASKING + 1:
            sys.exit(f"{what}: {taken:.1f} s until all knew")
        longest = max(longest, taken)
        print(f"{what}: named by all others after {taken:.2f} s", flush=True)
    print(f"{options.jobs} jobs: the right rank and call each time, at the latest {longest - TIMEOUT:.2f} s after the deadline")


if __name__ == "__main__":
    main()

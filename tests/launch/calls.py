#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Ranks that call different things: an error at both, in words that name both calls, and never a wrong sum.

usage: calls.py MULTITREE
"""
import os
import subprocess
import sys
import time

from ports import free_port

DEADLINE = 120
# Flags, and the words for the call that they make.
SUM = (["-d", "float", "-o", "sum", "-b", "1K", "-e", "1K"], "allreduce of 256 float, sum")
MAX = (["-d", "int32", "-o", "max", "-b", "1K", "-e", "1K"], "allreduce of 256 int32, max")
LONGER = (["-d", "float", "-o", "sum", "-b", "2K", "-e", "2K"], "allreduce of 512 float, sum")


def differ(program, flags, variables, both):
    """What two ranks say that are started with flags of their own."""
    meeting = f"127.0.0.1:{free_port()}"
    start = lambda rank: subprocess.Popen(
        [program, "run", "-t", "ring:2", "-n", "2", "-w", "0", *flags, *both[rank][0]],
        env=dict(os.environ, MULTITREE_RANK=str(rank), MULTITREE_SIZE="2", MULTITREE_RENDEZVOUS=meeting, **variables),
        text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    ranks = [start(rank) for rank in range(2)]
    try:
        return [(rank.communicate(timeout=DEADLINE)[0], rank.returncode) for rank in ranks]
    finally:
        for rank in ranks:
            rank.kill()


def main():
    program = sys.argv[1]
    ways = {"shared memory": (["-a", "host"], {})}
    for name, tls in (("UCX over shared memory", "posix,self"), ("UCX over TCP", "tcp,self")):
        ways[name] = (["-a", "ring"], {"UCX_TLS": tls})
        ways[f"{name}, with checksums"] = (["-a", "ring", "--checksums"], {"UCX_TLS": tls})
    for name, (flags, variables) in ways.items():
        for both in ((SUM, MAX), (MAX, SUM), (SUM, LONGER)):
            begin = time.monotonic()
            for rank, (text, code) in enumerate(differ(program, flags, variables, both)):
                told = f"{name}: {both}: rank {rank}, exit code {code}\n{text}"
                for caller, (_, words) in enumerate(both):
                    if f"rank {caller} calls {words}" not in text:
                        sys.exit(f"expected the call of rank {caller}\n{told}")
                if code not in (2, 4) or "Out of bounds" in text or "rank  at" in text:
                    sys.exit(f"expected an error and no results\n{told}")
            taken = time.monotonic() - begin
            if taken > 15:
                sys.exit(f"{name}: {both}: {taken:.1f} s until both ranks knew")
        print(f"{name}: both ranks name both calls", flush=True)


if __name__ == "__main__":
    main()

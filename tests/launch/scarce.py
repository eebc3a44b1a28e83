#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Jobs that have too little of something run, or end with an error in time, and leave no process behind.

usage: scarce.py MULTITREE
"""
import os
import random
import resource
import subprocess
import sys

from watched import ranks_where

PATIENCE = 100  # seconds for a job that gives up after DEADLINE
DEADLINE = 10
PATHS = {
    "shared memory": ["-a", "host"],
    "messages": ["-a", "ring", "--no-host-path"],
    "TCP sockets": ["-a", "ring", "--no-host-path", "--transport", "tcp"],
}
DESCRIPTORS = (6, 8, 9, 10, 12, 14, 32)  # from too few to start a process to enough for all
FILE_BYTES = (0, 4096)
RIGHT = (0, 2, 3, 4)  # done; what was asked for cannot be had; cannot start; the ranks have not met, or have lost each other


def run(program, path, what, limit, expected):
    """One job of four ranks."""
    mark = str(random.random())
    command = [program, "run", "-t", "ring:4", *PATHS[path], "-b", "64K", "-e", "64K", "-n", "2", "-w", "0", "-T", str(DEADLINE)]
    try:
        done = subprocess.run(command, env=dict(os.environ, SCARCE_TEST=mark), text=True, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE, check=False, preexec_fn=limit)
    except subprocess.TimeoutExpired as late:
        sys.exit(f"{path}, {what}: no end within {PATIENCE} s\n{late.stderr}")
    if done.returncode not in expected:
        sys.exit(f"{path}, {what}: expected an exit code of {expected}, got {done.returncode}\n{done.stderr}")
    if done.returncode != 0 and "multitree: " not in done.stderr:
        sys.exit(f"{path}, {what}: exit code {done.returncode} and no reason\n{done.stderr}")
    left = ranks_where("SCARCE_TEST", mark)
    if left:
        sys.exit(f"{path}, {what}: processes are left: {left}")
    print(f"{path}, {what}: exit code {done.returncode}", flush=True)


def main():
    program = sys.argv[1]
    for path in PATHS:
        for count in DESCRIPTORS:
            limit = lambda count=count: resource.setrlimit(resource.RLIMIT_NOFILE, (count, count))
            run(program, path, f"{count} descriptors", limit, (0,) if count >= 32 else RIGHT)
        for count in FILE_BYTES:
            limit = lambda count=count: resource.setrlimit(resource.RLIMIT_FSIZE, (count, count))
            run(program, path, f"files of {count} bytes", limit, RIGHT)


if __name__ == "__main__":
    main()

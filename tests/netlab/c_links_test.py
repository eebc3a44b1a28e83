#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A program in C goes on around a link of an emulated cluster that swallows everything.

usage: c_links_test.py NETLAB PROGRAM MULTITREE     exit code 77: skipped, with the reason
"""
import os
import subprocess
import sys
import time

from lab_test import SKIPPED, can_emulate

DEADLINE = 120
NAME = f"c-links-{os.getpid()}"


def call(script, env, *arguments):
    done = subprocess.run([script, *arguments], env=env, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=DEADLINE, check=False)
    if done.returncode != 0:
        sys.exit(f"netlab {' '.join(arguments)}: exit code {done.returncode}\n{done.stdout}")


def go_around(script, program, env):
    call(script, env, "up", NAME, "torus:3x2", "--control")
    try:
        job = subprocess.Popen([script, "run", NAME, "--deadline", str(DEADLINE), "--", program, "1", "4"], env=env,
                               text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        try:
            first = job.stdout.readline()
            if "ready" not in first:
                sys.exit(f"no start: {first}{job.communicate(timeout=DEADLINE)[0]}")
            time.sleep(0.2)
            call(script, env, "set", NAME, "n1-n4", "--drop")
            text, _ = job.communicate(timeout=DEADLINE)
        finally:
            job.kill()
        if job.returncode != 0 or "went on around link 1-4" not in text:
            sys.exit(f"exit code {job.returncode}\n{text}")
        print(f"{env['MULTITREE_TRANSPORT']}: {text.strip()}", flush=True)
    finally:
        call(script, env, "down", NAME)


def main():
    script, program, multitree = sys.argv[1:]
    reason = can_emulate()
    if reason:
        print(f"skipped: {reason}")
        sys.exit(SKIPPED)
    for transport in ("ucx", "tcp"):
        go_around(script, program, dict(os.environ, MULTITREE=multitree, MULTITREE_TRANSPORT=transport))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Flight records of whole jobs: what `status` says of one that stands still and of one that runs, what `postmortem` says of
one that has failed, and that nothing is left of one that went well.

usage: flight.py MULTITREE
"""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

DEADLINE = 60


def tell(program, *words):
    done = subprocess.run([program, *words], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=DEADLINE)
    return done.stdout, done.returncode


def expect(pattern, text):
    if re.search(pattern, text) is None:
        sys.exit(f"expected {pattern!r} in\n{text}")


def start(program, folder, *flags):
    return subprocess.Popen([program, "run", "--np", "3", "-b", "4K", "-e", "4K", "-w", "0", *flags],
                            env=dict(os.environ, MULTITREE_FLIGHT=folder), text=True, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def records(program, folder):
    """The newest communicator's, once all of its ranks have made calls."""
    end = time.monotonic() + DEADLINE
    while time.monotonic() < end:
        text, code = tell(program, "status", folder, "--json")
        jobs = json.loads(text)["jobs"] if code in (0, 1) else []
        if jobs:
            job = jobs[0]
            if len(job["records"]) == 3 and all(one["calls_begun"] > 10 for one in job["records"]):
                return job
        time.sleep(0.1)
    sys.exit("no three ranks that make calls\n" + text)


def check_way(program, flags):
    with tempfile.TemporaryDirectory() as folder:
        job = start(program, folder, "-n", "100000000", "-T", "6", *flags)
        try:
            ranks = records(program, folder)["records"]
            text, code = tell(program, "status", folder)
            if code != 0:
                sys.exit(f"expected status 0 of a job that runs, found {code}\n{text}")
            os.kill(ranks[1]["process"], signal.SIGSTOP)
            time.sleep(2)
            text, code = tell(program, "status", folder)
            expect(r"rank 1 does not answer: it computes or is stopped, while .* in allreduce #\d+ of 1024 float, sum", text)
            if code != 1:
                sys.exit(f"expected status 1 of a job that stands still, found {code}\n{text}")
            expect(r'multitree_wait_seconds\{job="\w{16}",rank="0",host="[^"]+"\} [1-9]\d*\.|multitree_wait_seconds\{.*rank="2".*\} [1-9]',
                   tell(program, "status", folder, "--prometheus")[0])
            job.communicate(timeout=DEADLINE)  # the others give up, and the launcher ends the rest
            text, code = tell(program, "postmortem", folder)
            expect(r"rank 1 (does not answer|has ended without a word)", text)
            expect(r"rank [02, -]+: allreduce #\d+: no progress for 6000 ms", text)
            expect(r"#\d+ .* allreduce of 1024 float, sum +0-2 +0-2", text)
            if code != 1:
                sys.exit(f"expected exit code 1 of a post-mortem, found {code}\n{text}")
        finally:
            job.kill()
            job.communicate()


def check_good_job(program):
    with tempfile.TemporaryDirectory() as folder:
        text = start(program, folder, "-n", "5").communicate(timeout=DEADLINE)[0]
        left = os.listdir(folder)
        if left:
            sys.exit(f"expected nothing of a job that went well, found {left}\n{text}")
        text, code = tell(program, "status", folder)
        expect("^no records", text)
        if code != 0:
            sys.exit(f"expected exit code 0 without records, found {code}\n{text}")


def main():
    program = sys.argv[1]
    check_good_job(program)
    print("a job that went well leaves nothing", flush=True)
    for flags in (["-a", "host"], ["-a", "ring", "--transport", "tcp"]):
        check_way(program, flags)
        print(f"{' '.join(flags)}: status and postmortem name the rank that stands still", flush=True)


if __name__ == "__main__":
    main()

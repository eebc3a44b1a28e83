# SPDX-License-Identifier: BSD-3-Clause
"""An emulated cluster whose cables are cut and mended while a job runs."""
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "launch"))
sys.dont_write_bytecode = True
from watched import Job  # noqa: E402

DEADLINE = 120
NETWORK = "torus:3x2"
LINKS = ["n0-n1", "n1-n2", "n0-n2", "n3-n4", "n4-n5", "n3-n5", "n0-n3", "n1-n4", "n2-n5"]


class Lab:
    def __init__(self, script, env, *options):
        self.script, self.env, self.name, self.options = script, env, f"continue-{os.getpid()}", options

    def call(self, *arguments):
        done = subprocess.run([self.script, *arguments], env=self.env, text=True, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=DEADLINE, check=False)
        if done.returncode != 0:
            sys.exit(f"netlab {' '.join(arguments)}: exit code {done.returncode}\n{done.stdout}")

    def set(self, link, what):
        self.call("set", self.name, link, what)

    def start(self, *command, style="multitree"):
        job = Job([self.script, "run", self.name, "--style", style, "--deadline", str(DEADLINE + 3600), "--", *command],
                  self.env)
        if not job.await_line("ready", DEADLINE):
            sys.exit(f"no start\n{job.text}")
        return job

    def __enter__(self):
        self.call("up", self.name, NETWORK, *self.options)
        return self

    def __exit__(self, *_):
        self.call("down", self.name)


def cut_and_mend(lab, rng, faults, cut=(0.2, 1.2), mended=(0.1, 0.9)):
    """`cut`, `mended`: seconds, from and to, that each lasts."""
    for fault in range(faults):
        links = rng.sample(LINKS, 2 if fault % 3 == 2 else 1)
        for link in links:
            lab.set(link, "--drop")
        time.sleep(rng.uniform(*cut))
        for link in links:
            lab.set(link, "--up")
        time.sleep(rng.uniform(*mended))

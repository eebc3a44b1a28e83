#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Kills ranks of runs with spares at random moments, rank 0 too, and checks that spares take their places: as many ranks as
before go on while there are spares, fewer after that, all sums are right, and no process is left.

usage: spares.py MULTITREE [--kills N] [--seed N] [--netlab SCRIPT]     exit code 77 with --netlab: skipped, with the reason
"""
import argparse
import os
import random
import re
import signal
import statistics
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "netlab"))
sys.dont_write_bytecode = True
from campaign import Hosted, sums_are_right  # noqa: E402
from cuts import Lab  # noqa: E402
from lab_test import SKIPPED, can_emulate  # noqa: E402
from ports import free_port  # noqa: E402
from watched import Job, ranks_where  # noqa: E402

PATIENCE = 90  # seconds after which a run hangs
RANKS, SPARES = 4, 2
FLAGS = ["run", "-t", f"full:{RANKS}", "--spares", str(SPARES), "--on-failure", "shrink", "-b", "4K", "-e", "256K", "-T", "20",
         "-n", "400"]
PLACE = r"spare (\d+) takes the place of rank (\d+)"


class Launched:
    """`run` starts the processes, and is where they meet."""

    def __init__(self, program, *flags):
        self.command, self.tag = [program, *FLAGS, *flags], None

    def start(self, number):
        self.tag = f"{os.getpid()}-{number}"
        return Job(self.command, dict(os.environ, MULTITREE_CAMPAIGN=self.tag))

    def processes(self):
        return ranks_where("MULTITREE_CAMPAIGN", self.tag)

    @staticmethod
    def may_end_with(code):
        return code == 0


class Alone(Launched):
    """They are started one by one, and meet at rank 0."""

    def start(self, number):
        self.tag = f"{os.getpid()}-{number}"
        env = dict(os.environ, MULTITREE_CAMPAIGN=self.tag, MULTITREE_SIZE=str(RANKS + SPARES),
                   MULTITREE_RENDEZVOUS=f"127.0.0.1:{free_port()}")
        return Job(["bash", "-c", Hosted.SCRIPT, "ranks", str(RANKS + SPARES), *self.command], env)


class Full(Lab):
    """A node for each process, all of which are neighbours."""

    def __enter__(self):
        self.call("up", self.name, f"full:{RANKS + SPARES}", *self.options)
        return self


class OnLab(Launched):
    """A process on each node of an emulated cluster."""

    def __init__(self, program, lab):
        super().__init__(program)
        self.lab, self.tag = lab, lab.name

    def start(self, _):
        return Job([self.lab.script, "run", self.lab.name, "--deadline", str(2 * PATIENCE), "--grace", str(PATIENCE), "--",
                    *self.command], self.lab.env)

    def processes(self):
        return ranks_where("NETLAB", self.tag)

    @staticmethod
    def may_end_with(code):
        return code in (0, 128 + signal.SIGKILL)  # that of who died


def fail(what, job):
    sys.exit(f"{what}\n{job.text}")


def kill(place, job, dice, victims, gap):
    for victim in victims:
        time.sleep(dice.uniform(*gap))
        process = place.processes().get(victim)
        if process is None or job.process.poll() is not None:
            return False
        try:
            os.kill(process, signal.SIGKILL)
        except ProcessLookupError:
            return False
    return True


def check(job, code, victims, place):
    """Who took which place, and how long that took, in milliseconds. `victims`: processes, those behind the ranks are spares."""
    text = job.text
    if not place.may_end_with(code) or not sums_are_right(text):
        fail(f"processes {victims} killed: expected exit code 0 and right sums, found exit code {code}", job)
    taken = [tuple(map(int, pair)) for pair in re.findall(PLACE, text)]
    taken += [tuple(map(int, pair)) for pair in re.findall(r"spare (\d+) of rank (\d+)", text)]
    if len({spare for spare, _ in taken}) != len(taken) or len(taken) > min(len(victims), SPARES):
        fail(f"processes {victims} killed: spares and places {taken}", job)
    went_on = re.findall(r"going on with (\d+) of", text)
    least = RANKS - max(0, len(victims) - SPARES)
    if any(int(count) < least for count in went_on):
        fail(f"processes {victims} killed: expected {least} ranks or more, found {went_on}", job)
    left = place.processes()
    if left:
        fail(f"processes are left: {left}", job)
    return taken, [int(time) for time in re.findall(r"in (\d+) ms: going on", text)]


def one_run(place, number, dice, victims, gap):
    """Begins as soon as all processes have begun."""
    job = place.start(number)
    if not job.await_line(r"us\)|size +count|\(B\)", PATIENCE):
        fail("no start", job)
    was_killed = kill(place, job, dice, victims, gap)
    code = job.end(PATIENCE)
    if code is None:
        fail(f"processes {victims} killed: hangs", job)
    return was_killed, *check(job, code, victims, place)


def campaign(name, place, kills, dice, gap=(0.0, 0.4)):
    places, times, runs, killed = 0, [], 0, 0
    while killed < kills:
        victims = dice.sample(range(RANKS + SPARES), dice.choice([1, 1, 2, 3]))
        if runs % 3 == 0:
            victims = [0, *(victim for victim in victims if victim != 0)][:2]
        was_killed, taken, took = one_run(place, runs, dice, victims, gap)
        runs += 1
        killed += len(victims)
        if was_killed and victims == [0] and not taken:
            print(f"{name}: rank 0 was killed, and nobody took its place: it had ended", flush=True)
        places += len(taken)
        times += took
    if places == 0:
        sys.exit(f"{name}: no spare took a place in {runs} runs with {killed} deaths")
    print(f"{name}: {runs} runs, {killed} deaths, {places} places taken, in {statistics.median(times)} ms, "
          f"{max(times)} ms at most; all sums right", flush=True)


def nobody_dies(name, place):
    job = place.start("well")
    code = job.end(PATIENCE)
    check(job, code, [], place)
    if "lost" in job.text:
        fail("nobody was killed", job)
    print(f"{name}: nobody dies, and spares end with the run", flush=True)


def all_die(place):
    """At once: no spare knows how far they have come."""
    job = place.start("all")
    if not job.await_line(r"\(B\)", PATIENCE):
        fail("no start", job)
    processes = place.processes()
    for rank in range(RANKS):
        os.kill(processes[rank], signal.SIGSTOP)
    for rank in range(RANKS):
        os.kill(processes[rank], signal.SIGKILL)
    code = job.end(PATIENCE)
    if code != 4 or "all ranks are lost" not in job.text:
        fail(f"all ranks killed: expected exit code 4, found {code}", job)
    print("all ranks die: no spare goes on", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("multitree")
    parser.add_argument("--kills", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--netlab")
    arguments = parser.parse_args()
    dice = random.Random(arguments.seed)
    program = os.path.abspath(arguments.multitree)
    if arguments.netlab:
        reason = can_emulate()
        if reason:
            print(f"skipped: {reason}")
            sys.exit(SKIPPED)
        with Full(arguments.netlab, dict(os.environ, MULTITREE=program), "--control") as lab:
            place = OnLab(program, lab)
            nobody_dies("emulated cluster", place)
            campaign("emulated cluster", place, arguments.kills, dice)
        return
    for name, place in (("shared memory", Launched(program, "-a", "host")), ("tcp", Launched(program, "--transport", "tcp")),
                        ("tcp, meeting at rank 0", Alone(program, "--transport", "tcp"))):
        nobody_dies(name, place)
        campaign(name, place, arguments.kills, dice)
    all_die(Launched(program, "--transport", "tcp"))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes calls of small jobs fail, each once, and looks at what becomes of them.

usage: once.py MULTITREE LIBRARY [RANK] [--job NAME] [--kind KIND] [--who RANK] [--share N] [--most N] [--draws N]
               [--signal NAME] [--seed N] [--beside N]

LIBRARY is failing.cpp's, RANK the program of the C API. Every place that makes a call of a kind, told apart by the six
calls that led there, has its first call fail; with --share one of so many places, drawn by the seed. A failing call must
give success with the right result, or a documented exit code with words; no process, no file, no memory may be left.
With --signal nothing fails, but the process gets that signal at the call.
"""
import argparse
import concurrent.futures
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
import jobs  # noqa: E402

KINDS = ("memory", "mapping", "open", "socket", "transfer", "process", "file", "ask", "signal", "short")
HARMLESS = ("signal", "short")  # nobody may notice these


def whos(job):
    if len(job.commands) > 1:
        return [str(rank) for rank in range(len(job.commands))]
    return ["launcher"] if job.files else ["launcher", "0", "1"]


def variables_for(library, kind, who, log, at=None):
    variables = {"LD_PRELOAD": library, "FAILING_CALLS": kind, "FAILING_RANK": who, "FAILING_LOG": log}
    return {**variables, "FAILING_AT": str(at)} if at else variables


def places_of(job, library, kind, who, root):
    """Numbers of the first call of each place."""
    folder = tempfile.mkdtemp(prefix="places", dir=root)
    log = os.path.join(folder, "log")
    jobs.run(job, folder, variables_for(library, kind, who, log))
    if not os.path.exists(log):
        return []
    with open(log, encoding="ascii") as lines:
        return [int(line.split()[0]) for line in lines]


def names_of(line, program, library_folder):
    """The calls that led there, by name where symbols are."""
    names = []
    for module, offset in re.findall(r"(\S+)\+([0-9a-f]+)", line):
        path = program if module == "program" else os.path.join(library_folder, module)
        if not module.startswith(("program", "libmultitree")):
            continue
        try:
            found = subprocess.run(["addr2line", "-f", "-C", "-e", path, hex(int(offset, 16) - 1)], capture_output=True,
                                   text=True, check=False).stdout.splitlines()
        except FileNotFoundError:
            return line
        names.append(re.sub(r"\(.*", "", found[0]).replace("multitree::", "") if found else "?")
    return f"{line.split()[1]} < " + " < ".join(names)


def rounds_of(options, dice):
    """Whose calls of which kind, and in which job."""
    rounds = [(job, kind, who) for job in jobs.all_jobs(options.multitree, options.rank)
              if not options.job or job.name in options.job for kind in options.kind or KINDS for who in whos(job)
              if not options.who or who in options.who]
    return dice.sample(rounds, options.draws) if options.draws and options.draws < len(rounds) else rounds


class Trials:
    def __init__(self, options, root):
        self.options, self.root, self.tried, self.bad, self.slowest = options, root, 0, 0, 0
        self.number = signal.Signals[options.signal] if options.signal else 0

    def one(self, job, reference, kind, who, at):
        folder = tempfile.mkdtemp(prefix="once", dir=self.root)
        log = os.path.join(folder, "log")
        variables = variables_for(self.options.library, kind, who, log, at)
        if self.number:
            variables["FAILING_SIGNAL"] = str(int(self.number))
        outcome = jobs.run(job, folder, variables)
        outcome.stopped = bool(self.number)
        fired = ""
        if os.path.exists(log):
            with open(log, encoding="ascii") as lines:
                fired = lines.read()
        codes = (0,) if kind in HARMLESS and not self.number else jobs.CODES
        wrong = jobs.complaints(job, outcome, reference, (*codes, -self.number))
        shutil.rmtree(folder)
        return outcome, fired, wrong

    def all(self, job, reference, kind, who, places):
        with concurrent.futures.ThreadPoolExecutor(self.options.beside) as pool:
            for at, (outcome, fired, wrong) in zip(places, pool.map(
                    lambda at: self.one(job, reference, kind, who, at), places)):
                self.tried += bool(fired)
                self.slowest = max(self.slowest, outcome.took)
                if not wrong:
                    continue
                self.bad += 1
                path = job.commands[0][0]
                print(f"{job.name}, {kind}, {who}, call {at}: {'; '.join(wrong)}: exit codes {outcome.codes}\n"
                      f"  {names_of(fired, path, os.path.join(os.path.dirname(self.options.multitree), 'lib'))}\n"
                      f"  {outcome.err.strip()[-600:]}", flush=True)


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("multitree")
    parser.add_argument("library")
    parser.add_argument("rank", nargs="?")
    parser.add_argument("--job", action="append")
    parser.add_argument("--kind", action="append", choices=KINDS)
    parser.add_argument("--who", action="append")
    parser.add_argument("--share", type=int, default=1)
    parser.add_argument("--draws", type=int, default=0, help="so many of all jobs, kinds and processes, drawn by the seed")
    parser.add_argument("--most", type=int, default=0, help="places of a job, a kind and a process at most")
    parser.add_argument("--signal", choices=("SIGINT", "SIGTERM"))
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--beside", type=int, default=2)
    options = parser.parse_args()
    for name in ("multitree", "library", "rank"):
        if getattr(options, name):
            setattr(options, name, os.path.abspath(getattr(options, name)))
    return options


def main():
    options = parse()
    print(f"seed {options.seed}", flush=True)
    dice = random.Random(options.seed)
    shared = set(os.listdir(jobs.SHM))
    with tempfile.TemporaryDirectory() as root:
        trials, references = Trials(options, root), {}
        for job, kind, who in rounds_of(options, dice):
            if job.name not in references:
                references[job.name] = jobs.reference_of(job, root)
            places = places_of(job, options.library, kind, who, root)
            chosen = [at for at in places if dice.randrange(options.share) == 0]
            if options.most and len(chosen) > options.most:
                chosen = sorted(dice.sample(chosen, options.most))
            trials.all(job, references[job.name], kind, who, chosen)
            if chosen:
                print(f"{job.name}, {kind}, {who}: {len(chosen)} of {len(places)} places", flush=True)
    left = {name for name in set(os.listdir(jobs.SHM)) - shared if not name.startswith("ucx_shm_")}
    if left:
        sys.exit(f"left in {jobs.SHM}: {left}")
    if trials.tried == 0:
        sys.exit("expected calls to fail, none did")
    print(f"{trials.tried} calls failed once, {trials.bad} outcomes are wrong, the longest took {trials.slowest:.1f} s")
    sys.exit(trials.bad != 0)


if __name__ == "__main__":
    main()

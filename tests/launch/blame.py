#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Jobs in which one rank does something wrong: every other rank says which rank, in which call, and what, within a second
of its deadline, or of the moment at which the ranks came to differ.

usage: blame.py MULTITREE LAUNCH_FAULT [--kinds KIND,...] [--jobs N] [--seed S] [--side-by-side K]
       [--promise SECONDS] [--looks N]

| kind      | what the rank does                                                  | told                                  |
|-----------|---------------------------------------------------------------------|---------------------------------------|
| absent    | dies, leaves at the end of its program, or never joins              | at once; by the deadline              |
| computing | stands still or computes instead of calling                         | by the deadline                       |
| count     | calls with another count                                            | at once                               |
| type      | calls with another type                                             | at once                               |
| operator  | calls with another operator                                         | at once                               |
| root      | calls with another root                                             | at once                               |
| order     | makes another collective first                                      | at once                               |
| nan       | has a NaN or an infinity in its input, which ranks look through     | at once                               |
| crosswise | calls on two communicators in another order than the others         | by the deadline                       |
| build     | is of another version of the library                                | at once, as the last has joined       |
| slow-rank | comes 60 ms late to every call of a job that goes on                | by `multitree status --over 1`        |
| slow-link | sends five megabytes a second to its neighbour                      | by `multitree status --over 1`        |

`even` is a job in which nothing is wrong, of which nobody may be told anything.
"""
import argparse
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import random
import re
import secrets
import subprocess
import sys
import tempfile
import time

from ports import free_port

DEADLINE = 1.5  # seconds without progress that a rank bears
PATIENCE = 300  # for a job to end
WAYS = {"host": {}, "tcp": {}, "ucx": {"UCX_TLS": "tcp,self"}}
REDUCING = ["allreduce", "reduce-scatter", "reduce"]
ROOTED = ["reduce", "broadcast", "gather", "scatter"]
WAITING = ["allreduce", "reduce-scatter", "allgather"]  # nobody is through before all have called
NAMES = {"reduce-scatter": "reducescatter"}
OPERATORS = ["sum", "prod", "min", "max"]
TYPES = ["float", "double", "int32", "int64", "half", "bfloat16", "uint8"]
GOING_ON = {"slow-rank": "late", "slow-link": "pace", "even": "none"}
KINDS = ["absent", "computing", "count", "type", "operator", "root", "order", "nan", "crosswise", "build", "slow-rank", "slow-link"]
SOURCE = pathlib.Path(__file__).with_name("fault.cpp")
PLACE = "fault.cpp:" + str(1 + next(i for i, line in enumerate(SOURCE.read_text().splitlines()) if line.endswith("// the call")))


@dataclasses.dataclass
class Call:
    collective: str
    count: int
    type: str
    op: str
    root: int

    def flag(self):
        return f"{self.collective},{self.count},{self.type},{self.op},{self.root}"

    def words(self, number=None):
        """As the runtime calls it; with a number: allreduce #7 of ..."""
        words = self.collective + ("" if number is None else f" #{number}") + f" of {self.count} {self.type}"
        words += f", {self.op}" if self.collective in REDUCING else ""
        return words + (f", root {self.root}" if self.collective in ROOTED else "")


@dataclasses.dataclass
class Job:
    kind: str
    way: str
    ranks: int
    victim: int
    at: int
    call: Call
    deed: str = "odd"
    odd: Call | None = None

    def words(self):
        return (f"{self.kind} ({self.deed}), {self.way}, rank {self.victim} of {self.ranks}, call {self.at}: {self.call.words()}"
                + (f" | {self.odd.words()}" if self.odd else ""))


def any_call(chance, ranks, collectives):
    collective = chance.choice(collectives)
    return Call(collective, chance.choice([1, 2, 7, 100, 1000, 30000, 200000]), chance.choice(TYPES), chance.choice(OPERATORS),
                chance.randrange(ranks))


def other(chance, choices, one):
    return chance.choice([choice for choice in choices if choice != one])


def make_job(kind, chance):
    ranks = chance.randint(2, 6)
    job = Job(kind, chance.choice(list(WAYS)), ranks, chance.randrange(ranks), chance.randint(0, 40),
              any_call(chance, ranks, WAITING))
    if kind == "absent":
        job.deed = chance.choice(["die", "leave", "join"])
    elif kind == "computing":
        job.deed = chance.choice(["stop", "sleep"])
    elif kind == "nan":
        job.deed = chance.choice(["nan", "inf"])
        job.call = any_call(chance, ranks, ["allreduce", "reduce-scatter", "allgather", "reduce", "gather"])
        job.call.type = "float"
    elif kind == "crosswise":
        job.deed = "cross"
    elif kind == "build":
        job.deed = "join"
    elif kind in GOING_ON:
        job.deed = GOING_ON[kind]
        job.way = chance.choice(["tcp", "ucx"])  # of short waits in shared memory not all is counted
        job.call.count = min(job.call.count, 1000)  # what takes long itself makes nobody wait who is late
        if kind == "slow-link":
            job.way, job.call = "tcp", Call("allreduce", chance.choice([50000, 100000]), "float", "sum", 0)
    else:
        choices = {"operator": REDUCING, "root": ROOTED}.get(kind, REDUCING + ROOTED[1:])
        job.call = any_call(chance, ranks, choices)
        changed = {"count": lambda: {"count": job.call.count + chance.choice([1, 5])},
                   "type": lambda: {"type": other(chance, TYPES, job.call.type)},
                   "operator": lambda: {"op": other(chance, OPERATORS, job.call.op)},
                   "root": lambda: {"root": other(chance, range(ranks), job.call.root)},
                   "order": lambda: {"collective": other(chance, REDUCING + ROOTED[1:], job.call.collective)}}[kind]()
        job.odd = dataclasses.replace(job.call, **changed)
    return job


def start(job, program, rank, meeting, token, **variables):
    # The other of the two programs is of another version.
    path = program + "_other" if job.kind == "build" and rank == job.victim else program
    command = [path, str(job.at), str(job.victim), job.deed, job.way, str(int(DEADLINE * 1000)), job.call.flag()]
    return subprocess.Popen(command + ([job.odd.flag()] if job.odd else []),
                            env=dict(os.environ, MULTITREE_RANK=str(rank), MULTITREE_SIZE=str(job.ranks),
                                     MULTITREE_RENDEZVOUS=meeting, MULTITREE_TOKEN=token, **WAYS[job.way], **variables),
                            text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def status(multitree, folder, *flags):
    done = subprocess.run([multitree, "status", folder, "--json", *flags], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=PATIENCE)
    return json.loads(done.stdout)["jobs"] if done.returncode in (0, 1) else []


def watch(job, program, multitree, looks):
    """What status says of a job that goes on, once all are behind the call at which something went wrong."""
    with tempfile.TemporaryDirectory() as folder:
        meeting, token = f"127.0.0.1:{free_port()}", secrets.token_hex(8)
        ranks = [start(job, program, rank, meeting, token, MULTITREE_FLIGHT=folder) for rank in range(job.ranks)]
        try:
            end = time.monotonic() + PATIENCE
            while time.monotonic() < end:
                jobs = status(multitree, folder)
                if jobs and len(jobs[0]["records"]) == job.ranks and all(
                        record["calls_begun"] > job.at + 2 for record in jobs[0]["records"]):
                    for _ in range(looks):
                        looked = status(multitree, folder, "--over", "1")[0]
                        words = looked["blame"] + looked["slow"]
                        if not judge_going_on(job, words):
                            break
                    return words
                time.sleep(0.05)
            return "the job did not go on"
        finally:
            for process in ranks:
                process.kill()
                process.communicate()


def run(job, program, multitree, looks):
    """What each rank said; None of one that was not started or was stopped."""
    if job.kind in GOING_ON:
        return watch(job, program, multitree, looks)
    meeting, token = f"127.0.0.1:{free_port()}", secrets.token_hex(8)
    never = job.kind == "absent" and job.deed == "join"
    ranks = {rank: start(job, program, rank, meeting, token) for rank in range(job.ranks) if not (never and rank == job.victim)}
    texts = dict.fromkeys(range(job.ranks))
    try:
        for rank, process in ranks.items():
            if rank == job.victim and job.kind in ("absent", "computing"):
                continue
            texts[rank] = process.communicate(timeout=PATIENCE)[0]
    except subprocess.TimeoutExpired:
        texts[rank] = "did not end"
    finally:
        for rank, process in ranks.items():
            process.kill()
            rest = process.communicate()[0]
            if texts[rank] is None and rank == job.victim:
                texts[rank] = rest
    return texts


def time_of(what, text):
    found = re.search(rf"^{what} ([\d.]+)$", text or "", re.MULTILINE)
    return float(found.group(1)) if found else None


def names(rank):
    """A pattern for a list of ranks that has this one."""
    return rf"ranks? (?:[\d, -]*\b)?{rank}\b"


def expected(job):
    """Patterns that all are in what a rank says, by kind: rank, call, and what it did."""
    here = re.escape(job.call.words(job.at)) + " at " + re.escape(PLACE)
    victim = job.victim
    if job.kind == "absent":
        if job.deed == "die":
            # Others may still be in the call before.
            before = re.escape(job.call.words(job.at - 1)) + " at " + re.escape(PLACE)
            return [rf"rank {victim}(?: \(coordinator\))? died", rf"{here}|{before}"]
        if job.deed == "leave":
            return [rf"rank {victim} is at a barrier, while .* in {here}"]
        return [rf"rank {victim} has not joined|in vain for rank {victim}\b|could not reach rank {victim} \(coordinator\)"]
    if job.kind == "computing":
        return [rf"rank {victim}(?: \(coordinator\))? does not answer.*in {here}"]
    if job.kind == "nan":
        number = {"nan": "nan", "inf": "-inf"}[job.deed]
        return [rf"{here}: the input of rank {victim} has {number} at element {job.call.count // 2}\b"]
    if job.kind == "crosswise":
        on = r" on communicator [0-9a-f]{16} at " + re.escape(PLACE)
        call = re.escape(job.call.words(job.at)) + on
        return [rf"ranks? [\d, -]+ waits? in {call} for ranks? [\d, -]+, while ranks? [\d, -]+ waits? for (?:it|them) in {call}: "
                "ranks call on the two communicators in different orders", rf"\branks? (?:[\d, -]*\b)?{victim}\b"]
    if job.kind == "build":
        return [rf"{names(victim)} has multitree 99\.1\.0 \(format 2\)", r"ha(?:s|ve) multitree \d+\.\d+\.\d+ \(format 1\)"]
    before = "|".join(rf"#{job.at + calls}: {calls} calls? before it" for calls in range(1, 128))
    return [rf"[\w-]+ (?:#{job.at}|{before}): rank", rf"rank {victim} calls {re.escape(job.odd.words())}(?:,|$|;)",
            rf"rank \d+ calls {re.escape(job.call.words())}(?:,|$|;)"]


def judge_going_on(job, words):
    neighbour = (job.victim + 1) % job.ranks
    latest = r", at last in " + re.escape(job.call.collective) + r" #\d+" + re.escape(job.call.words()[len(job.call.collective):])
    pattern = {"slow-rank": rf"^rank {job.victim} does not answer|^rank {job.victim} is slow: .*{latest}, and it \d+ %$",
               "slow-link": rf"^link {job.victim}>{neighbour} is slow: .*{latest} for what",
               "even": "^$"}[job.kind]
    return "" if re.search(pattern, words) else f"expected {pattern}, found {words}"


def judge(job, texts):
    """What is wrong with what ranks said, and how long after it was due; the latest."""
    if job.kind in GOING_ON:
        return judge_going_on(job, texts), 0
    waits = job.kind in ("computing", "crosswise") or job.deed in ("leave",) or (job.kind, job.deed) == ("absent", "join")
    begun = [time_of("joins" if job.deed == "join" else "calls", text) for text in texts.values()]
    begun = [one for one in begun if one is not None]
    late = 0
    for rank, text in texts.items():
        if rank == job.victim and job.kind in ("absent", "computing"):
            continue
        for pattern in expected(job):
            if re.search(pattern, text or "", re.MULTILINE) is None:
                return f"rank {rank}: expected {pattern}, found\n{text}", late
        late = max(late, time_of("knows", text) - max(begun) - (DEADLINE if waits else 0))
    return "", late


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("multitree")
    parser.add_argument("program")
    parser.add_argument("--kinds", default="all")
    parser.add_argument("--jobs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--side-by-side", type=int, default=1)
    parser.add_argument("--promise", type=float, default=1.0, help="seconds until all know, once it is due")
    parser.add_argument("--looks", type=int, default=1, help="how often status may be asked")
    options = parser.parse_args()
    kinds = [kind for name in options.kinds.split(",") for kind in (KINDS if name == "all" else [name])]
    for kind in kinds:
        if kind not in KINDS + ["even"]:
            sys.exit(f"--kinds: expected some of {', '.join(KINDS)}, found {kind}")
    chance = random.Random(options.seed)
    jobs = [make_job(kinds[number % len(kinds)], chance) for number in range(options.jobs)]
    right, soon, latest = dict.fromkeys(kinds, 0), dict.fromkeys(kinds, 0), dict.fromkeys(kinds, 0.0)
    with concurrent.futures.ThreadPoolExecutor(options.side_by_side) as pool:
        for number, (job, texts) in enumerate(zip(jobs, pool.map(lambda job: run(job, options.program, options.multitree, options.looks), jobs))):
            what, late = judge(job, texts)
            latest[job.kind] = max(latest[job.kind], late)
            right[job.kind] += not what
            soon[job.kind] += not what and late <= options.promise
            mark = "WRONG: " if what else "LATE: " if late > options.promise else ""
            print(f"{mark}job {number} of seed {options.seed}: {job.words()}: "
                  f"{what or f'named everywhere, {late:.2f} s after it was due'}", flush=True)
    for kind in kinds:
        total = sum(job.kind == kind for job in jobs)
        print(f"{kind}: {right[kind]} of {total} right, {soon[kind]} of them within {options.promise:g} s, "
              f"the latest {latest[kind]:.2f} s after it was due")
    print(f"{sum(right.values())} of {options.jobs} right, {sum(soon.values())} of them in time")
    if sum(soon.values()) < options.jobs:
        sys.exit(1)


if __name__ == "__main__":
    main()

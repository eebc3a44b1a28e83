# SPDX-License-Identifier: BSD-3-Clause
"""Small jobs, what they are to end with, and what they may leave behind."""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "launch"))
sys.dont_write_bytecode = True
from ports import free_port  # noqa: E402
from watched import variables_of  # noqa: E402

PATIENCE = 20  # seconds for a job that gives up after 4
CODES = (0, 2, 3, 4)  # those that docs/cli.md names, without 1: no fault makes a wrong answer
SHM = "/dev/shm"
# What no user can do anything with, and what the program says of its own bugs.
NO_WORDS = re.compile(r"std::|bad_alloc|internal error|terminate called|what\(\)|Assertion|unknown error")


class Job:
    """Processes started beside each other, and their one right outcome."""

    def __init__(self, name, commands, right, files=()):
        self.name, self.commands, self.right, self.files = name, commands, right, files


def sums(text):
    return "Out of bounds values : 0 OK" in text and "FAILED" not in text


def digest(text):
    return re.findall(r'"parameters": "(\w+)"', text)


def rows(text):
    return json.dumps(json.loads(text)["windows"]) if text else ""


def all_jobs(program, rank):
    run = [program, "run", "-t", "ring:2", "-b", "1K", "-e", "32K", "-f", "32", "-n", "1", "-w", "0", "-T", "4"]
    train = [program, "train", "run", "--learner", "logistic", "-n", "2", "-w", "0", "--batch", "2", "-t", "ring:2",
             "-T", "4", "--json"]
    jobs = [
        Job("schedule", [[program, "schedule", "-t", "mesh:2x3", "-a", "multitree", "-o", "out.json"]], str, ["out.json"]),
        Job("tune", [[program, "tune", "-t", "ring:3", "-a", "ring,multitree", "-b", "1K", "-e", "64K", "--json", "-o",
                      "plan.json"]], str, ["plan.json"]),
        Job("run host", [[*run, "-a", "host"]], sums),
        Job("run tcp", [[*run, "-a", "ring", "--no-host-path", "--transport", "tcp"]], sums),
        Job("run ucx", [[*run, "-a", "ring", "--no-host-path"]], sums),
        Job("train", [[*train, "-p", "wfbp", "-a", "ring"]], digest),
        Job("train host", [[*train, "-p", "bsp", "--host"]], digest),
    ]
    if rank:
        jobs += [Job("api host", [[rank, "auto"]] * 2, str), Job("api messages", [[rank, "ring"]] * 2, str)]
    return jobs


def processes_of(tag):
    return [int(pid) for pid in os.listdir("/proc") if pid.isdigit() and variables_of(pid).get("FAULTS_TEST") == tag]


class Outcome:
    def __init__(self, codes, out, err, folder, took):
        self.codes, self.out, self.err, self.folder, self.took = codes, out, err, folder, took
        self.stopped = False  # by a signal, which needs no words


def start(job, env, limit):
    """Its processes; ranks that are told who they are, where there are several."""
    port = free_port() if len(job.commands) > 1 else None
    started = []
    for rank, command in enumerate(job.commands):
        own = dict(env)
        if port:
            own.update(MULTITREE_RANK=str(rank), MULTITREE_SIZE=str(len(job.commands)),
                       MULTITREE_RENDEZVOUS=f"127.0.0.1:{port}")
        out, err = (open(os.path.join(env["TMPDIR"], f"../{name}{rank}"), "wb+") for name in ("out", "err"))
        process = subprocess.Popen(command, env=own, cwd=os.path.join(env["TMPDIR"], "..", "work"), stdin=subprocess.DEVNULL,
                                   stdout=out, stderr=err, preexec_fn=limit)
        started.append((process, out, err))
    return started


def text_of(file):
    file.seek(0)
    return file.read().decode(errors="replace")


def run(job, folder, variables=(), limit=None, meanwhile=None):
    """One job in a folder of its own. Without an end, its processes are killed, and their codes are None."""
    tag = os.path.basename(folder)
    for name in ("work", "tmp"):
        os.makedirs(os.path.join(folder, name))
    env = {name: value for name, value in os.environ.items() if not name.startswith(("MULTITREE_", "UCX_", "FAILING_"))}
    env.update(FAULTS_TEST=tag, TMPDIR=os.path.join(folder, "tmp"), UCX_MEM_MMAP_HOOK_MODE="none", **dict(variables))
    begin = time.monotonic()
    started = start(job, env, limit)
    if meanwhile:
        meanwhile(started[0][0])
    codes = []
    for process, _, _ in started:
        try:
            codes.append(process.wait(timeout=max(0.1, begin + PATIENCE - time.monotonic())))
        except subprocess.TimeoutExpired:
            codes.append(None)
    took = time.monotonic() - begin
    out = "".join(text_of(out) for _, out, _ in started)
    err = "".join(text_of(err) for _, _, err in started)
    for process, *files in started:
        for file in files:
            file.close()
    return Outcome(codes, out, err, folder, took)


def left_of(tag):
    """Processes that do not go within a second."""
    until = time.monotonic() + 1
    left = processes_of(tag)
    while left and time.monotonic() < until:
        time.sleep(0.02)
        left = processes_of(tag)
    for pid in left:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    return left


def files_of(folder):
    found = {}
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), "rb") as file:
            found[name] = file.read()
    return found


def complaints(job, outcome, reference, codes=CODES):
    """What is wrong with an outcome. `reference`: (what stdout says, files) of the job undisturbed."""
    wrong = []
    if None in outcome.codes:
        wrong.append(f"no end within {PATIENCE} s")
    wrong += [f"exit code {code}" for code in outcome.codes if code is not None and code not in codes]
    failed = any(outcome.codes)
    lines = [line for line in outcome.err.splitlines() if line.startswith("multitree: ")]
    if failed and None not in outcome.codes and not lines and not outcome.stopped:
        wrong.append("no words")
    if NO_WORDS.search(outcome.err):
        wrong.append("words that tell nothing")
    work = files_of(os.path.join(outcome.folder, "work"))
    for name, content in work.items():
        if name not in job.files:
            wrong.append(f"left behind: {name}")
        elif content != reference[1][name]:
            wrong.append(f"{name} is neither whole nor absent")
    if not failed:
        wrong += [f"success without {name}" for name in job.files if name not in work]
        if job.right(outcome.out) != reference[0]:
            wrong.append("success with a wrong result")
    temporary = os.listdir(os.path.join(outcome.folder, "tmp"))
    if temporary:
        wrong.append(f"left in TMPDIR: {temporary}")
    left = left_of(os.path.basename(outcome.folder))
    if left:
        wrong.append(f"processes are left: {left}")
    return wrong


def reference_of(job, root, variables=()):
    outcome = run(job, tempfile.mkdtemp(prefix="whole", dir=root), variables)
    if any(outcome.codes) or outcome.err.count("multitree: ") > 0:
        sys.exit(f"{job.name}: undisturbed: expected success, got {outcome.codes}\n{outcome.err}")
    return job.right(outcome.out), files_of(os.path.join(outcome.folder, "work"))

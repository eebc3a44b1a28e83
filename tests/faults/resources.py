#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Small jobs with too little memory, descriptors, shared memory or disk, and jobs that are stopped at any moment.

usage: resources.py MULTITREE [RANK] [--rounds N] [--seed N]

Whatever comes of them, they end in time, with the right result or a documented exit code and words; no process, no half
of a file is left.
"""
import argparse
import os
import random
import resource
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
import jobs  # noqa: E402

MOMENTS = 1.2  # of what a job takes undisturbed: the last ones come too late
NO_LOADER = "error while loading shared libraries"  # before the program begins
OLD = b"what was there before\n"
# Commands by the file that they write; the first makes a plan for others to read.
WRITERS = [
    ("schedule.json", "schedule -t mesh:4x4 -a multitree -o {}"),
    ("plan.json", "tune -t ring:4 -a ring -b 1K -e 64K -o {}"),
    ("network.json", "topology -t torus:8x8 -o {}"),
    ("network.yml", "topology -t torus:8x8 -o {}"),
    ("bound.json", "bounds -t mesh:4x4 -c allreduce -o {}"),
    ("repaired.json", "replan ../schedule.json --without 0-1 -o {}"),
    ("network.dot", "export dot -t torus:8x8 -o {}"),
    ("msccl.xml", "export msccl -t ring:8 -a ring -o {}"),
    ("picture.svg", "export picture -t mesh:4x4 -o {}"),
    ("picture.png", "export picture -t mesh:4x4 -o {}"),
    ("page.html", "view -t mesh:4x4 -a multitree -o {}"),
    ("tables.bin", "nic tables -t torus:8x8 -a multitree -o {}"),
    ("iteration.json", "train plan -t mesh:4x4 -m resnet50 -p priority -o {}"),
    ("model.json", "train bound -t mesh:4x4 -m resnet50 -o {}"),
    ("times.json", "simulate -t torus:4x4 -a multitree -b 1M -e 1M --trace {}"),
    ("run.json", "run -t ring:2 -b 1K -e 1M -f 2 -n 1 -w 0 -J {}"),
    ("spans.json", "run -t ring:2 -a ring -b 64K -e 64K -n 1 -w 0 --trace {}"),
]


def fail(what, outcome, wrong):
    sys.exit(f"{what}: {'; '.join(wrong)}: exit codes {outcome.codes}\n{outcome.err.strip()[-8000:]}")


def settle(what, job, outcome, reference, codes=jobs.CODES):
    wrong = jobs.complaints(job, outcome, reference, codes)
    shutil.rmtree(outcome.folder)
    if wrong:
        fail(what, outcome, wrong)


def folder(root):
    return tempfile.mkdtemp(prefix="job", dir=root)


def case_descriptors(all_jobs, references, root, dice, rounds):
    for job in all_jobs:
        for count in {32, *dice.sample(range(6, 32), min(rounds, 20))}:
            limit = lambda count=count: resource.setrlimit(resource.RLIMIT_NOFILE, (count, count))
            settle(f"{job.name}, {count} descriptors", job, jobs.run(job, folder(root), limit=limit), references[job.name])
    print("descriptors: 32 and fewer", flush=True)


def case_memory(all_jobs, references, root, dice, rounds):
    """An address space of any size, from too little for the program's libraries to enough. Where not even the program
    itself fits, the kernel kills it without a word."""
    begun = 0
    for job in all_jobs:
        for _ in range(rounds):
            size = dice.randrange((20 << 20) + os.path.getsize(job.commands[0][0]), 400 << 20)
            limit = lambda size=size: resource.setrlimit(resource.RLIMIT_AS, (size, size))
            outcome = jobs.run(job, folder(root), limit=limit)
            if NO_LOADER in outcome.err or "cannot be loaded" in outcome.err:
                shutil.rmtree(outcome.folder)
                continue
            begun += 1
            settle(f"{job.name}, an address space of {size >> 10} KiB", job, outcome, references[job.name])
    print(f"address space: {begun} jobs that could begin", flush=True)


def alone(command, setup):
    """With a mount namespace of its own, in which `setup` is done."""
    return ["unshare", "--mount", "sh", "-c", f'{setup} && exec "$@"', "alone", *command]


def may_mount():
    return subprocess.run(alone(["true"], "mount -t tmpfs none /mnt"), stderr=subprocess.DEVNULL, check=False).returncode == 0


def case_shared_memory(all_jobs, references, root):
    if not may_mount():
        print("may not mount: a full /dev/shm is left out", flush=True)
        return
    setup = f"mount -t tmpfs -o size=16k none {jobs.SHM} && head -c 16k /dev/zero > {jobs.SHM}/full"
    for job in all_jobs:
        full = jobs.Job(job.name, [alone(command, setup) for command in job.commands], job.right, job.files)
        settle(f"{job.name}, a full {jobs.SHM}", job, jobs.run(full, folder(root)), references[job.name])
    print(f"a full {jobs.SHM}", flush=True)


def write(program, command, file, place, setup=None):
    words = [program, *command.format(file).split()]
    return subprocess.run(alone(words, setup) if setup else words, cwd=place, capture_output=True, text=True,
                          timeout=3 * jobs.PATIENCE, stdin=subprocess.DEVNULL, check=False)


def expect_full(command, done, name):
    if done.returncode != 3 or "No space left on device" not in done.stderr or name not in done.stderr:
        sys.exit(f"{command}: expected exit code 3 and '{name}: cannot write: No space left on device', "
                 f"got {done.returncode}\n{done.stdout[-300:]}{done.stderr}")


def full_device(place):
    """A full disk as a device of the test's own: a program that replaces it by a file spoils nothing."""
    full = os.path.join(place, "full")
    try:
        os.mknod(full, stat.S_IFCHR | 0o666, os.makedev(1, 7))
        with open(full, "wb", buffering=0):
            return full
    except OSError as error:
        print(f"may not make a device, those are left out: {error}", flush=True)
        return None


def case_full_disk(program, root):
    """What does not fit is told, and what was there before stays."""
    place = tempfile.mkdtemp(prefix="disk", dir=root)
    inner = os.path.join(place, "inner")
    os.mkdir(inner)
    full = full_device(place)
    for name, command in WRITERS:
        whole = write(program, command, name, inner)
        if whole.returncode != 0:
            sys.exit(f"{command}: expected success, got {whole.returncode}\n{whole.stderr}")
        shutil.move(os.path.join(inner, name), os.path.join(place, name))
        if full:
            link = os.path.join(inner, "full" + os.path.splitext(name)[1])
            os.symlink(full, link)
            expect_full(command, write(program, command, os.path.basename(link), inner), os.path.basename(link))
            if not stat.S_ISCHR(os.stat(full).st_mode):
                sys.exit(f"{command}: replaced a device by a file")
            os.unlink(link)
    if not may_mount():
        print("may not mount: a full disk is left out", flush=True)
        return
    for name, command in WRITERS:
        # Room for the old file alone; the shell tells what is there afterwards.
        look = f"mount -t tmpfs -o size=8k none {inner} && printf '{OLD.decode().strip()}\\n' > {inner}/{name} && cd {inner} && " \
               f"head -c 4096 /dev/zero > {inner}/fill && \"$@\"; code=$?; ls {inner} >&2; cat {inner}/{name} >&2; exit $code; true"
        done = write(program, command, name, inner, look)
        if os.path.getsize(os.path.join(place, name)) <= 0:
            sys.exit(f"{command}: expected something in the file")
        expect_full(command, done, name)
        left = done.stderr.splitlines()[1:]
        if left != sorted(["fill", name]) + [OLD.decode().strip()]:
            sys.exit(f"{command}: expected the old file and nothing else to be there, found {left}")
    print(f"a full disk: {len(WRITERS)} commands", flush=True)


def stop_after(seconds, number):
    def stop(process):
        def send():
            time.sleep(seconds)
            if process.poll() is None:
                process.send_signal(number)
        threading.Thread(target=send, daemon=True).start()
    return stop


def case_signals(all_jobs, references, times, root, dice, rounds):
    for job in all_jobs:
        for _ in range(rounds):
            number, moment = dice.choice((signal.SIGINT, signal.SIGTERM)), dice.uniform(0, MOMENTS * times[job.name])
            outcome = jobs.run(job, folder(root), meanwhile=stop_after(moment, number))
            outcome.stopped = True
            settle(f"{job.name}, {number.name} after {1000 * moment:.1f} ms", job, outcome, references[job.name],
                   (*jobs.CODES, -number))
    print(f"SIGINT, SIGTERM: {rounds} moments of each job", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("multitree")
    parser.add_argument("rank", nargs="?")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    dice = random.Random(options.seed)
    program, rank = (path and os.path.abspath(path) for path in (options.multitree, options.rank))
    with tempfile.TemporaryDirectory() as root:
        all_jobs, references, times = jobs.all_jobs(program, rank), {}, {}
        for job in all_jobs:
            begin = time.monotonic()
            references[job.name] = jobs.reference_of(job, root)
            times[job.name] = time.monotonic() - begin
        case_descriptors(all_jobs, references, root, dice, options.rounds)
        case_memory(all_jobs, references, root, dice, options.rounds)
        case_shared_memory(all_jobs, references, root)
        case_full_disk(program, root)
        case_signals(all_jobs, references, times, root, dice, options.rounds)


if __name__ == "__main__":
    main()

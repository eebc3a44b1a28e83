#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Ranks that are told where to meet listen there and nowhere else, and let nobody in who does not belong.

usage: strangers.py MULTITREE
"""
import hashlib
import hmac
import os
import random
import re
import socket
import struct
import subprocess
import sys
import time

from ports import free_port
from watched import Job

MEET = 60  # seconds until the ranks have met, on a busy machine
LEAVE = 60
RANKS = 2
RUN = ["run", "-t", "ring:2", "-a", "auto", "-b", "1K", "-e", "1K", "-w", "0", "-T", "30"]
HELD = 300  # connections on which nothing is said
GARBAGE = 2000  # connections on which something is said that nobody would say
GREETING = b"multitree 9\n"
LISTENS = "0A"  # the state of a socket in /proc/net/tcp


def fail(what, *outputs):
    sys.exit("\n".join([what, *outputs]))


def own_address():
    """Of this host, for others; None where there is loopback only. Nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
            return probe.getsockname()[0]
        except OSError:
            return None


def variables(style, rank, host, port, token):
    chosen = {"MULTITREE_RANK": str(rank), "MULTITREE_SIZE": str(RANKS), "MULTITREE_RENDEZVOUS": f"{host}:{port}"}
    if style == "torchrun":
        chosen = {"RANK": str(rank), "WORLD_SIZE": str(RANKS), "MASTER_ADDR": host, "MASTER_PORT": str(port - 1)}
    chosen.update({"MULTITREE_TOKEN": token} if token else {})
    return dict({name: value for name, value in os.environ.items() if not name.startswith("MULTITREE_")}, **chosen)


def listening(pid):
    """Addresses at which a process listens."""
    inodes = set()
    for entry in os.listdir(f"/proc/{pid}/fd"):
        try:
            inodes.update(re.findall(r"socket:\[(\d+)\]", os.readlink(f"/proc/{pid}/fd/{entry}")))
        except FileNotFoundError:
            continue
    found = set()
    for table in ("tcp", "tcp6"):
        with open(f"/proc/{pid}/net/{table}") as listing:
            for line in list(listing)[1:]:
                words = line.split()
                if words[3] == LISTENS and words[9] in inodes:
                    number = words[1].split(":")[0]
                    found.add(socket.inet_ntoa(struct.pack("<I", int(number, 16))) if table == "tcp" else number)
    return found


def stranger_is_refused(host, port):
    """One who knows all but the token; and with the right one is not."""
    return not shows_that_it_knows(host, port, b"guess") and shows_that_it_knows(host, port, b"secret")


def received(connection, count):
    text = b""
    while len(text) < count:
        part = connection.recv(count - len(text))
        if not part:
            break
        text += part
    return text


def shows_that_it_knows(host, port, token):
    """Both ends in turn, as runtime/job/seal_internal.hpp has it. Whether the other one was convinced."""
    key = hashlib.sha256(b"multitree control connections\n" + token).digest()
    with socket.create_connection((host, port), timeout=30) as connection:
        greeting = received(connection, len(GREETING) + 16)
        if not greeting.startswith(GREETING):
            fail(f"{host}:{port} greets with {greeting}")
        nonces = greeting[len(GREETING):], os.urandom(16)
        own, other = (hmac.digest(hmac.digest(key, side + nonces[0] + nonces[1], "sha256"), b"I know it", "sha256")
                      for side in (b"caller", b"acceptor"))
        connection.sendall(GREETING + nonces[1] + own)
        verdict = received(connection, 32)
        if verdict not in (other, bytes(32)):
            fail(f"{host}:{port} answers {verdict}")
        return verdict == other


def pester(host, port, seed):
    """Connections that say what nobody would say."""
    print(f"garbage of seed {seed}", flush=True)
    chance = random.Random(seed)
    for _ in range(GARBAGE):
        with socket.create_connection((host, port), timeout=30) as connection:
            begin = GREETING if chance.random() < 0.5 else b""
            try:
                connection.sendall(begin + chance.randbytes(chance.randrange(100)))
            except (BrokenPipeError, ConnectionResetError):
                pass


def case_pestered(program, host):
    """Connections that are held open do not delay the start of a job, and garbage changes nothing of one that runs."""
    port = free_port()
    start = lambda rank: Job([program, *RUN, "-n", "1000000"], variables("multitree", rank, host, port, "secret"))
    jobs, held = [start(0)], []
    try:
        while len(held) < HELD:
            try:
                held.append(socket.create_connection((host, port), timeout=30))
            except ConnectionRefusedError:
                if jobs[0].process.poll() is not None:
                    fail(f"{host}: rank 0 has ended", jobs[0].text)
        before = time.monotonic()
        jobs.append(start(1))
        if not jobs[0].await_line(r"^#  *\(B\)", MEET):
            fail(f"{host}: no start within {MEET} s beside {HELD} connections", *(job.text for job in jobs))
        print(f"{host}: started {time.monotonic() - before:.1f} s after the last rank came, beside {HELD} held connections", flush=True)
        pester(host, port, random.randrange(1 << 32))
        if any(job.process.poll() is not None for job in jobs):
            fail(f"{host}: the job has ended", *(job.text for job in jobs))
    finally:
        for one in held:
            one.close()
        for job in jobs:
            job.process.kill()
            job.process.wait()
    print(f"{host}: {GARBAGE} connections with garbage changed nothing", flush=True)


def case_listens(program, host, token, style):
    """While a job runs its ranks listen at the address of the rendezvous."""
    port = free_port()
    jobs = [Job([program, *RUN, "-n", "1000000"], variables(style, rank, host, port, token)) for rank in range(RANKS)]
    try:
        if not jobs[0].await_line(r"^#  *\(B\)", MEET):
            fail(f"{host}: no start within {MEET} s", *(job.text for job in jobs))
        for rank, job in enumerate(jobs):
            at = listening(job.process.pid)
            if at != {host}:
                fail(f"rank {rank} of a job that meets at {host} listens at {sorted(at)}", job.text)
        if token and not stranger_is_refused(host, port):
            fail(f"{host}: a stranger was not refused")
        if any(job.process.poll() is not None for job in jobs):
            fail(f"{host}: the job has ended", *(job.text for job in jobs))
    finally:
        for job in jobs:
            job.process.kill()
            job.process.wait()
    print(f"{style}: at {host} alone", flush=True)


def case_secret(program, host, style):
    """Beyond loopback a job without a secret is refused, by every rank, with the remedy."""
    for rank in range(RANKS):
        done = subprocess.run([program, *RUN, "-n", "1"], env=variables(style, rank, host, free_port(), None), text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=LEAVE,
                              check=False)
        if done.returncode != 2 or "set MULTITREE_TOKEN to a secret" not in done.stderr:
            fail(f"{style}, rank {rank}: expected to be refused, got exit code {done.returncode}", done.stderr)
    print(f"{style}: no job beyond this host without a secret", flush=True)


def case_taken(program):
    """Who waits for a port that another has says so, and meets there once it is free."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        ranks = [Job([program, *RUN, "-n", "1"], variables("multitree", rank, "127.0.0.1", port, "secret")) for rank in (0, 1)]
        if not ranks[0].await_line(rf"cannot listen for the rendezvous at 127.0.0.1:{port}.*trying for", MEET):
            fail("expected rank 0 to say that its port is taken", ranks[0].text)
    codes = [rank.end(LEAVE) for rank in ranks]
    if codes != [0, 0]:
        fail(f"expected both ranks to meet once the port is free, got exit codes {codes}", *(rank.text for rank in ranks))
    print("a port that is taken: said so, and met there later", flush=True)


def main():
    program = sys.argv[1]
    case_listens(program, "127.0.0.1", None, "multitree")
    case_listens(program, "127.0.0.1", "secret", "torchrun")
    case_pestered(program, "127.0.0.1")
    case_taken(program)
    beyond = own_address()
    if beyond is None:
        print("no interface beyond loopback: the rest is left out")
        return
    case_listens(program, beyond, "secret", "multitree")
    case_listens(program, beyond, "secret", "torchrun")
    case_secret(program, beyond, "multitree")
    case_secret(program, beyond, "torchrun")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The emulated cluster: routes, isolation, rates, failing links, exit codes, and nothing left behind.

usage: lab_test.py NETLAB MULTITREE [CASE...]     exit code 77: skipped, with the reason
"""
import json
import os
import signal
import subprocess
import sys
import time

SKIPPED = 77
DEADLINE = 120
PREFIX = f"test{os.getpid()}"


class Failed(Exception):
    pass


def expect(condition, what):
    if not condition:
        raise Failed(what)


class Netlab:
    def __init__(self, script, program):
        self.script, self.environment = script, dict(os.environ, MULTITREE=program)

    def start(self, *arguments, **kwargs):
        return subprocess.Popen([self.script, *arguments], env=self.environment, text=True, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, **kwargs)

    def run(self, *arguments, code=0):
        return "".join(self.both(*arguments, code=code))

    def output(self, *arguments):
        """Standard output alone."""
        return self.both(*arguments)[0]

    def both(self, *arguments, code=0):
        process = self.start(*arguments)
        try:
            output, errors = process.communicate(timeout=DEADLINE)
        finally:
            process.kill()
        expect(process.returncode == code, f"{' '.join(arguments)}: expected exit code {code}, got "
               f"{process.returncode}\n{output}{errors}")
        return output, errors


class Up:
    """A lab for the time of a case."""

    def __init__(self, netlab, spec, *options):
        self.netlab, self.name, self.arguments = netlab, f"{PREFIX}-{abs(hash(spec)) % 1000}", (spec, *options)

    def __enter__(self):
        self.netlab.run("up", self.name, *self.arguments)
        return self.name

    def __exit__(self, *_):
        self.netlab.run("down", self.name)


def hop_counts(netlab, name):
    pairs = {}
    for line in netlab.run("verify", name).splitlines():
        count, distance = line.split(" pairs at ")
        pairs[int(distance.split()[0])] = int(count)
    return pairs


def case_routes(netlab):
    """Everybody reaches everybody over as many links as theory says."""
    known = {"torus:4x4": {1: 64, 2: 96, 3: 64, 4: 16}, "torus:2x2x2": {1: 24, 2: 24, 3: 8},
             "mesh:3x3": {1: 24, 2: 28, 3: 16, 4: 4}, "ring:5": {1: 10, 2: 10}, "full:4": {1: 12},
             # Ranks and switches: 4 up-links and 4 x 3 pairs over the switch.
             "star:4": {1: 8, 2: 12},
             # A ring of 4 without one link is a line.
             "ring:4?without=0-1": {1: 6, 2: 4, 3: 2}}
    for spec, expected in known.items():
        with Up(netlab, spec) as name:
            found = hop_counts(netlab, name)
        expect(found == expected, f"{spec}: expected pairs by hops {expected}, found {found}")


def case_switches(netlab):
    with Up(netlab, "fattree:2x2") as name:
        expect(hop_counts(netlab, name)[4] > 0, "ranks of different leaves are 4 links apart")
        listing = netlab.run("ls", name)
    expect("leaf1" in listing and "switch" in listing, listing)


def case_isolation(netlab):
    """Nodes share neither memory, nor processes, nor names, nor interfaces."""
    with Up(netlab, "ring:3") as name:
        look = lambda node, script: netlab.run("exec", name, node, "--", "sh", "-c", script).strip()
        look("n0", "echo secret > /dev/shm/x")
        expect(look("n0", "cat /dev/shm/x") == "secret", "a node keeps its own shared memory")
        expect(look("n1", "ls /dev/shm") == "", "a node sees another's shared memory")
        expect(not os.path.exists("/dev/shm/x"), "the host sees a node's shared memory")
        expect(look("n2", "hostname") == "n2", "a node has its own name")
        expect(look("n1", "ls /sys/class/net").split() == ["host0", "l0", "l1", "lo"], "a node has its own interfaces")
        expect(look("n1", "ls -d /proc/[0-9]* | wc -l") in "12345", "a node sees its own processes only")
        spaces = {look(node, "readlink /proc/self/ns/ipc") for node in ("n0", "n1", "n2")}
        expect(len(spaces) == 3, f"expected 3 spaces of System V memory, found {spaces}")
        expect("no node 'n9'" in netlab.run("exec", name, "n9", "--", "true", code=3), "unknown nodes are named")


SENDER = """
import socket, sys, time
size = int(sys.argv[2])
if sys.argv[1] == "listen":
    with socket.create_server(("0.0.0.0", 5000)) as server:
        print("ready", flush=True)
        connection, _ = server.accept()
        left = size
        while left:
            left -= len(connection.recv(65536)) or sys.exit("closed early")
        connection.sendall(b"!")
else:
    start = time.monotonic()
    with socket.create_connection((sys.argv[1], 5000), timeout=60) as connection:
        connection.sendall(bytes(size))
        connection.recv(1)
    print(size * 8 / (time.monotonic() - start))
"""


def measured_rate(netlab, name, size):
    """bits/s of TCP from n0 to n1 (10.200.0.2)."""
    listener = netlab.start("exec", name, "n1", "--", sys.executable, "-c", SENDER, "listen", str(size))
    try:
        expect(listener.stdout.readline() == "ready\n", "the listener starts")
        rate = float(netlab.run("exec", name, "n0", "--", sys.executable, "-c", SENDER, "10.200.0.2", str(size)))
        listener.communicate(timeout=DEADLINE)
        return rate
    finally:
        listener.kill()


def case_rate(netlab):
    """A link is never faster than its rate (slower it may be, on a busy machine), and the counters count."""
    with Up(netlab, "ring:3?slow=0-1:0.5", "--rate", "40mbit") as name:
        size = 2_000_000
        rate = measured_rate(netlab, name, size)
        expect(rate < 21e6, f"expected at most 20 Mbit/s and a burst, measured {rate / 1e6:.1f}")
        rows = json.loads(netlab.output("stats", name, "--json"))
        crossed = {(row["src"], row["dst"]): row["bytes"] for row in rows}
        expect(size < crossed["n0", "n1"] < 1.2 * size, f"{crossed}: expected {size} and headers from n0 to n1")
        expect(crossed["n0", "n2"] < size / 10, f"{crossed}: nothing goes the long way around")
        netlab.run("set", name, "n0-n1", "--rate", "5mbit")
        rate = measured_rate(netlab, name, size)
        expect(rate < 5.5e6, f"expected at most 5 Mbit/s, measured {rate / 1e6:.1f}")


def case_links(netlab):
    """Links fail, by carrier and silently, and come back with their routes."""
    reach = "import socket; socket.create_connection(('10.200.0.2', 22), timeout=2)"
    with Up(netlab, "ring:4") as name:
        run = lambda script: netlab.start("exec", name, "n0", "--", sys.executable, "-c", script).communicate(
            timeout=DEADLINE)[1]
        before = hop_counts(netlab, name)
        expect("ConnectionRefused" in run(reach), "the neighbour answers")
        for how in ("--down", "--drop"):
            netlab.run("set", name, "n0-n1", how)
            errors = run(reach)
            expect("unreachable" in errors or "timed out" in errors, f"{how}: {errors}")
            carrier = netlab.run("exec", name, "n0", "--", "cat", "/sys/class/net/l0/operstate").strip()
            expect((carrier == "up") == (how == "--drop"), f"{how}: the interface is {carrier}")
            netlab.run("set", name, "n0-n1", "--up")
            expect(hop_counts(netlab, name) == before, f"--up after {how} restores all routes")
        expect("no link 'n0-n2'" in netlab.run("set", name, "n0-n2", "--up", code=3), "links that are not are named")


def case_launch(netlab):
    """One process a rank, the variables of a launcher, the first failure's exit code, a deadline."""
    words = netlab.run("star:3", "--", "sh", "-c", "echo $MULTITREE_RANK/$MULTITREE_SIZE $MULTITREE_RENDEZVOUS $(hostname)")
    expected = {f"{r}/3 10.200.0.1:29400 n{r}" for r in range(3)}
    expect(set(words.splitlines()) == expected, f"expected {expected}, got {words}")
    words = netlab.run("ring:2", "--style", "torchrun", "--", "sh", "-c", "echo $RANK/$WORLD_SIZE $MASTER_ADDR")
    expect(set(words.splitlines()) == {"0/2 10.200.0.1", "1/2 10.200.0.1"}, words)
    start = time.monotonic()
    words = netlab.run("ring:3", "--grace", "1", "--", "sh", "-c", "[ $MULTITREE_RANK = 1 ] && exit 5; sleep 300", code=5)
    expect("killing rank 0, 2, 1 s after the first failure (--grace)" in words, words)
    expect(netlab.run("help") == netlab.run("--help"), "help is --help")
    words = netlab.run("ring:3", "--deadline", "1", "--", "sleep", "300", code=124)
    expect("not done within 1 s (--deadline): rank 0, 1, 2" in words, words)
    words = netlab.run("ring:3", "--", "sh", "-c", "[ $MULTITREE_RANK = 2 ] && kill -9 $$; sleep 300", code=137)
    expect("rank 2 died by signal 9" in words, words)
    expect(time.monotonic() - start < DEADLINE, "nobody waits for those that sleep")
    netlab.run("ring:2", "--", "/no/such/program", code=127)


def case_agent(netlab):
    """A program on one node starts one on another."""
    with Up(netlab, "ring:3") as name:
        words = netlab.run("exec", name, "n0", "--", netlab.script, "rsh", "n2", "hostname; exit 3", code=3)
        expect(words.strip() == "n2", words)


def case_with(netlab):
    words = netlab.run("with", "ring:3", "--", "sh", "-c", f"{netlab.script} exec $NETLAB n1 -- hostname; exit 6", code=6)
    expect(words.strip() == "n1", words)


def case_errors(netlab):
    for arguments, text in ((("nonsense:4", "--", "true"), "unknown topology 'nonsense'"),
                            (("ring:3",), "expected -- COMMAND"),
                            (("ring:3", "--rate", "fast", "--", "true"), "expected a rate such as 100mbit"),
                            (("down", f"{PREFIX}-none"), "no lab"), (("up", "a/b", "ring:3"), "expected a name")):
        words = netlab.run(*arguments, code=3)
        expect(text in words and words.count("\n") == 1, f"{arguments}: expected one line with \"{text}\", got {words}")
    with Up(netlab, "ring:2") as name:
        expect("there is a lab" in netlab.run("up", name, "ring:2", code=3), "names are unique")


def processes_of(lab):
    """Numbers of the processes whose environment names the lab."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as environ:
                if f"NETLAB={lab}".encode() in environ.read().split(b"\0"):
                    found.append(int(pid))
        except OSError:
            pass
    return found


def case_cleanup(netlab):
    """A signal ends a job and its lab; after kill -9 the kernel does, and gc removes the file."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGKILL):
        job = netlab.start("ring:3", "--", "sh", "-c", "echo running; exec sleep 300")
        try:
            expect(job.stdout.readline() == "running\n", "the job starts")
            lab = f"job-{job.pid}"
            expect(processes_of(lab), "the processes of the job are seen")
            job.send_signal(number)
            job.communicate(timeout=DEADLINE)
        finally:
            job.kill()
        end = time.monotonic() + 10
        while processes_of(lab) and time.monotonic() < end:
            time.sleep(0.05)
        expect(not processes_of(lab), f"{number.name} leaves processes {processes_of(lab)}")
        if number == signal.SIGKILL:
            expect(f"{lab:<20} killed (gc)" in netlab.run("ls"), "ls tells of a killed lab")
            expect(f"removed {lab}" in netlab.run("gc"), "gc removes it")
        else:
            expect(job.returncode == 128 + number, f"expected exit code {128 + number}, got {job.returncode}")
        expect(lab not in netlab.run("ls"), f"{number.name} leaves the lab")


def can_emulate():
    """Why networks cannot be made here; None if they can."""
    if os.geteuid() != 0:
        return "needs root"
    script = ("ip link add name veth0 type veth peer name veth1 && ip link add name bridge0 type bridge && "
              "tc qdisc replace dev veth0 root tbf rate 1mbit burst 72kb latency 20ms")
    try:
        tried = subprocess.run(["unshare", "--net", "--uts", "--ipc", "--mount", "--pid", "--fork", "sh", "-c", script],
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=30, check=False)
    except FileNotFoundError as error:
        return f"needs {error.filename}"
    return None if tried.returncode == 0 else f"needs namespaces, veth and tbf: {tried.stdout.strip()}"


def main():
    reason = can_emulate()
    if reason:
        print(f"skipped: {reason}")
        sys.exit(SKIPPED)
    netlab = Netlab(sys.argv[1], sys.argv[2])
    cases = {name[5:]: case for name, case in globals().items() if name.startswith("case_")}
    for name in sys.argv[3:] or cases:
        start = time.monotonic()
        try:
            cases[name](netlab)
        except (Failed, subprocess.TimeoutExpired) as error:
            sys.exit(f"{name}: {error}")
        print(f"{name}: ok, {time.monotonic() - start:.1f} s", flush=True)


if __name__ == "__main__":
    main()

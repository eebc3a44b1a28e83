#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`multitree cluster discover` on emulated desks whose ports have no addresses but those of their links: the cables that
are there are found, those that are slow or missing are told, and what it writes is enough to run over all of them.

usage: discover_test.py NETLAB MULTITREE [--all]     exit code 77: skipped, with the reason
"""
import json
import os
import subprocess
import sys
import tempfile

from lab_test import DEADLINE, SKIPPED, Netlab, Up, can_emulate, expect

# So slow that a busy machine is no part of what is measured.
RATE = "20mbit"
BARE = ("--rate", RATE, "--bare", "--control")


def without_ipv6():
    path = "/proc/sys/net/ipv6/conf/default/disable_ipv6"
    if not os.path.exists(path) or open(path, encoding="ascii").read().strip() != "0":
        return "this machine has no IPv6, so ports have no addresses of their links"
    return None


class Desks:
    """A bare lab and what finds its cables."""

    def __init__(self, netlab, name, hosts):
        self.netlab, self.name, self.hosts = netlab, name, hosts
        self.ssh = f"{os.path.abspath(netlab.script)} rsh"
        self.program = os.path.abspath(netlab.environment["MULTITREE"])

    def multitree(self, *arguments, code=0):
        """Standard output and what is said beside it."""
        done = subprocess.run([self.program, *arguments], env=dict(self.netlab.environment, NETLAB=self.name),
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=DEADLINE, check=False)
        expect(done.returncode == code, f"{' '.join(arguments)}: expected exit code {code}, got {done.returncode}\n"
               f"{done.stdout}{done.stderr}")
        return done.stdout, done.stderr

    def discover(self, *arguments, code=0, hosts=None, program=None, interfaces="^control0"):
        return self.multitree("cluster", "discover", *(hosts or self.hosts), "--ssh", self.ssh, "--program",
                              program or self.program, "--interfaces", interfaces, *arguments, code=code)

    def found(self, *arguments, code=0):
        return json.loads(self.discover(*arguments, "--json", code=code)[0])


def pairs_of(found):
    return sorted(tuple(sorted(end["node"] for end in cable["ends"])) for cable in found["cables"]
                  if len(cable["ends"]) == 2)


def kinds_of(found):
    return sorted(one["kind"] for one in found["findings"])


def links_of(netlab, name):
    rows = json.loads(netlab.output("stats", name, "--json"))
    return {(row["src"], row["dst"]): row["bytes"] for row in rows}


def run_over(desks, file, each=1):
    """Sums are right, and data go over every cable both ways: nothing else is given than the file, and that may be found."""
    before = links_of(desks.netlab, desks.name)
    netlab = Netlab(desks.netlab.script, desks.program)
    netlab.environment.pop("MULTITREE_CLUSTER", None)
    if file:
        netlab.environment["MULTITREE_CLUSTER"] = file
    start = [] if each == 1 else [sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "several.py"), str(each)]
    said = netlab.output("run", desks.name, "--deadline", str(DEADLINE), "--", *start, "multitree", "run", "-a", "multitree",
                         "-b", "256K", "-e", "256K", "-n", "3", "-w", "1", "--json")
    rows = [row[mode] for one in json.loads(said)["runs"] for row in one["results"] for mode in ("out_of_place", "in_place")]
    expect(rows and all(row["nwrong"] == 0 for row in rows), said)
    after = links_of(desks.netlab, desks.name)
    idle = [pair for pair in after if after[pair] - before[pair] < 64 << 10]
    expect(not idle, f"nothing has gone over {idle}\n{said}")


def run_library(desks, file):
    """The same by a program of the C library, whose log says which network it has taken."""
    library = os.path.join(os.path.dirname(desks.program), "lib/libmultitree.so")
    with open(library, "rb") as file_of_it:
        code = file_of_it.read()
    if b"__asan_init" in code or b"__tsan_init" in code:
        return  # it would have to be loaded before Python
    before = links_of(desks.netlab, desks.name)
    rank = os.path.join(os.path.dirname(os.path.abspath(__file__)), "library_rank.py")
    environment = dict(Netlab(desks.netlab.script, desks.program).environment, MULTITREE_LOG="info")
    done = subprocess.run([desks.netlab.script, "run", desks.name, "--deadline", str(DEADLINE), "--", sys.executable, rank, library],
                          env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=DEADLINE + 30,
                          check=False)
    said = done.stdout + done.stderr
    expect(done.returncode == 0 and f"the network is that of {file}" in said, said)
    after = links_of(desks.netlab, desks.name)
    idle = [pair for pair in after if after[pair] - before[pair] < 64 << 10]
    expect(not idle, f"nothing has gone over {idle}\n{said}")


def case(netlab, spec, edit=None, *, pairs=None, kinds=(), switches=0, run=True, expected=None):
    with Up(netlab, spec, *BARE) as name:
        count = len([line for line in netlab.run("ls", name).splitlines() if " rank " in line])
        desks = Desks(netlab, name, [f"n{i}" for i in range(count)])
        if edit:
            netlab.run("set", name, *edit)
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "desks.json")
            against = ("-t", expected) if expected else ()
            found = desks.found("-o", file, *against, code=1 if kinds else 0)
            expect(kinds_of(found) == sorted(kinds), f"{spec}: expected {kinds}, found {found['findings']}")
            if pairs is not None:
                expect(pairs_of(found) == sorted(pairs), f"{spec}: expected cables {pairs}, found {pairs_of(found)}")
            expect(sum(1 for cable in found["cables"] if cable["switch"]) == switches, f"{spec}: {found['cables']}")
            if run:
                run_over(desks, file)
            return found


def ring(count):
    return [tuple(sorted((f"n{i}", f"n{(i + 1) % count}"))) for i in range(count)]


def full(count):
    return [(f"n{i}", f"n{j}") for i in range(count) for j in range(i + 1, count)]


def case_ring_with_a_slow_cable(netlab):
    found = case(netlab, "ring:4", ("n1-n2", "--rate", "2mbit"), pairs=ring(4), kinds=["slow", "slow"], run=False)
    expect(all("n1 l" in one["what"] and "n2 l" in one["what"] for one in found["findings"]), str(found["findings"]))
    expect(found["advice"] is None, "what is slow is mended first")


def case_mesh(netlab):
    case(netlab, "full:4", pairs=full(4), expected="full:4")


def case_four_desks(netlab):
    found = case(netlab, "ring:4", pairs=ring(4), expected="ring:4")
    expect(found["advice"] is not None, "a ring can be helped by a cable")


def case_missing_cable(netlab):
    found = case(netlab, "full:4", ("n0-n2", "--down"), pairs=[p for p in full(4) if p != ("n0", "n2")],
                 kinds=["missing"], run=False)
    expect("n0 - n2" in found["findings"][0]["what"], str(found["findings"]))


def case_two_ranks_a_host(netlab):
    """Four ranks of two desks, and what they have in common goes over the cable once."""
    with Up(netlab, "ring:2", *BARE) as name, tempfile.TemporaryDirectory() as folder:
        desks, file = Desks(netlab, name, ["n0", "n1"]), os.path.join(folder, "desks.json")
        desks.discover("--ranks-per-host", "2", "-o", file)
        said, _ = desks.multitree("cluster", "show", file)
        expect("# ranks 0-1: n0, reached as n0" in said and "# ranks 2-3: n1" in said, said)
        before = links_of(netlab, name)
        run_over(desks, file, 2)
        sent = {pair: after - before[pair] for pair, after in links_of(netlab, name).items()}
        # Eight all-reduces of 256 KiB; twice that if each rank sent for itself.
        expect(all(8 * 256 << 10 <= some < 12 * 256 << 10 for some in sent.values()), str(sent))


def case_installed(netlab):
    """After --install nothing is given; what cannot be read is told, and jobs go without."""
    with Up(netlab, "ring:3", *BARE) as name, tempfile.TemporaryDirectory() as folder:
        netlab.environment["XDG_CONFIG_HOME"] = os.environ["XDG_CONFIG_HOME"] = folder
        try:
            desks, file = Desks(netlab, name, ["n0", "n1", "n2"]), os.path.join(folder, "multitree/cluster.json")
            said, _ = desks.discover("--install")
            expect(all(f"# installed on n{i}: {file}" in said for i in range(3)), said)
            expect(os.listdir(os.path.dirname(file)) == ["cluster.json"], "nothing else is left there")
            run_over(desks, None)
            run_library(desks, file)
            with open(file, "w", encoding="ascii") as text:
                text.write("{}")
            lab = Netlab(netlab.script, desks.program)
            done = subprocess.run([lab.script, "run", name, "--deadline", str(DEADLINE), "--", "multitree", "run", "-a", "ring",
                                   "-b", "1K", "-e", "1K", "-n", "1", "-w", "0"], env=lab.environment, capture_output=True,
                                  text=True, timeout=DEADLINE + 30, check=False)
            expect(done.returncode == 0 and f"{file}:1: expected the schema" in done.stderr, done.stdout + done.stderr)
        finally:
            del netlab.environment["XDG_CONFIG_HOME"], os.environ["XDG_CONFIG_HOME"]


def case_star(netlab):
    found = case(netlab, "star:3", pairs=[], switches=1)
    expect(len(found["cables"][0]["ends"]) == 3, str(found["cables"]))


def case_unused_switch(netlab):
    """The network over which hosts are met is found, and left out where cables join all of them."""
    with Up(netlab, "ring:3", *BARE) as name:
        said = Desks(netlab, name, ["n0", "n1", "n2"]).discover(interfaces="l*,control0")[0]
        expect("n0 control0, n1 control0, n2 control0 hear each other; not needed" in said, said)
        expect(len(said.splitlines()) >= 4 and "switch0" not in said, said)


def case_bad_hosts(netlab):
    """One line each, and nothing written."""
    with Up(netlab, "ring:2", *BARE) as name, tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "desks.json")
        desks = Desks(netlab, name, ["n0", "n1"])
        _, said = desks.discover("-o", file, hosts=["n0", "n7", "n8"], code=4)
        lines = said.strip().splitlines()
        expect(len(lines) == 2 and "n7" in lines[0] and "has no node 'n8'" in lines[1], said)
        expect(not os.path.exists(file), "nothing is written")
        for program, words in (("/no/multitree", "--program says where"), ("/bin/false", "ended with exit code 1"),
                               ("/bin/cat", "ended with exit code 1")):
            lines = desks.discover(program=program, code=4)[1].strip().splitlines()
            expect(len(lines) == 2 and all(words in line for line in lines), f"{program}: {lines}")
        silent = os.path.join(folder, "silent")
        with open(silent, "w", encoding="ascii") as file:
            file.write("#!/bin/sh\nexec sleep 60\n")
        os.chmod(silent, 0o755)
        lines = desks.discover("--timeout", "1", program=silent, code=4)[1].strip().splitlines()
        expect(len(lines) == 2 and all("no answer within" in line for line in lines), str(lines))


CASES = {"ring-slow": case_ring_with_a_slow_cable, "mesh": case_mesh, "bad-hosts": case_bad_hosts, "star": case_star,
         "two-ranks": case_two_ranks_a_host, "installed": case_installed}
MORE = {"ring-3": lambda netlab: case(netlab, "ring:3", pairs=ring(3)),
        "ring-4": case_four_desks,
        "2x4": lambda netlab: case(netlab, "torus:2x4", expected="torus:2x4"),
        "four-ports": lambda netlab: case(netlab, "torus:3x3", expected="torus:3x3"),
        "missing": case_missing_cable, "unused": case_unused_switch,
        "pair": lambda netlab: case(netlab, "ring:2", pairs=[("n0", "n1")]),
        "star-5": lambda netlab: case(netlab, "star:5", pairs=[], switches=1)}


def main():
    script, multitree, *rest = sys.argv[1:]
    reason = can_emulate() or without_ipv6()
    if reason:
        print(f"skipped: {reason}")
        sys.exit(SKIPPED)
    netlab = Netlab(script, multitree)
    chosen = dict(CASES, **MORE) if rest == ["--all"] else {n: dict(CASES, **MORE)[n] for n in rest} or CASES
    for name, check in chosen.items():
        check(netlab)
        print(f"{name}: ok", flush=True)


if __name__ == "__main__":
    main()

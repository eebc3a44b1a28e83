# SPDX-License-Identifier: BSD-3-Clause
"""A lab: one keeper process, one holder a node, and a state file by which other commands find them.

Nothing outlives the keeper: holders are killed by the kernel when it ends, each takes the processes of its node
with it, and interfaces go with the last process of their node. What can be left is the state file.
"""
import json
import os
import re
import select
import shutil
import signal
import time

from . import LabError, agent, configure, linux, network, node

ROOT = "/run/multitree-netlab"
START_DEADLINE = 60
END_DEADLINE = 5


class Lab:
    """A lab that is up, as its state file says."""

    def __init__(self, state):
        self.name, self.keeper, self.keeper_start = state["name"], state["keeper"], state["keeper_start"]
        self.pids, self.options = state["pids"], state["options"]
        net = state["network"]
        self.network = network.Network(net["name"], [network.Node(*n) for n in net["nodes"]],
                                       [network.Link(*l) for l in net["links"]], net["shape"])

    @property
    def alive(self):
        return linux.start_time(self.keeper) == self.keeper_start

    @property
    def ranks(self):
        return [i for i, n in enumerate(self.network.nodes) if n.rank is not None]

    def index_of(self, name):
        for i, candidate in enumerate(self.network.nodes):
            if name in (candidate.name, str(candidate.rank)):
                return i
        raise LabError(f"{self.name} has no node '{name}'; it has {self.network.nodes[0].name} .. "
                       f"{self.network.nodes[-1].name}")

    def links_of(self, name):
        """The links named 'A-B', or of several cables the one named 'A-B:1', 'A-B:2', ..."""
        ends, _, number = name.partition(":")
        found = self._links_between(ends)
        if not number:
            return found
        if not number.isdecimal() or not 1 <= int(number) <= len(found):
            raise LabError(f"expected {ends}:1 to {ends}:{len(found)}, got '{name}'")
        return [found[int(number) - 1]]

    def _links_between(self, ends):
        names = ends.split("-")
        for cut in range(1, len(names)):  # names may contain dashes
            try:
                pair = {self.index_of("-".join(names[:cut])), self.index_of("-".join(names[cut:]))}
            except LabError:
                continue
            found = [link for link in self.network.links if {link.a, link.b} == pair]
            if found:
                return found
        raise LabError(f"{self.network.name} has no link '{ends}'; expected A-B, two neighbours")


def folder(name):
    return os.path.join(ROOT, name)


def find_any(name):
    """The lab of a state file, up or not; None if there is none to read."""
    try:
        with open(os.path.join(folder(name), "state.json"), encoding="utf-8") as file:
            return Lab(json.load(file))
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None


def names():
    return sorted(os.listdir(ROOT)) if os.path.isdir(ROOT) else []


def find(name):
    lab = find_any(name)
    if lab is not None and lab.alive:
        return lab
    others = [other.name for other in map(find_any, names()) if other is not None and other.alive]
    raise LabError(f"no lab '{name}' is up; up: {', '.join(others) or 'none'}")


def _claim(name):
    if not re.fullmatch(r"[A-Za-z0-9_.-]{1,40}", name) or name.startswith("."):
        raise LabError(f"expected a name of letters, digits, '-', '_' and '.', got '{name}'")
    os.makedirs(ROOT, exist_ok=True)
    try:
        os.mkdir(folder(name))
    except FileExistsError:
        raise LabError(f"there is a lab '{name}' already: `netlab down {name}`, or `netlab gc` if it was killed") \
            from None


def _build(name, net, options):
    """In the keeper: starts holders, makes the network, writes the state file."""
    started = [node.start(i, n.name, os.getpid()) for i, n in enumerate(net.nodes)]
    for (_, read), member in zip(started, net.nodes):
        said = os.read(read, 400).decode() if select.select([read], [], [], START_DEADLINE)[0] else "no answer"
        os.close(read)
        if said != "ok":
            raise LabError(f"cannot start node {member.name}: {said or 'it died'}")
    pids = [pid for pid, _ in started]
    configure.configure(net, pids, options)
    state = {"name": name, "keeper": os.getpid(), "keeper_start": linux.start_time(os.getpid()), "pids": pids,
             "options": options, "network": net._asdict()}
    path = os.path.join(folder(name), "state.json")
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump(state, file)
    os.rename(path + ".new", path)
    return Lab(state)


def _keep(lab):
    """In the keeper, until it is told to end: starts programs on nodes for other nodes (launch agents)."""
    with agent.listen(folder(lab.name)) as listener:
        while True:
            readable, _, _ = select.select([listener], [], [], 1)
            if readable:
                agent.serve(lab, listener)
            try:
                while os.waitpid(-1, os.WNOHANG)[0] != 0:
                    pass
            except ChildProcessError:
                pass


def _run_keeper(name, net, options, parent, report):
    def end(*_):
        shutil.rmtree(folder(name), ignore_errors=True)
        os._exit(0)

    os.setsid()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, end)
    try:
        if parent:
            linux.die_with_parent(parent)
        lab = _build(name, net, options)
        null = os.open("/dev/null", os.O_RDWR)
        for fd in range(3):
            os.dup2(null, fd)
        os.write(report, b"ok")
        os.close(report)
        _keep(lab)
    except BaseException as error:
        os.write(report, f"{error}".encode())
    end()


def start(name, spec, options, tied=False):
    """Brings a lab up; `tied`: it ends with this process. Returns it."""
    if os.geteuid() != 0:
        raise LabError("making networks needs root")
    net = network.build(spec, network.parse_rate(options["rate"]), network.find_program(options.get("program")),
                        options.get("bare", False))
    _claim(name)
    read, write = os.pipe()
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        if tied or os.fork() == 0:  # a lab that stays is nobody's child
            _run_keeper(name, net, options, parent if tied else None, write)
        os._exit(0)
    os.close(write)
    if not tied:
        os.waitpid(pid, 0)
    ready = select.select([read], [], [], START_DEADLINE)[0]
    said = os.read(read, 4000).decode() if ready else f"not up within {START_DEADLINE} s"
    os.close(read)
    if said != "ok":
        shutil.rmtree(folder(name), ignore_errors=True)
        raise LabError(f"cannot bring up {net.name}: {said or 'the keeper died'}")
    return find(name)


def stop(lab):
    """Takes a lab down; with it ends what runs on its nodes."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        until = time.monotonic() + END_DEADLINE
        while lab.alive and time.monotonic() < until:
            try:
                os.kill(lab.keeper, number)
                os.waitpid(lab.keeper, os.WNOHANG)
            except (ProcessLookupError, ChildProcessError):
                pass
            time.sleep(0.01)
    _end_holders(lab)
    shutil.rmtree(folder(lab.name), ignore_errors=True)


def _end_holders(lab):
    """They die with the keeper; this waits until it is so."""
    until = time.monotonic() + END_DEADLINE
    while any(linux.start_time(pid) is not None and _holds(pid) for pid in lab.pids):
        if time.monotonic() > until:
            raise LabError(f"nodes of {lab.name} still run {END_DEADLINE} s after their keeper ended")
        time.sleep(0.01)


def _holds(pid):
    """Whether `pid` is the first process of a process namespace: of all numbers that is the last."""
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8") as status:
            levels = next(line for line in status if line.startswith("NSpid:")).split()[1:]
    except (FileNotFoundError, ProcessLookupError, StopIteration):
        return False
    return len(levels) > 1 and levels[-1] == "1"


def collect_garbage():
    """Removes what labs have left whose keeper was killed. Returns their names."""
    gone = []
    for name in names():
        lab = find_any(name)
        if lab is not None and lab.alive:
            continue
        young = time.time() - os.stat(folder(name)).st_mtime < START_DEADLINE
        if lab is None and young:  # being brought up
            continue
        shutil.rmtree(folder(name), ignore_errors=True)
        gone.append(name)
    return gone

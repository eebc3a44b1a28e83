# SPDX-License-Identifier: BSD-3-Clause
"""Starts a program once a rank, as a launcher of a cluster does."""
import os
import secrets
import signal
import sys
import time

from . import LabError, agent, configure, lab as labs, network, node

PORT = 29400
GRACE = 8  # seconds that the other ranks have to leave by themselves after one has failed
TIMED_OUT = 124


def variables(lab, rank, style, size):
    """What the launcher tells rank `rank` of `size`."""
    first = configure.control_address(0) if lab.options.get("control") else lab.network.nodes[0].address
    if style == "torchrun":
        return {"RANK": str(rank), "WORLD_SIZE": str(size), "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1",
                "MASTER_ADDR": first, "MASTER_PORT": str(PORT)}
    return {"MULTITREE_RANK": str(rank), "MULTITREE_SIZE": str(size), "MULTITREE_RENDEZVOUS": f"{first}:{PORT}"}


def environment(lab):
    """This process's variables, without those of a job that it may be part of, and with the program in the path."""
    own = dict(os.environ, NETLAB=lab.name)
    own.setdefault("UCX_LOG_FILE", "stderr")  # else UCX would write its complaints between the results
    for name in ("MULTITREE_TOKEN", "MULTITREE_COORDINATOR"):
        own.pop(name, None)
    folder = os.path.dirname(network.find_program(lab.options.get("program")))
    return dict(own, PATH=f"{folder}:{own.get('PATH', os.defpath)}")


class _Interrupted(Exception):
    pass


def _interrupt(number, _):
    raise _Interrupted(number)


def on_signals():
    """SIGINT, SIGTERM and SIGHUP end what runs and then this program, with exit code 128 + n."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    return _Interrupted


def _kill(running, number):
    for pid in running:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass


def _collect(running, results):
    """Reaps what has ended."""
    for pid in list(running):
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            results.append((running.pop(pid), os.waitstatus_to_exitcode(status)))


def _watch(running, deadline, grace):
    """Waits for all; returns the exit code of the first that failed."""
    results, end, said, code = [], time.monotonic() + deadline, False, 0
    while running:
        before = len(results)
        _collect(running, results)
        for rank, status in results[before:]:
            if status != 0 and code == 0:
                code = status if status > 0 else 128 - status
                end = min(end, time.monotonic() + grace)
                said = True
                if code > 128:
                    print(f"netlab: rank {rank} died by signal {code - 128}", file=sys.stderr)
        if running and time.monotonic() > end:
            late = ", ".join(map(str, sorted(running.values())))
            why = f"killing rank {late}, {grace:g} s after the first failure (--grace)" if said else \
                f"not done within {deadline:g} s (--deadline): rank {late}"
            print(f"netlab: {why}", file=sys.stderr)
            _kill(running, signal.SIGTERM)
            code = code or TIMED_OUT
            time.sleep(0.2)
            _collect(running, results)
            _kill(running, signal.SIGKILL)
            for pid in running:
                os.waitpid(pid, 0)
            return code
        time.sleep(0.01)
    return code


def launch(lab, argv, style, deadline, grace=GRACE, switches=False):
    """One process a rank, with `switches` one a node; the first failure ends all. Returns the exit code: that of the first
    failure, 124 after the deadline. Standard input is rank 0's."""
    null = os.open("/dev/null", os.O_RDONLY)
    base, running = dict(environment(lab), MULTITREE_TOKEN=secrets.token_hex(16)), {}
    try:
        # Ranks are the first nodes, by their numbers; switches come behind them.
        nodes = range(len(lab.network.nodes)) if switches else lab.ranks
        for rank in nodes:
            pid = node.spawn(lab.pids[rank], argv, dict(base, **variables(lab, rank, style, len(nodes))),
                             (0 if rank == 0 else null, 1, 2))
            running[pid] = rank
        return _watch(running, deadline, grace)
    finally:
        _kill(running, signal.SIGKILL)
        os.close(null)


def execute(lab, name, argv):
    """A program on one node; returns its exit code."""
    if os.stat("/proc/self/ns/net").st_ino != os.stat(f"/proc/{lab.keeper}/ns/net").st_ino:
        return agent.ask(labs.folder(lab.name), name, argv)
    child = node.spawn(lab.pids[lab.index_of(name)], argv, environment(lab))
    try:
        return node.wait(child)
    finally:
        _kill([child], signal.SIGTERM)


def remote_shell(name, argv):
    """`netlab rsh NODE COMMAND...`, on a node: as ssh would, through a shell."""
    lab_name = os.environ.get("NETLAB")
    if not lab_name:
        raise LabError("rsh: $NETLAB is not set; it is for programs that run in a lab")
    return agent.ask(labs.folder(lab_name), name, ["/bin/sh", "-c", " ".join(argv)])

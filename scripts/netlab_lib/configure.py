# SPDX-License-Identifier: BSD-3-Clause
"""Links, addresses, rates and routes, by batches of `ip` and `tc` inside the nodes."""
import subprocess
import time

from . import LabError, linux
from .network import neighbours, next_hops

MASK = 30
NOBODY = "02:00:00:00:00:01"
#: Seconds until all interfaces have a carrier.
RUNNING_DEADLINE = 10


def run_batch(tool, lines, pid=None):
    """Starts `ip -batch` or `tc -batch`, in the network of process `pid`; to be given to finish()."""
    process = subprocess.Popen([tool, "-batch", "-"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True,
                               preexec_fn=(lambda: linux.enter(pid, ["net"])) if pid else None)
    process.stdin.write("".join(line + "\n" for line in lines))
    process.stdin.close()
    process.stdin = None
    return process


def finish(processes):
    for process in processes:
        _, errors = process.communicate(timeout=60)
        if process.returncode != 0:
            raise LabError(f"{process.args[0]}: {' '.join(errors.split())}")


def shaper(verb, device, rate, options):
    return (f"qdisc {verb} dev {device} root tbf rate {rate}bit burst {options['burst']} "
            f"latency {options['queue']}")


def route_lines(network, table, i, through=None):
    """Routes of node i, to the host and link addresses of all others; only those `through` an interface if given."""
    adjacent = neighbours(network)
    own = network.nodes[i].address
    addresses = [[node.address] for node in network.nodes]
    for link in network.links:
        addresses[link.a].append(link.address_a)
        addresses[link.b].append(link.address_b)
    lines = []
    for j, hop in enumerate(table[i]):
        if j == i or hop is None:
            continue
        device, gateway = adjacent[i][hop]
        if through not in (None, device):
            continue
        onlink = {link.address_b if link.a == i else link.address_a for link in network.links if i in (link.a, link.b)}
        for address in addresses[j]:
            if address not in onlink:
                lines.append(f"route replace {address}/32 via {gateway} dev {device} src {own}")
    return lines


def _bare_lines(network, i, options):
    """As desks are that nobody has configured: ports have no addresses but those of their links, and switches join
    their ports as switches do."""
    lines, shapers = ["link set lo up"], []
    is_switch = network.nodes[i].rank is None
    if is_switch:
        lines += ["link add bridge0 type bridge", "link set bridge0 up"]
    for link in network.links:
        for end, device, rate in ((link.a, link.dev_a, link.rate_ab), (link.b, link.dev_b, link.rate_ba)):
            if end == i:
                lines.append(f"link set {device} mtu {options['mtu']} {'master bridge0 ' if is_switch else ''}up")
                shapers.append(shaper("replace", device, rate, options))
    return lines, shapers


def _node_lines(network, table, i, options):
    if options.get("bare"):
        return _bare_lines(network, i, options)
    lines = ["link set lo up", "link add host0 type bridge", "link set host0 up",
             f"address add {network.nodes[i].address}/32 dev host0"]
    shapers = []
    for link in network.links:
        for end, device, address, rate in ((link.a, link.dev_a, link.address_a, link.rate_ab),
                                           (link.b, link.dev_b, link.address_b, link.rate_ba)):
            if end == i:
                lines += [f"link set {device} mtu {options['mtu']} up", f"address add {address}/{MASK} dev {device}"]
                shapers.append(shaper("replace", device, rate, options))
    return lines + route_lines(network, table, i), shapers


def control_address(i):
    return f"10.201.{(i + 1) >> 8}.{(i + 1) & 255}"


def _make_control(network, pids):
    """A network beside the links: a bridge on node 0 that has all others as its ports."""
    others = range(1, len(network.nodes))
    finish([run_batch("ip", [f"link add name control{i} netns {pids[0]} type veth peer name control0 netns {pids[i]}"
                             for i in others])])
    bridge = ["link add control0 type bridge", f"address add {control_address(0)}/16 dev control0"]
    bridge += [f"link set control{i} master control0 up" for i in others] + ["link set control0 up"]
    finish([run_batch("ip", bridge, pids[0])])
    finish([run_batch("ip", [f"address add {control_address(i)}/16 dev control0", "link set control0 up"], pids[i])
            for i in others])


def _is_running(pid):
    """Whether each interface of the node that is up has a carrier, as the kernel tells programs: up to a second later."""
    shown = subprocess.run(["ip", "-oneline", "link", "show", "up"], capture_output=True, text=True, timeout=60,
                           check=False, preexec_fn=lambda: linux.enter(pid, ["net"]))
    if shown.returncode != 0:
        raise LabError(f"ip link: {' '.join(shown.stderr.split())}")
    return all(" state UP " in line or " state UNKNOWN " in line for line in shown.stdout.splitlines())


def _await_running(pids):
    until = time.monotonic() + RUNNING_DEADLINE
    waiting = [pid for pid in pids if not _is_running(pid)]
    while waiting:
        if time.monotonic() > until:
            raise LabError(f"{len(waiting)} of {len(pids)} nodes have interfaces without a carrier after {RUNNING_DEADLINE} s")
        time.sleep(0.05)
        waiting = [pid for pid in waiting if not _is_running(pid)]


def configure(network, pids, options):
    """Makes the network between the processes that hold the nodes."""
    finish([run_batch("ip", [
        f"link add name {link.dev_a} netns {pids[link.a]} type veth peer name {link.dev_b} netns {pids[link.b]}"
        for link in network.links])])
    table = next_hops(network)
    batches = [_node_lines(network, table, i, options) for i in range(len(network.nodes))]
    finish([run_batch("ip", lines, pid) for (lines, _), pid in zip(batches, pids)])
    finish([run_batch("tc", shapers, pid) for (_, shapers), pid in zip(batches, pids)])
    if options.get("control"):
        _make_control(network, pids)
    _await_running(pids)


def _ends(link):
    """Of each end: its node, its interface, the address of the other end, and its rate."""
    return (link.a, link.dev_a, link.address_b, link.rate_ab), (link.b, link.dev_b, link.address_a, link.rate_ba)


def set_down(lab, link):
    """Both ends without carrier, as when a cable is pulled; the kernel forgets the routes over it."""
    finish([run_batch("ip", [f"link set {device} down"], lab.pids[i]) for i, device, _, _ in _ends(link)])


def set_up(lab, link):
    """Undoes set_down() and set_drop()."""
    if lab.options.get("bare"):
        finish([run_batch("ip", [f"link set {device} up"], lab.pids[i]) for i, device, _, _ in _ends(link)])
        finish([run_batch("tc", [shaper("replace", device, rate, lab.options)], lab.pids[i])
                for i, device, _, rate in _ends(link)])
        return
    table = next_hops(lab.network)
    # First both ends, as a gateway is reachable only then.
    finish([run_batch("ip", [f"link set {device} up", f"neighbour flush dev {device} nud permanent"], lab.pids[i])
            for i, device, _, _ in _ends(link)])
    finish([run_batch("ip", route_lines(lab.network, table, i, device), lab.pids[i])
            for i, device, _, _ in _ends(link)])


def set_drop(lab, link):
    """Every packet vanishes silently, both ways, as it is addressed to nobody, or finds no room in the queue where ports have
    no addresses; the carrier stays."""
    if lab.options.get("bare"):
        finish([run_batch("tc", [f"qdisc replace dev {device} root pfifo limit 0"], lab.pids[i])
                for i, device, _, _ in _ends(link)])
        return
    finish([run_batch("ip", [f"neighbour replace {other} lladdr {NOBODY} dev {device} nud permanent"], lab.pids[i])
            for i, device, other, _ in _ends(link)])


def set_rate(lab, link, rate):
    """Both ways."""
    finish([run_batch("tc", [shaper("replace", device, rate, lab.options)], lab.pids[i])
            for i, device, _, _ in _ends(link)])

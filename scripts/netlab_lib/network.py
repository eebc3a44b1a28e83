# SPDX-License-Identifier: BSD-3-Clause
"""The network to emulate: `multitree topology` says what it is; here it gets addresses and routes."""
import collections
import json
import os
import shutil
import subprocess

from . import LabError

Node = collections.namedtuple("Node", "name rank address")
# A duplex link: its ends (indices of nodes), their interfaces and addresses, and bits/s each way.
Link = collections.namedtuple("Link", "a b dev_a dev_b address_a address_b rate_ab rate_ba")
Network = collections.namedtuple("Network", "name nodes links shape")

_UNITS = {"GB/s": 8e9, "MB/s": 8e6, "KB/s": 8e3, "B/s": 8, "TB/s": 8e12, "Tb/s": 1e12, "Gb/s": 1e9, "Mb/s": 1e6,
          "Kb/s": 1e3, "b/s": 1}


def find_program(wanted=None):
    """The program `multitree`: as given, by $MULTITREE, a build of this clone, or in $PATH."""
    clone = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    given = wanted or os.environ.get("MULTITREE")
    for candidate in [given] if given else [f"{clone}/build/release/multitree", shutil.which("multitree")]:
        if candidate and os.access(candidate, os.X_OK) and os.path.isfile(candidate):
            return os.path.abspath(candidate)
    raise LabError(f"no program multitree at {given}" if given else
                   "no program multitree: build it (scripts/quickstart), or say where by --multitree or $MULTITREE")


def parse_rate(text):
    """Bits per second of '100mbit', '1gbit', '12.5MB/s'."""
    units = dict(_UNITS, bit=1, kbit=1e3, mbit=1e6, gbit=1e9)
    number = text.rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ/")
    try:
        rate = int(float(number) * units[text[len(number):]])
    except (ValueError, KeyError):
        raise LabError(f"expected a rate such as 100mbit, 1gbit or 50MB/s, got '{text}'") from None
    if rate < 1000:
        raise LabError(f"expected a rate of 1kbit or more, got '{text}'")
    return rate


def _describe(spec, program):
    command = [program, "topology", "-t", spec, "-o", "-", "--format", "json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60, check=False,
                          stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise LabError(done.stderr.strip() or f"{' '.join(command)}: exit code {done.returncode}")
    return json.loads(done.stdout)


def _capacities(description, order, cables):
    """(source, destination) -> bits/s of each parallel link; but for `cables` added up, as IP would use one of them only."""
    total = collections.OrderedDict()
    for link in description["links"]:
        text = link["bandwidth"]
        unit = next(u for u in sorted(_UNITS, key=len, reverse=True) if text.endswith(u))
        ends = order[link["src"]], order[link["dst"]]
        total.setdefault(ends, []).extend([float(text[:-len(unit)]) * _UNITS[unit]] * link.get("count", 1))
    if not cables:
        total = collections.OrderedDict((ends, [sum(rates)]) for ends, rates in total.items())
    for (a, b), rates in total.items():
        back = len(total.get((b, a), []))
        if back < len(rates):
            names = {index: name for name, index in order.items()}
            raise LabError(f"{len(rates)} of links {names[a]}>{names[b]} and {back} back: TCP needs one back of each"
                           if back else f"the link {names[a]}>{names[b]} has none back, which TCP needs")
    return total


def _address(base, offset):
    value = base + offset
    return ".".join(str(value >> shift & 255) for shift in (24, 16, 8, 0))


def build(spec, rate, program, cables=False):
    """The network of `spec`, its widest link `rate` bits/s wide and the others in proportion. `cables`: parallel links are
    cables of their own."""
    description = _describe(spec, program)
    ranked = sorted((n for n in description["nodes"] if "rank" in n), key=lambda n: n["rank"])
    switches = [n for n in description["nodes"] if "rank" not in n]
    hosts = (10 << 24) + (200 << 16) + 1
    nodes = [Node(n["id"], n.get("rank"), _address(hosts, i)) for i, n in enumerate(ranked + switches)]
    capacities = _capacities(description, {node.name: i for i, node in enumerate(nodes)}, cables)
    widest, ports, links = max(map(max, capacities.values())), [0] * len(nodes), []
    pairs = ((a, b, *both) for (a, b), rates in capacities.items() if a < b for both in zip(rates, capacities[b, a]))
    for a, b, *both in pairs:
        subnet = (10 << 24) + 4 * len(links)
        scaled = [max(1000, int(rate * one / widest)) for one in both]
        links.append(Link(a, b, f"l{ports[a]}", f"l{ports[b]}", _address(subnet, 1), _address(subnet, 2), *scaled))
        ports[a] += 1
        ports[b] += 1
    return Network(description["name"], nodes, links, description.get("shape"))


def neighbours(network):
    """By node: neighbour -> (own interface, the neighbour's address), neighbours ascending."""
    table = [{} for _ in network.nodes]
    for link in network.links:
        table[link.a][link.b] = link.dev_a, link.address_b
        table[link.b][link.a] = link.dev_b, link.address_a
    return [dict(sorted(row.items())) for row in table]


def _grid_step(here, there, dims, wraps):
    """The next node in dimension order, the shorter way around (forward if both are)."""
    stride = 1
    for size in dims:
        x, goal = here // stride % size, there // stride % size
        if x != goal:
            forward = (goal - x) % size
            step = (1 if 2 * forward <= size else -1) if wraps else (1 if goal > x else -1)
            return here + ((x + step) % size - x) * stride
        stride *= size
    return here


def _whole_grid(network, adjacent):
    """Whether this is a torus or mesh with all its links, so that dimension order finds them."""
    shape = network.shape or {}
    if shape.get("family") not in ("torus", "mesh"):
        return False
    pairs = ((i, j) for i in range(len(network.nodes)) for j in range(len(network.nodes)) if i != j)
    return all(_grid_step(i, j, shape["dims"], shape["family"] == "torus") in adjacent[i] for i, j in pairs)


def next_hops(network):
    """[node][destination] -> the neighbour to send to: dimension order on a whole torus or mesh; elsewhere a shortest
    path, chosen among equals by the destination's number (on a fat tree: D-mod-k). None: out of reach."""
    adjacent = neighbours(network)
    count = len(network.nodes)
    if _whole_grid(network, adjacent):
        dims, wraps = network.shape["dims"], network.shape["family"] == "torus"
        return [[_grid_step(i, j, dims, wraps) for j in range(count)] for i in range(count)]
    table = [[None] * count for _ in range(count)]
    for goal in range(count):
        distance, queue = {goal: 0}, collections.deque([goal])
        while queue:
            here = queue.popleft()
            for other in adjacent[here]:
                # Ranks forward as well as switches: the schedules that are compared with may need it.
                if other not in distance:
                    distance[other] = distance[here] + 1
                    queue.append(other)
        for i in range(count):
            near = [n for n in adjacent[i] if distance.get(n, count) == distance.get(i, 0) - 1]
            table[i][goal] = goal if i == goal else (near[goal % len(near)] if near else None)
    return table


def hops(table, i, j):
    """How many links a packet from i to j crosses."""
    count = 0
    while i != j:
        i, count = table[i][j], count + 1
    return count

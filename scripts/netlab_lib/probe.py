# SPDX-License-Identifier: BSD-3-Clause
"""Looks at a lab: does everybody reach everybody, over how many links, and what has crossed each link."""
import json
import os
import select
import socket
import struct
import subprocess
import time

from . import linux
from .network import hops, next_hops

PORT = 29399
TTL = 64
DEADLINE = 20


def _prober(lab, i, write, stop):
    """Runs on node i: asks all others, answers them, and reports {node: links crossed on the way there}."""
    linux.enter(lab.pids[i], ["net"])
    addresses = [node.address for node in lab.network.nodes]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
        own.setsockopt(socket.IPPROTO_IP, 12, 1)  # IP_RECVTTL
        own.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, TTL)
        own.bind((addresses[i], PORT))
        found, asked, reported = {i: 0}, 0.0, False
        while True:
            if len(found) < len(addresses) and time.monotonic() - asked > 0.5:
                asked = time.monotonic()
                for j, address in enumerate(addresses):
                    if j not in found:
                        try:
                            own.sendto(b"?", (address, PORT))
                        except OSError:
                            pass  # no route: it stays missing
            readable, _, _ = select.select([own, stop], [], [], 0.1)
            if own in readable:
                data, ancillary, _, (address, _) = own.recvmsg(64, 64)
                if data == b"?":
                    ttl = struct.unpack("i", ancillary[0][2][:4])[0]
                    own.sendto(f"{TTL - ttl + 1}".encode(), (address, PORT))
                elif address in addresses:
                    found[addresses.index(address)] = int(data)
            if not reported and len(found) == len(addresses):
                reported = True
                os.write(write, b"!")
            if stop in readable:
                os.write(write, json.dumps(found).encode())
                os._exit(0)


def measure_hops(lab):
    """[node][node] -> links crossed, None where no answer came within the deadline."""
    count = len(lab.network.nodes)
    stop_read, stop_write = os.pipe()
    readers, children = [], []
    for i in range(count):
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.close(stop_write)
                _prober(lab, i, write, stop_read)
            finally:
                os._exit(1)
        os.close(write)
        readers.append(read)
        children.append(child)
    end, waiting = time.monotonic() + DEADLINE, list(readers)
    while waiting and time.monotonic() < end:
        for read in select.select(waiting, [], [], 0.1)[0]:
            os.read(read, 1)
            waiting.remove(read)
    os.close(stop_write)
    table = []
    for read, child in zip(readers, children):
        with os.fdopen(read) as pipe:
            found = json.loads(pipe.read().lstrip("!") or "{}")
        os.waitpid(child, 0)
        table.append([found.get(str(j)) for j in range(count)])
    os.close(stop_read)
    return table


def verify(lab):
    """Compares measured hop counts with those of the routes; returns lines and whether all is well."""
    table, routes = measure_hops(lab), next_hops(lab.network)
    nodes, good, by_hops, lines = lab.network.nodes, True, {}, []
    for i, a in enumerate(nodes):
        for j, b in enumerate(nodes):
            expected = hops(routes, i, j)
            if i != j and table[i][j] != expected:
                good = False
                lines.append(f"{a.name} > {b.name}: expected {expected} links, found {table[i][j] or 'no answer'}")
            elif i != j:
                by_hops[expected] = by_hops.get(expected, 0) + 1
    lines += [f"{count} pairs at {distance} links" for distance, count in sorted(by_hops.items())]
    return lines, good


def traffic(lab):
    """Of every directed link since it was made: from, to, the number among parallel cables, bytes, and dropped packets."""
    rows, cables = [], {}
    per_node = {}
    for i, pid in enumerate(lab.pids):
        done = subprocess.run(["tc", "-s", "-j", "qdisc", "show"], stdout=subprocess.PIPE, check=True, timeout=30,
                              preexec_fn=lambda pid=pid: linux.enter(pid, ["net"]))
        per_node[i] = {q["dev"]: q for q in json.loads(done.stdout) if q["kind"] == "tbf"}
    for link in lab.network.links:
        for source, target, device in ((link.a, link.b, link.dev_a), (link.b, link.a, link.dev_b)):
            queue = per_node[source].get(device, {})
            cables[source, target] = cables.get((source, target), 0) + 1
            rows.append({"src": lab.network.nodes[source].name, "dst": lab.network.nodes[target].name,
                         "cable": cables[source, target], "bytes": queue.get("bytes", 0), "drops": queue.get("drops", 0)})
    return rows

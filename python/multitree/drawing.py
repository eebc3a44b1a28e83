# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of networks as they are laid out, for notebooks: SVG without any other library."""
from __future__ import annotations

import math
from html import escape
from typing import Dict, List, Tuple

import numpy as np

from .networks import Topology

Point = Tuple[float, float]
MOST_NODES = 512
MOST_LABELS = 128
INK, LINE, RANK, SWITCH = "#1b2733", "#8a99a8", "#cfe3f7", "#f6dcb4"


def positions(network: Topology) -> List[Point]:
    """Of each node where it is drawn, in steps: grids as grids, rings as circles, switches in levels above the ranks
    that they serve, everything else on a circle."""
    ranks = np.asarray(network.node_ranks)
    if network.num_nodes == network.num_ranks:
        if network.family in ("torus", "mesh", "hyperx") and len(network.sizes) > 1:
            return [_grid_place(rank, network.sizes) for rank in ranks]
        return _circle(network.num_nodes)
    return _levels(network, ranks)


def _grid_place(rank: int, sizes: List[int]) -> Point:
    """Planes of the first two dimensions beside each other, shifted a little for every further one."""
    x, rest = rank % sizes[0], rank // sizes[0]
    y, rest = rest % sizes[1], rest // sizes[1]
    stride, shift = 1.0, 0.0
    for size in sizes[2:]:
        shift += (rest % size) * (sizes[0] + 0.6) * stride
        stride *= size
        rest //= size
    return x + shift, float(y)


def _circle(count: int) -> List[Point]:
    radius = max(1.0, count / (2 * math.pi))
    return [(radius * (1 + math.sin(2 * math.pi * i / count)), radius * (1 - math.cos(2 * math.pi * i / count)))
            for i in range(count)]


def _levels(network: Topology, ranks: np.ndarray) -> List[Point]:
    """Breadth first from the ranks: a switch stands one level above the lowest of its neighbours."""
    neighbours: Dict[int, List[int]] = {node: [] for node in range(len(ranks))}
    for src, dst in zip(network.links["src"].tolist(), network.links["dst"].tolist()):
        neighbours[src].append(dst)
    level = np.where(ranks >= 0, 0, -1)
    front = [int(node) for node in np.flatnonzero(ranks >= 0)]
    while front:
        following = []
        for node in front:
            for other in neighbours[node]:
                if level[other] < 0:
                    level[other] = level[node] + 1
                    following.append(other)
        front = following
    widest = max(int((level == height).sum()) for height in range(level.max() + 1))
    place: Dict[int, Point] = {}
    for height in range(level.max() + 1):
        row = [int(node) for node in np.flatnonzero(level == height)]
        if height:  # above the middle of those below, in that order
            row.sort(key=lambda node: (_middle(neighbours[node], place), node))
        gap = widest / len(row)
        for i, node in enumerate(row):
            place[node] = ((i + 0.5) * gap - 0.5, (level.max() - height) * 1.6)
    return [place[node] for node in range(len(ranks))]


def _middle(nodes: List[int], place: Dict[int, Point]) -> float:
    placed = [place[node][0] for node in nodes if node in place]
    return sum(placed) / len(placed) if placed else 0.0


def _cables(network: Topology) -> Dict[Tuple[int, int], Tuple[int, int]]:
    """Of each pair of nodes with links the number of links and the fastest one's bandwidth."""
    cables: Dict[Tuple[int, int], Tuple[int, int]] = {}
    for src, dst, rate, _ in network.links.tolist():
        pair = (min(src, dst), max(src, dst))
        count, most = cables.get(pair, (0, 0))
        cables[pair] = (count + 1, max(most, rate))
    return cables


def _cable(a: Point, b: Point, width: float, text: str, direct: bool) -> str:
    """Straight; between ranks without switches bent where it would run through those between, as the ends of a torus."""
    length = math.dist(a, b)
    (ax, ay), (bx, by) = a, b
    bend = min(1.0, 0.3 * length) if direct and length > 1.5 else 0.0
    mx, my = (ax + bx) / 2 + bend * (by - ay) / length, (ay + by) / 2 - bend * (bx - ax) / length
    return (f'<path d="M{ax:.2f} {ay:.2f}Q{mx:.2f} {my:.2f} {bx:.2f} {by:.2f}" stroke-width="{width:.3f}">'
            f"<title>{escape(text)}</title></path>")


def svg(network: Topology, *, width: int = 480) -> str:
    """The network as an SVG picture of `width` pixels: ranks round with their number, switches square; thickness by
    bandwidth, names and speeds as tooltips. More than 512 nodes are said, not drawn."""
    title = escape(repr(network))
    if network.num_nodes > MOST_NODES:
        return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="24"><text x="4" y="16" font-size="12" '
                f'font-family="sans-serif">{title}: too large to draw (over {MOST_NODES} nodes)</text></svg>')
    place, ranks, names = positions(network), network.node_ranks, network.node_names
    left, top = min(x for x, _ in place) - 0.8, min(y for _, y in place) - 0.8
    across, down = max(x for x, _ in place) - left + 0.8, max(y for _, y in place) - top + 0.8
    cables = _cables(network)
    fastest = max((rate for _, rate in cables.values()), default=1)
    lines = [_cable(place[a], place[b], 0.02 + 0.05 * rate / fastest, f"{names[a]} - {names[b]}: {count} links",
                    network.num_nodes == network.num_ranks)
             for (a, b), (count, rate) in sorted(cables.items())]
    marks = []
    for (x, y), rank, name in zip(place, ranks, names):
        shape = (f'<circle cx="{x:.2f}" cy="{y:.2f}" r="0.28" fill="{RANK}"' if rank >= 0 else
                 f'<rect x="{x - 0.28:.2f}" y="{y - 0.2:.2f}" width="0.56" height="0.4" fill="{SWITCH}"')
        marks.append(f"{shape}><title>{escape(name)}</title></{'circle' if rank >= 0 else 'rect'}>")
        if rank >= 0 and network.num_ranks <= MOST_LABELS:
            marks.append(f'<text x="{x:.2f}" y="{y + 0.09:.2f}">{rank}</text>')
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{max(24, round(width * down / across))}" '
            f'viewBox="{left:.2f} {top:.2f} {across:.2f} {down:.2f}"><title>{title}</title>'
            f'<g fill="none" stroke="{LINE}">{"".join(lines)}</g>'
            f'<g stroke="{INK}" stroke-width="0.02">{"".join(m for m in marks if not m.startswith("<text"))}</g>'
            f'<g font-size="0.26" font-family="sans-serif" text-anchor="middle" fill="{INK}">'
            f'{"".join(m for m in marks if m.startswith("<text"))}</g></svg>')


Topology.svg = svg
Topology._repr_svg_ = lambda self: svg(self)

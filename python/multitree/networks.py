# SPDX-License-Identifier: BSD-3-Clause
"""Topologies: from specs, files and networkx graphs."""
from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING, Any, Union

import numpy as np

from . import _core
from .errors import AssumptionWarning, InvalidArgument

if TYPE_CHECKING:
    import networkx

Topology = _core.Topology
TopologyLike = Union[Topology, str, "os.PathLike[str]", "networkx.Graph"]

#: A directed link as the library holds it: nodes, bytes a second, picoseconds.
LINK = np.dtype([("src", "u4"), ("dst", "u4"), ("bandwidth", "u8"), ("latency", "i8")])

DEFAULT_BANDWIDTH = "16GB/s"
DEFAULT_LATENCY = "150ns"


def topology(what: TopologyLike, *, bandwidth: str = DEFAULT_BANDWIDTH, latency: str = DEFAULT_LATENCY) -> Topology:
    """A network from whatever names one.

    what: a spec as ``"torus:4x4?bw=50GB/s"`` (``multitree.families()`` lists the families), the path of a file (JSON,
        DOT, GraphML, NCCL's and ASTRA-sim's), a networkx graph, or a `Topology`, which is returned as it is.
    bandwidth, latency: of edges of a networkx graph that do not say theirs.

    In a networkx graph a node is a rank unless it has an attribute ``switch`` that is true; ranks are numbered in the
    order of the nodes. An edge may have ``bandwidth`` ("16GB/s", or bytes a second) and ``latency`` ("150ns", or
    seconds). Edges of a `Graph` are links in both directions, those of a `DiGraph` in one; parallel edges of
    multigraphs are links of their own.

    Warns with AssumptionWarning where the content of a file leaves something open. Raises InvalidArgument (spec, edge),
    InvalidInput (content of a file, a network that is not connected), FileError.
    """
    if isinstance(what, Topology):
        return what
    if isinstance(what, (str, os.PathLike)):
        return _warned(_core.load_topology(os.fspath(what)))
    if hasattr(what, "edges") and hasattr(what, "is_directed"):
        return _from_graph(what, bandwidth, latency)
    raise InvalidArgument(f"topology: expected a spec, a path, a networkx graph or a Topology, got {type(what).__name__}")


def _warned(noted: tuple[Topology, list[str]]) -> Topology:
    network, notes = noted
    for note in notes:
        warnings.warn(note, AssumptionWarning, stacklevel=3)
    return network


def _quantity(value: Any, parse: Any, scale: float, where: str) -> int:
    if isinstance(value, str):
        return parse(value)
    if isinstance(value, (int, float)) and value >= 0:
        return round(value * scale)
    raise InvalidArgument(f"{where}: expected text with a unit or a number, got {value!r}")


def _from_graph(graph: Any, bandwidth: str, latency: str) -> Topology:
    number = {node: i for i, node in enumerate(graph.nodes)}
    nodes = [(str(node), bool(graph.nodes[node].get("switch", False))) for node in graph.nodes]
    links = []
    for a, b, data in graph.edges(data=True):
        where = f"edge {a}-{b}"
        rate = _quantity(data.get("bandwidth", bandwidth), _core.parse_bandwidth, 1, f"{where}: bandwidth")
        delay = _quantity(data.get("latency", latency), _core.parse_time, 1e12, f"{where}: latency")
        links.append((number[a], number[b], rate, delay))
        if not graph.is_directed():
            links.append((number[b], number[a], rate, delay))
    return _core.build_topology(str(graph.name or "networkx"), nodes, links)


def to_networkx(self: Topology) -> networkx.MultiDiGraph:
    """The network as a networkx `MultiDiGraph`: nodes by name with ``rank`` (-1: a switch) and ``switch``, edges with
    ``bandwidth`` in bytes a second and ``latency`` in seconds. Needs networkx."""
    import networkx

    graph = networkx.MultiDiGraph(name=self.name)
    names = self.node_names
    for name, rank in zip(names, self.node_ranks):
        graph.add_node(name, rank=rank, switch=rank < 0)
    for src, dst, rate, delay in self.links.tolist():
        graph.add_edge(names[src], names[dst], bandwidth=rate, latency=delay * 1e-12)
    return graph


def change(self: Topology, *, without: str = "", dead: str = "", slow: str = "", parallel: str = "",
           ranks: str = "") -> Topology:
    """The network with dead and slow links and ranks, or for a group of ranks; each as in the spec's options.

    without: dead links, ``"3-7"`` (both directions), ``"3>7"`` (one); dead: nodes, ``"5,8-11"``;
    slow: ``"5:0.25"`` (all links of a node), ``"3-7:4GB/s"``; parallel: ``"3-7:4"``; ranks: that take part,
    ``"0-15,32"``. Ranks that are left are numbered anew. Warns with AssumptionWarning where a text names one node and is
    the number of another's rank. Raises InvalidArgument.
    """
    return _warned(self._changed(without, dead, slow, parallel, ranks))


def _links(self: Topology) -> np.ndarray:
    """The directed links as a structured array without a copy: ``src``, ``dst`` (nodes), ``bandwidth`` (bytes a
    second), ``latency`` (picoseconds); shape (num_links,), read only."""
    return self._links.view(LINK)


def _repr(self: Topology) -> str:
    switches = self.num_nodes - self.num_ranks
    more = f", {switches} switches" if switches else ""
    return f"Topology({self.name!r}: {self.num_ranks} ranks{more}, {self.num_links} links)"


Topology.links = property(_links)
Topology.to_networkx = to_networkx
Topology.change = change
Topology.__repr__ = _repr

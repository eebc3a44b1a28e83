# SPDX-License-Identifier: BSD-3-Clause
"""Topologies: from specs, files and networkx graphs."""
from __future__ import annotations

import numbers
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

#: A number of GB/s from here on was meant as bytes a second.
MOST_GIGABYTES = 1_000_000

#: What other programs call the two, as in files.
OTHER_NAMES = {"bw": "bandwidth", "capacity": "bandwidth", "datarate": "bandwidth", "linkspeed": "bandwidth",
               "rate": "bandwidth", "speed": "bandwidth", "delay": "latency", "lat": "latency", "linklatency": "latency"}


def topology(what: TopologyLike, *, bandwidth: str = DEFAULT_BANDWIDTH, latency: str = DEFAULT_LATENCY) -> Topology:
    """A network from whatever names one.

    what: a spec as ``"torus:4x4?bw=50GB/s"`` (``multitree.families()`` lists the families), the path of a file (JSON,
        DOT, GraphML, NCCL's and ASTRA-sim's), a networkx graph, or a `Topology`, which is returned as it is.
    bandwidth, latency: of edges of a networkx graph that do not say theirs.

    In a networkx graph a node is a rank unless it has an attribute ``switch`` that is true, or ``kind`` or ``type``
    that is "switch"; ranks are numbered in the order of the nodes. An edge may have ``bandwidth`` ("16GB/s", or a
    number of GB/s) and ``latency`` ("150ns", or a number of ns), as in files. Edges of a `Graph` are links in both
    directions, those of a `DiGraph` in one; parallel edges of multigraphs are links of their own.

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


def _parsed(parse: Any, text: str, where: str) -> int:
    try:
        return parse(text)
    except InvalidArgument as error:
        raise InvalidArgument(f"{where}: {error}") from None


def _bandwidth(value: Any, where: str) -> int:
    if isinstance(value, str):
        return _parsed(_core.parse_bandwidth, value, where)
    if not isinstance(value, numbers.Real) or not 0 < value < MOST_GIGABYTES:
        raise InvalidArgument(f"{where}: bandwidth: expected text such as '16GB/s', or GB/s as a number above 0 and below "
                              f"{MOST_GIGABYTES:,}, got {value!r}")
    return round(float(value) * 1e9)


def _latency(value: Any, where: str) -> int:
    if isinstance(value, str):
        return _parsed(_core.parse_time, value, where)
    # What is less than a picosecond was meant as seconds.
    if not isinstance(value, numbers.Real) or not (value == 0 or 1e-3 <= value <= 1e9):
        raise InvalidArgument(f"{where}: latency: expected text such as '150ns', or ns as a number: 0, or from 0.001 to "
                              f"1e9, got {value!r}")
    return round(float(value) * 1e3)


def _is_switch(attributes: Any) -> bool:
    return bool(attributes.get("switch", False)) or any(
        str(attributes.get(name, "")).lower() == "switch" for name in ("kind", "type"))


def _check_names(attributes: Any, where: str) -> None:
    """An edge that says its rate by another name would have the default."""
    for name in attributes:
        meant = OTHER_NAMES.get(str(name).lower().replace("_", "").replace("-", ""))
        if meant is not None and meant not in attributes:
            raise InvalidArgument(f"{where}: expected an attribute {meant!r}, got {name!r}, which is not read")


def _from_graph(graph: Any, bandwidth: str, latency: str) -> Topology:
    number = {node: i for i, node in enumerate(graph.nodes)}
    nodes = [(str(node), _is_switch(graph.nodes[node])) for node in graph.nodes]
    links = []
    unread = sum("weight" in data and "bandwidth" not in data for _, _, data in graph.edges(data=True))
    if unread:
        warnings.warn(f"{unread} of {graph.number_of_edges()} edges have a 'weight', which is not read, and no 'bandwidth': "
                      f"{bandwidth} is taken", AssumptionWarning, stacklevel=3)
    for a, b, data in graph.edges(data=True):
        where = f"edge {a}-{b}"
        _check_names(data, where)
        rate = _bandwidth(data.get("bandwidth", bandwidth), where)
        delay = _latency(data.get("latency", latency), where)
        links.append((number[a], number[b], rate, delay))
        if not graph.is_directed():
            links.append((number[b], number[a], rate, delay))
    return _core.build_topology(str(graph.name or "networkx"), nodes, links)


def to_networkx(self: Topology) -> networkx.MultiDiGraph:
    """The network as a networkx `MultiDiGraph`: nodes by name with ``rank`` (-1: a switch) and ``switch``, edges with
    ``bandwidth`` in GB/s and ``latency`` in ns, as `topology()` reads them. Needs networkx."""
    import networkx

    graph = networkx.MultiDiGraph(name=self.name)
    names = self.node_names
    for name, rank in zip(names, self.node_ranks):
        graph.add_node(name, rank=rank, switch=rank < 0)
    for src, dst, rate, delay in self.links.tolist():
        graph.add_edge(names[src], names[dst], bandwidth=rate / 1e9, latency=delay / 1e3)
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

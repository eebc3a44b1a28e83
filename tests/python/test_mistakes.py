# SPDX-License-Identifier: BSD-3-Clause
"""Natural mistakes, each with its message: what was expected, what was found, what to do."""
import pytest

import multitree
from multitree import FileError, InvalidArgument, InvalidInput, Unsupported

PLAIN = [
    (lambda: multitree.topology("tours:4x4"), InvalidArgument, "unknown topology .tours.; known are .*did you mean .torus."),
    (lambda: multitree.topology("torus:4xfour"), InvalidArgument, "torus:4xfour"),
    (lambda: multitree.topology(42), InvalidArgument, "expected a spec, a path, a networkx graph or a Topology, got int"),
    (lambda: multitree.topology("missing.json"), FileError, "missing.json"),
    (lambda: multitree.schedule("allreduce-optimal", "mesh:8x8"), InvalidArgument,
     "expected a network and then an algorithm.*did you mean schedule\\('mesh:8x8', 'allreduce-optimal'\\)"),
    (lambda: multitree.bounds("mesh:8x8"), AttributeError, "no attribute 'bounds'; use multitree.bound\\(network\\)"),
    (lambda: multitree.all_reduce([1]), AttributeError, "use multitree.Communicator\\(\\).all_reduce"),
    (lambda: multitree.nonsense, AttributeError, "no attribute 'nonsense'$"),
    (lambda: multitree.schedule("torus:4x4", "multitre"), InvalidArgument, "did you mean .multitree."),
    (lambda: multitree.schedule("torus:4x4", collective="allredduce"), InvalidArgument, "did you mean .allreduce."),
    (lambda: multitree.schedule("mesh:3x5", "symmetric"), Unsupported, "looks the same from every rank"),
    (lambda: multitree.schedule("ring:4", "ring", "broadcast", root=9), InvalidArgument, "9"),
    (lambda: multitree.schedule("ring:4", "ring").predict("64 MiBs"), InvalidArgument, "64 MiBs"),
    (lambda: multitree.schedule("ring:4", "ring").predict(-1), InvalidArgument, "got -1"),
    (lambda: multitree.schedule("mesh:256x256", "ring"), Unsupported, "expected at most 32768 ranks"),
    (lambda: multitree.bound("mesh:256x256"), Unsupported, "expected at most 32768 ranks"),
    (lambda: multitree.tune("mesh:256x256"), Unsupported, "expected at most 32768 ranks"),
    (lambda: multitree.schedule("ring:4", "ring").simulate(1024, buffers=3), InvalidInput, "buffers"),
    (lambda: multitree.schedule("ring:4", "ring").simulate(1024, model="rtl"), Unsupported, "use 'flit'"),
    (lambda: multitree.schedule("ring:4", "ring").tables(3).entries(7), IndexError, "no such rank"),
]


# Attributes of an edge of a networkx graph.
EDGES = [
    ({"bandwidth": float("nan")}, "edge a-b: bandwidth: .*GB/s as a number above 0 .*got nan"),
    ({"bandwidth": 0}, "got 0"),
    ({"bandwidth": -1.5}, "got -1.5"),
    ({"bandwidth": 16e9}, "below 1,000,000, got 16000000000.0"),
    ({"bandwidth": "16 gigs"}, "edge a-b: .*16 gigs"),
    ({"bandwidth": None}, "got None"),
    ({"latency": 1e-6}, "ns as a number.*got 1e-06"),
    ({"latency": "soon"}, "edge a-b: .*soon"),
    ({"bw": 10}, "edge a-b: expected an attribute 'bandwidth', got 'bw', which is not read"),
    ({"Link_Speed": 10}, "'bandwidth', got 'Link_Speed'"),
    ({"bandwidth": 10, "delay": 1}, "'latency', got 'delay'"),
]


@pytest.mark.parametrize("attributes, words", EDGES, ids=[row[1] for row in EDGES])
def test_of_edges(attributes, words):
    graph = pytest.importorskip("networkx").Graph()
    graph.add_edge("a", "b", **attributes)
    with pytest.raises(InvalidArgument, match=words):
        multitree.topology(graph)


def test_a_weight_is_no_bandwidth():
    graph = pytest.importorskip("networkx").Graph()
    graph.add_edge("a", "b", weight=3)
    graph.add_edge("b", "c", weight=3, bandwidth=3)
    with pytest.warns(multitree.AssumptionWarning, match="1 of 2 edges have a 'weight'.*16GB/s is taken"):
        multitree.topology(graph)


@pytest.mark.parametrize("mistake, kind, words", PLAIN, ids=[row[2] for row in PLAIN])
def test_without_ranks(mistake, kind, words):
    with pytest.raises(kind, match=words) as caught:
        mistake()
    if issubclass(kind, multitree.Error):
        assert caught.value.code and caught.value.exit_code in (2, 3, 4)

# SPDX-License-Identifier: BSD-3-Clause
"""Topologies, schedules, and what follows from them."""
import pathlib
from fractions import Fraction

import numpy as np
import pytest

import multitree

SPECS = ["torus:4x4", "mesh:3x5", "ring:1", "fattree:4x4", "dgx2", "hypercube:3"]


@pytest.mark.parametrize("family", multitree.families(), ids=lambda row: row["name"])
def test_every_family_is_made_and_drawn(family):
    network = multitree.topology(family["example"])
    assert 1 <= network.num_ranks <= network.num_nodes
    assert network.links.shape == (network.num_links,) and (network.links["bandwidth"] > 0).all()
    assert network._repr_svg_().startswith("<svg") and network._repr_svg_() == network.svg()
    assert network.name in repr(network)


@pytest.mark.parametrize("spec", SPECS)
def test_schedules_are_right_and_not_copied(spec):
    schedule = multitree.schedule(spec, "multitree")
    assert schedule.verify() and schedule.verify().violations == []
    transfers = schedule.transfers
    assert transfers.shape == (schedule.num_transfers,)
    if len(transfers):
        assert not transfers.flags.owndata and not transfers.flags.writeable
        assert transfers["step"].max() + 1 == schedule.num_steps
        assert transfers["src"].max() < schedule.num_ranks and transfers["op"].max() <= 1
        assert schedule.transfers.__array_interface__["data"] == transfers.__array_interface__["data"]
        # A route begins at the sender's node and ends at the receiver's.
        links, nodes = schedule.topology.links, np.argsort(schedule.topology.node_ranks)[-schedule.num_ranks:]
        first = schedule.routes[transfers["route_begin"]]
        last = schedule.routes[transfers["route_begin"] + transfers["route_size"] - 1]
        assert (links["src"][first] == nodes[transfers["src"]]).all()
        assert (links["dst"][last] == nodes[transfers["dst"]]).all()


def test_views_keep_their_schedule():
    transfers = multitree.schedule("torus:8x8", "symmetric").transfers
    copy = transfers.copy()
    for _ in range(20):
        multitree.schedule("torus:8x8", "ring")
    assert (transfers == copy).all()


@pytest.mark.parametrize("change", ["late", "lost", "twice"])
def test_wrong_schedules_are_found(change):
    good = multitree.schedule("torus:4x4", "multitree")
    transfers = good.transfers.copy()
    if change == "late":
        transfers["step"][0] = good.num_steps + 1
    elif change == "lost":
        transfers = transfers[1:]
    else:
        transfers = np.concatenate([transfers, transfers[:1]])
    bad = multitree.schedule_from_arrays(good.topology, transfers, good.routes, good.chunks)
    report = bad.verify()
    assert not report and report.total_violations > 0
    assert report.violations[0].message in repr(report)
    same = multitree.schedule_from_arrays(good.topology, good.transfers, good.routes, good.chunks, algorithm="multitree")
    assert same.verify() and same == good and bad != good


def test_bounds_and_certificates():
    bound = multitree.bound("torus:8x8")
    assert bound.value == Fraction(63, 2) and bound.is_optimum
    mesh = multitree.schedule("mesh:4x4", "allreduce-optimal?size=1GiB")
    report = mesh.check_certificate()
    assert report and report.optimal and report.bound == report.load == 10
    assert not multitree.schedule("mesh:4x4", "ring").check_certificate(mesh.bound().certificate).optimal
    with pytest.raises(multitree.Error):
        mesh.check_certificate(bound.certificate)


def test_times():
    ring, tree = (multitree.schedule("torus:4x4", name) for name in ("ring", "multitree"))
    assert ring.predict("64MiB") == ring.predict(64 << 20) > 2 * tree.predict("64MiB")
    message, flit = (tree.simulate("64KiB", model=model, data=model == "flit", trace=True) for model in ("message", "flit"))
    assert flit.checked and flit.errors == [] and flit.spans["end"].max() <= flit.cycles
    assert abs(message.seconds / flit.seconds - 1) < 0.2
    assert tree.simulate("64KiB", flow_control="packet").cycles > message.cycles
    mesh = multitree.schedule("mesh:4x4", "multitree")
    hardware = mesh.simulate("64KiB", machine="hardware", data=True)
    assert hardware.checked and hardware.cycles == 5667 > mesh.simulate("64KiB", model="flit").cycles
    with pytest.raises(multitree.Error, match="for the flit model only"):
        mesh.simulate("64KiB", machine="hardware", model="message")
    with pytest.raises(multitree.InvalidArgument, match="expected ideal or hardware"):
        mesh.simulate("64KiB", machine="rtl")
    assert tree.busbw("1GB", 1.0) == pytest.approx(2 * 15 / 16 * 1e9)


def test_plans_and_files(tmp_path):
    tuning = multitree.tune("torus:4x4", last="64MiB")
    assert [r.first for r in tuning.ranges[1:]] == [r.last + 1 for r in tuning.ranges[:-1]]
    plan = tuning.plan()
    plan.save(tmp_path / "plan.json")
    again = multitree.load(tmp_path / "plan.json")
    assert again.schedules == plan.schedules
    assert again.schedule_for(8).algorithm == tuning.ranges[0].algorithm
    schedule = multitree.schedule("mesh:3x3", "multitree", "broadcast", root=4)
    schedule.save(tmp_path / "s.json", certificate=schedule.bound().certificate)
    assert multitree.load(tmp_path / "s.json").schedules[0].schedule == schedule
    text = multitree.schedule("ring:4", "ring").to_msccl()
    assert multitree.parse_msccl(text, "ring:4").verify()


def test_tables():
    schedule = multitree.schedule("torus:4x4", "multitree")
    tables = schedule.tables(1600)
    entries = np.concatenate([tables.entries(rank) for rank in range(16)])
    assert len(entries) == schedule.num_transfers and set(entries["op"]) == {1, 2}
    assert (entries["size"] == 100).all() and (entries["start"] % 100 == 0).all()
    assert tables.image()[:4] and "multitree_table_pkg" in tables.systemverilog()
    with pytest.raises(IndexError):
        tables.entries(16)


def test_networkx():
    networkx = pytest.importorskip("networkx")
    petersen = multitree.topology(networkx.petersen_graph())
    assert (petersen.num_ranks, petersen.num_links) == (10, 30)
    assert multitree.schedule(petersen, "allreduce-optimal").verify()
    star = networkx.DiGraph(name="star")
    star.add_node("hub", switch=True)
    for i in range(3):
        star.add_edge(i, "hub", bandwidth="10GB/s", latency=1000)
        star.add_edge("hub", i, bandwidth=5.0)
    network = multitree.topology(star)
    assert (network.num_ranks, network.num_nodes, network.name) == (3, 4, "star")
    assert sorted(network.links["bandwidth"]) == [5 * 10**9] * 3 + [10**10] * 3
    assert sorted(network.links["latency"]) == [150_000] * 3 + [10**6] * 3
    back = multitree.topology(network.to_networkx())
    assert sorted(back.links.tolist()) == sorted(network.links.tolist())


def test_a_graph_is_the_same_network_as_its_file(tmp_path):
    networkx = pytest.importorskip("networkx")
    graph = networkx.Graph()
    graph.add_node("leaf", kind="Switch")
    for i in range(3):
        graph.add_edge(f"h{i}", "leaf", bandwidth=12.5, latency=500)
    networkx.write_graphml(graph, tmp_path / "net.graphml")
    network, file = multitree.topology(graph), multitree.topology(tmp_path / "net.graphml")
    assert (network.num_ranks, network.node_names) == (3, file.node_names)
    assert network.links.tolist() == file.links.tolist()


def test_changes():
    network = multitree.topology("torus:4x4").change(without="0-1", slow="5:0.5")
    assert network.num_links == 62 and multitree.schedule(network, "multitree").verify()
    assert multitree.topology("torus:4x4") == multitree.topology("torus:4x4") != network


def test_what_is_taken_for_granted_is_a_warning():
    zoo = pathlib.Path(__file__).parents[1] / "data" / "good" / "zoo.graphml"
    with pytest.warns(multitree.AssumptionWarning, match="2 of 7 edges, the first in line 68, say no rate") as caught:
        network = multitree.topology(zoo)
    assert len(caught) == 1 and caught[0].filename == __file__
    with pytest.warns(multitree.AssumptionWarning, match="the node named '3' is rank 2") as caught:
        assert network.change(dead="3").num_ranks == 3
    assert len(caught) == 1 and caught[0].filename == __file__

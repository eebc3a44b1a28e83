# SPDX-License-Identifier: BSD-3-Clause
"""For who studies collectives: a network of my own, the optimum that nobody can beat, and what meets it."""
import networkx

import multitree

# Any graph is a network. Here 4 x 4 processors in a mesh, one cable of which is slow.
graph = networkx.convert_node_labels_to_integers(networkx.grid_2d_graph(4, 4), ordering="sorted")
graph.edges[5, 6]["bandwidth"] = "4GB/s"
graph.name = "my mesh"
network = multitree.topology(graph, bandwidth="16GB/s", latency="150ns")
print(network)

bound = multitree.bound(network)
print(bound)  # exact, in shard times, with a certificate that anybody can check

print(f"{'algorithm':20} {'steps':>5} {'transfers':>9} {'load/bound':>10} {'64 MiB, ms':>10}")
for algorithm in ("ring", "multitree", "allreduce-optimal"):
    schedule = multitree.schedule(network, algorithm)
    assert schedule.verify()
    report = schedule.check_certificate(bound.certificate)
    print(f"{algorithm:20} {schedule.num_steps:5} {schedule.num_transfers:9} {report.ratio:10.3f} "
          f"{1e3 * schedule.predict('64MiB'):10.3f}")

# A schedule is an array, so questions about it are NumPy. Which cable is busiest?
transfers, load = schedule.transfers, {}
for row in transfers:
    for link in schedule.routes[row["route_begin"]:row["route_begin"] + row["route_size"]]:
        load[link] = load.get(link, 0) + int(schedule.chunks["weight"][row["chunk"]])
busiest = max(load, key=load.get)
print("busiest link:", network.links[busiest])

# One transfer less, and the verifier says what is missing and where.
broken = multitree.schedule_from_arrays(network, transfers[1:], schedule.routes, schedule.chunks)
report = broken.verify(max_violations=1)
assert not report
print(report)

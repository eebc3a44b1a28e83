# SPDX-License-Identifier: BSD-3-Clause
"""For who designs interfaces: how many virtual channels and what buffers does an all-reduce need, and what do its
tables cost?"""
import multitree

torus = multitree.topology("torus:4x4")
schedule = multitree.schedule(torus, "multitree")
ideal = schedule.predict("64KiB")
print(f"64 KiB on {torus}: links alone take {1e6 * ideal:.2f} us")

print(f"{'channels':>8} {'flits':>6} {'cycles':>8} {'of the ideal':>12}")
for channels in (2, 4):
    for flits in (16, 64, 318):
        run = schedule.simulate("64KiB", model="flit", virtual_channels=channels, buffer_flits=flits)
        assert not run.errors
        print(f"{channels:8} {flits:6} {run.cycles:8} {ideal / run.seconds:12.2f}")

# The numbers are moved as well, and every sum compared bit for bit.
run = schedule.simulate("16KiB", model="flit", data=True, trace=True)
assert run.checked
busy = run.spans[run.spans["kind"] == 1]
print(f"links are busy for {(busy['end'] - busy['begin']).sum() / run.cycles / torus.num_links:.0%} of {run.cycles} cycles")

tables = schedule.tables(4096)
print(tables, "-", len(tables.image()), "bytes;", "rank 5 begins with")
for entry in tables.entries(5)[:3]:
    print("  ", {name: int(entry[name]) for name in ("op", "step", "peer", "port", "wait", "start", "size")})

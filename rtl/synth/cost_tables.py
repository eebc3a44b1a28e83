# SPDX-License-Identifier: BSD-3-Clause
"""The tables of docs/hardware.md, between <!-- NAME --> and <!-- end --> lines."""
import re

CELLS_WITH_FP32 = 45000
CELLS_OF_CONTROL = 8000
CELLS_SHARED = 20000
TABLE_BYTES = 650
# Cells of a port through which words go, but for the unit: the register of flits to the router, header
# or word, the word beside the buffer or the one that came, the queue of flits passed by, parity made
# and checked.
DATA_PATH = 138 + 128 + 128 + 138 + 122 + 137
PORTS = 4
# Routers by links and interface ports: (virtual channels, flits of each).
FEW = tuple((channels, depth) for channels in (2, 4) for depth in (8, 512))
ROUTER_BUFFERS = {(4, 1): FEW, (8, 0): FEW,
                  (4, 4): tuple((channels, depth) for channels in (1, 2, 4) for depth in (8, 64, 512))}
# The two ends of a link that loses, a router between such links; links between two clocks, with places for all flits
# that have credits, and for clocks of one frequency.
FLIT = {"Width": 140, "NumVc": 4, "CountW": 10, "Depth": 512}
CROSSING = {"NumVc": 4, "CreditW": 10}
LINKS = {"link.sender": ("mt_retry_tx", FLIT), "link.receiver": ("mt_retry_rx", FLIT),
         "link.router5.vc4.depth8": ("mt_router", {"NumLinks": 4, "NumLocal": 1, "NumVc": 4, "Depth": 8,
                                                   "CreditW": 10, "EnRetry": 1}),
         "crossing.all": ("mt_link_cross", {**CROSSING, "RxDepth": 2048}),
         "crossing.few": ("mt_link_cross", {**CROSSING, "RxDepth": 16}),
         "crossing.queue": ("mt_async_fifo", {"Width": 140, "Depth": 16})}
# Those with flits of 256 and 512 bits: beside the data head, tail, parity and virtual channel.
for bits in (256, 512):
    LINKS.update({f"link.sender.flit{bits}": ("mt_retry_tx", {**FLIT, "Width": bits + 12}),
                  f"link.receiver.flit{bits}": ("mt_retry_rx", {**FLIT, "Width": bits + 12}),
                  f"router5.vc4.depth8.flit{bits}": ("mt_router", {"NumLinks": 4, "NumLocal": 1, "NumVc": 4, "Depth": 8,
                                                                   "CreditW": 10, "flit": bits})})
# The interface of a switch of 8 links that adds int32 and copies: 256 pieces of one tree.
ADDING = {"NumPorts": 8, "NumVc": 2, "StepW": 10, "FlowW": 1, "PieceOfFlowW": 8, "PieceW": 8, "CntW": 4,
          "RouteW": 3, "NumRoutes": 8, "TableDepth": 256, "EnLockstep": 0, "EnInt32": 1}


def count(row, column):
    return int(row[column]) if row and str(row.get(column, "")) != "" else None


def text(value):
    return "" if value is None else f"{value:,}"


def ratio(value, limit):
    return "" if value is None else f"{value / limit:.2f}"


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return lines + ["| " + " | ".join(cells) + " |" for cells in rows]


def figures(budget, names):
    columns = ("cells", "flip_flops", "memory_bits", "read_ports", "write_ports", "path")
    header = ["", "cells", "flip-flops", "memory bits", "read ports", "write ports", "longest path"]
    return table(header, [[label] + [text(count(budget.get(name), c)) for c in columns]
                          for label, name in names if name in budget])


def targets(budget, tables):
    fp32, control, shared = (count(budget.get(n), "cells")
                             for n in ("ni64.fp32", "ni64", "ni64.shared"))
    unit = count(budget.get("unit.none.latency2"), "cells")
    alone = control - PORTS * (DATA_PATH + unit) if control and unit else None
    rows = [["interface, 4 ports, 64 ranks, 4 x 4 fp32 lanes, without memories", "cells",
             text(CELLS_WITH_FP32), text(fp32), ratio(fp32, CELLS_WITH_FP32)],
            ["its control: the same without adders", "cells", text(CELLS_OF_CONTROL), text(control),
             ratio(control, CELLS_OF_CONTROL)],
            ["control without the data path", "cells", text(CELLS_OF_CONTROL), text(alone),
              ratio(alone, CELLS_OF_CONTROL)],
            ["the first with one unit of 4 lanes for two ports", "cells", text(CELLS_SHARED),
             text(shared), ratio(shared, CELLS_SHARED)]]
    for network in ("torus:8x8", "mesh:8x8"):
        if network in tables:
            size = int(tables[network]["bytes"])
            rows.append([f"table of a rank, `{network}`", "bytes", text(TABLE_BYTES), text(size),
                         ratio(size, TABLE_BYTES)])
    return table(["what", "unit", "at most", "measured", "ratio"], rows)


def sizes(budget, _):
    return figures(budget, [("16 ranks, control", "ni16"), ("64 ranks, control", "ni64"),
                            ("256 ranks, control", "ni256"),
                            ("64 ranks, with 4 x 4 fp32 lanes", "ni64.fp32"),
                            ("64 ranks, with 2 x 4 fp32 lanes, each for two ports", "ni64.shared"),
                            ("64 ranks, all types and options", "ni64.all"),
                            ("64 ranks, control, registers for small memories",
                             "ni64.registers"),
                            ("2 ports, 16 ranks, control (the test)", "small")])


def parts(budget, _):
    rows = [(n[len("ni64.modules."):], r) for n, r in budget.items()
            if n.startswith("ni64.modules.")]
    total = sum(count(r, "cells") for _, r in rows)
    rows.sort(key=lambda item: -count(item[1], "cells"))
    return table(["module", "instances", "cells of all", "share", "flip-flops of all"],
                 [[f"`{m}`", str(count(r, "memories")), text(count(r, "cells")),
                   f"{100 * count(r, 'cells') / total:.0f} %", text(count(r, "flip_flops"))]
                  for m, r in rows])


def options(budget, _):
    base = budget.get("ni64")
    rows = []
    for label, name in (("lockstep left out", "no-lockstep"), ("performance counters", "counters"),
                        ("packets", "packets"), ("exchanges of sums", "exchange"),
                        ("long routes", "long-routes"), ("2 places for early worms", "slots2"),
                        ("8 places for early worms", "slots8"),
                        ("16 places for early worms", "slots16"),
                        ("32 places for early worms", "slots32"),
                        ("two virtual channels", "vc2"), ("one virtual channel", "vc1"),
                        ("units of 3 cycles (without adders)", "latency3"),
                        ("2 groups with doorbells", "groups2"),
                        ("2 groups, sums without late contributions", "losses"),
                        ("8 groups with doorbells", "groups8"),
                        ("32 groups with doorbells", "groups32")):
        row = budget.get(f"ni64.{name}")
        if base and row:
            change = [count(row, c) - count(base, c)
                      for c in ("cells", "flip_flops", "memory_bits", "path")]
            rows.append([label] + [f"{d:+,}" for d in change])
    return table(["64 ranks, control, with", "cells", "flip-flops", "memory bits", "longest path"],
                 rows)


def units(budget, _):
    rows = []
    for label, name in (("copies only", "none"), ("int32", "int32"), ("fp32", "fp32"),
                        ("bf16", "bf16"), ("fp16", "fp16"), ("int32, fp32", "int32-fp32"),
                        ("fp32, bf16", "fp32-bf16"), ("all four", "all")):
        cells = [label]
        for latency in (2, 3):
            row = budget.get(f"unit.{name}.latency{latency}")
            cells += [text(count(row, c)) for c in ("cells", "flip_flops", "path")]
        four = count(budget.get(f"unit.{name}.latency2"), "cells")
        rows.append(cells + [text(four * 4 if four else None)])
    return table(["types", "cells", "flip-flops", "path", "cells, 3 cycles", "flip-flops", "path",
                  "4 ports, 2 cycles"], rows)


def routers(budget, _):
    names = []
    for (links, local), label in (((4, 1), "4 links, 1 interface port"),
                                  ((4, 4), "4 links, 4 interface ports"),
                                  ((8, 0), "switch, 8 links")):
        for channels, depth in ROUTER_BUFFERS[links, local]:
            name = f"{'router' if local else 'switch'}{links + local}.vc{channels}.depth{depth}"
            plural = "" if channels == 1 else "s"
            names.append((f"{label}, {channels} channel{plural} of {depth}", name))
    names.append(("4 links, 4 interface ports, each for its link alone, 2 channels of 512",
                  "router8.vc2.depth512.direct"))
    names.append(("4 links, 1 interface port, 4 channels of 8, all registers",
                  "router5.vc4.depth8.registers"))
    return figures(budget, names)


def links(budget, _):
    names = (("sender of a link", "link.sender"), ("receiver of a link", "link.receiver"),
             ("router, 4 such links, 1 interface port, 4 channels of 8", "link.router5.vc4.depth8"),
             ("the same with links that lose nothing", "router5.vc4.depth8"))
    return figures(budget, names)


def crossing(budget, _):
    names = (("link with a place for all flits that have credits, 4 channels of 512", "crossing.all"),
             ("link between clocks of one frequency, 16 places", "crossing.few"),
             ("queue of 16 flits", "crossing.queue"))
    return figures(budget, names)


def adding(budget, _):
    names = (("switch, 8 links, 2 channels of 512", "switch8.vc2.depth512"),
             ("the same with 8 interface ports, each for its link alone", "switch8.adds.router"),
             ("with ways between all ports and all links", "switch8.adds.crossbar"),
             ("interface of 8 ports, int32", "switch8.adds.interface"),
             ("interface of 8 ports, copies alone", "switch8.copies.interface"))
    return figures(budget, names)


def memory(budget, _):
    names = (("12 streams of 4 ports that read", "memory.share12"), ("8 that write", "memory.share8"))
    return figures(budget, names)


def wide(budget, _):
    names = [("reduction unit, fp32: 4 lanes", "unit.fp32.latency2"),
             ("16 lanes, for 512 bits", "unit.fp32.latency2.flit512"),
             ("interface, 64 ranks, 4 x 4 fp32 lanes", "ni64.fp32"),
             ("4 x 16 lanes, 512 bits", "ni64.fp32.flit512")]
    for label, name in (("interface, 64 ranks, control", "ni64"),
                        ("router, 4 links, 1 interface port, 4 channels of 8", "router5.vc4.depth8"),
                        ("sender of a link that loses", "link.sender"), ("receiver", "link.receiver")):
        names += [(f"{label}: 128 bits", name), ("256 bits", f"{name}.flit256"), ("512 bits", f"{name}.flit512")]
    return figures(budget, names)


def ice40(budget, _):
    names = (("interface, 64 ranks, control", "ni64.ice40"),
             ("interface, 64 ranks, 4 x 4 fp32 lanes", "ni64.fp32.ice40"),
             ("router, 5 ports, 2 channels of 512", "router5.vc2.depth512.ice40"))
    return table(["", "LUTs", "flip-flops", "block RAMs (4 Kbit)"],
                 [[label] + [text(count(budget[name], c))
                             for c in ("luts", "lut_flip_flops", "block_rams")]
                  for label, name in names if name in budget])


def tables_of(_, tables):
    rows = []
    for network, row in tables.items():
        bits = int(row["entry_bits"])
        rows.append([f"`{network}`", row["ranks"], row["entries"], row["entry_bits"],
                     text(int(row["bytes"])),
                     text(int(row["relative_bytes"])) if row["relative_bytes"] else "",
                     text(int(row["entries"]) * 200 // 8),
                     f"{int(row['entries']) * 25 / int(row['bytes']):.1f}",
                     row["port_entries"], text((4 * int(row["port_entries"]) * bits + 7) // 8)])
    return table(["network", "ranks", "entries", "bits", "bytes", "bytes, relative",
                  "at 200 bits", "less by", "entries of a port", "bytes, 4 ports that deep"], rows)


SECTIONS = {"targets": targets, "sizes": sizes, "parts": parts, "options": options, "units": units,
            "routers": routers, "links": links, "crossing": crossing, "adding": adding, "memory-share": memory,
            "ice40": ice40, "wide": wide,
            "tables": tables_of}


def fill(document, budget, tables):
    for name, section in SECTIONS.items():
        lines = "\n".join(section(budget, tables))
        pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end -->)", re.S)
        document = pattern.sub(lambda m, lines=lines: m[1] + lines + "\n" + m[2], document)
    return document

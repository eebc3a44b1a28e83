# SPDX-License-Identifier: BSD-3-Clause
"""The command line of scripts/netlab."""
import argparse
import json
import os
import subprocess
import sys

from . import LabError, configure, lab as labs, launch, network, probe

USAGE = """\
An emulated cluster: a network namespace for each node, a rate-limited veth pair for each link.

  netlab SPEC [OPTION...] -- COMMAND...      bring it up, run COMMAND once a rank, take it down
  netlab with SPEC [OPTION...] -- COMMAND... the same, with COMMAND once, on this host, and $NETLAB set
  netlab up NAME SPEC [OPTION...]            bring it up, to stay
  netlab run NAME [OPTION...] -- COMMAND...  COMMAND once a rank of a lab that is up
  netlab exec NAME NODE -- COMMAND...        COMMAND on one node
  netlab set NAME A-B[:CABLE] --down|--up|--drop|--rate RATE
  netlab verify NAME | stats NAME [--json] | ls [NAME] | down NAME | gc

SPEC is a topology of `multitree list topologies` or a file, for example torus:4x4. See docs/runtime.md.
"""


def _parser(verb, *positional, lab=False, job=False):
    parser = argparse.ArgumentParser(prog=f"netlab {verb}".rstrip(), add_help=True)
    for name in positional:
        parser.add_argument(name)
    if lab:
        parser.add_argument("--rate", default="100mbit", help="of the widest links, each way; others in proportion")
        parser.add_argument("--burst", default="72kb", help="that a link may send at once; at least a packet of 64 KiB")
        parser.add_argument("--queue", default="20ms", help="longest wait in a link's queue; then packets are dropped")
        parser.add_argument("--mtu", type=int, default=1500)
        parser.add_argument("--control", action="store_true",
                            help="a second network, which ranks meet over: it works on when links are cut")
        parser.add_argument("--bare", action="store_true",
                            help="ports without addresses and routes, parallel links that are cables of their own, and "
                                 "switches that are bridges: what `multitree cluster discover` finds; ranks meet by --control")
        parser.add_argument("--multitree", dest="program", help="the program that knows topologies")
    if job:
        parser.add_argument("--deadline", type=float, default=600, help="seconds; then all is killed, exit code 124")
        parser.add_argument("--grace", type=float, default=launch.GRACE,
                            help="seconds that the other ranks have once one has failed")
        parser.add_argument("--switches", action="store_true",
                            help="also once on each switch, which counts as a rank behind the others, in the network's order")
        parser.add_argument("--style", choices=["multitree", "torchrun"], default="multitree",
                            help="whose variables tell a process its rank")
    return parser


def _options(args):
    return {name: getattr(args, name) for name in ("rate", "burst", "queue", "mtu", "control", "bare", "program")}


def _within(spec, args, body):
    """Runs `body` on a lab of its own. Signals end both."""
    interrupted = launch.on_signals()
    lab = None
    try:
        lab = labs.start(f"job-{os.getpid()}", spec, _options(args), tied=True)
        return body(lab)
    except interrupted as signal_number:
        return 128 + signal_number.args[0]
    finally:
        if lab is not None:
            labs.stop(lab)


def _job(arguments, command):
    args = _parser("", "spec", lab=True, job=True).parse_args(arguments)
    return _within(args.spec, args, lambda lab: launch.launch(lab, command, args.style, args.deadline, args.grace,
                                                              args.switches))


def _with(arguments, command):
    args = _parser("with", "spec", lab=True).parse_args(arguments)
    return _within(args.spec, args, lambda lab: subprocess.run(command, env=launch.environment(lab), check=False)
                   .returncode)


def _up(arguments, _):
    args = _parser("up", "name", "spec", lab=True).parse_args(arguments)
    lab = labs.start(args.name, args.spec, _options(args))
    print(f"{lab.name}: {lab.network.name}, {len(lab.network.nodes)} nodes, {len(lab.network.links)} links of up to "
          f"{args.rate}")
    return 0


def _down(arguments, _):
    args = _parser("down", "name").parse_args(arguments)
    labs.stop(labs.find(args.name))
    return 0


def _gc(arguments, _):
    _parser("gc").parse_args(arguments)
    for name in labs.collect_garbage():
        print(f"removed {name}")
    return 0


def _ls(arguments, _):
    parser = _parser("ls")
    parser.add_argument("name", nargs="?")
    args = parser.parse_args(arguments)
    if args.name is None:
        for name in labs.names():
            lab = labs.find_any(name)
            what = "being brought up, or killed (gc)" if lab is None else "killed (gc)" if not lab.alive else \
                f"{lab.network.name}, {len(lab.network.nodes)} nodes, {lab.options['rate']}"
            print(f"{name:<20} {what}")
        return 0
    lab = labs.find(args.name)
    for i, node in enumerate(lab.network.nodes):
        kind = "switch" if node.rank is None else f"rank {node.rank}"
        print(f"{node.name:<10} {kind:<8} {node.address:<14} process {lab.pids[i]}")
    for link in lab.network.links:
        a, b = lab.network.nodes[link.a].name, lab.network.nodes[link.b].name
        ends = [link.dev_a, link.dev_b] if lab.options["bare"] else [f"{link.dev_a} {link.address_a}",
                                                                     f"{link.dev_b} {link.address_b}"]
        print(f"{a}-{b:<10} {' - '.join(ends)}  {link.rate_ab / 1e6:g} / {link.rate_ba / 1e6:g} Mbit/s")
    return 0


def _exec(arguments, command):
    args = _parser("exec", "name", "node").parse_args(arguments)
    interrupted = launch.on_signals()
    try:
        return launch.execute(labs.find(args.name), args.node, command)
    except interrupted as signal_number:
        return 128 + signal_number.args[0]


def _run(arguments, command):
    args = _parser("run", "name", job=True).parse_args(arguments)
    interrupted = launch.on_signals()
    try:
        return launch.launch(labs.find(args.name), command, args.style, args.deadline, args.grace, args.switches)
    except interrupted as signal_number:
        return 128 + signal_number.args[0]


def _set(arguments, _):
    parser = _parser("set", "name", "link")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--down", action="store_true", help="no carrier at either end")
    what.add_argument("--up", action="store_true", help="as it was, with its routes")
    what.add_argument("--drop", action="store_true", help="carrier, but every packet is lost")
    what.add_argument("--rate", help="both ways")
    args = parser.parse_args(arguments)
    lab = labs.find(args.name)
    for link in lab.links_of(args.link):
        if args.rate:
            configure.set_rate(lab, link, network.parse_rate(args.rate))
        elif args.down:
            configure.set_down(lab, link)
        elif args.drop:
            configure.set_drop(lab, link)
        else:
            configure.set_up(lab, link)
    return 0


def _verify(arguments, _):
    args = _parser("verify", "name").parse_args(arguments)
    lines, good = probe.verify(labs.find(args.name))
    print("\n".join(lines))
    return 0 if good else 1


def _stats(arguments, _):
    parser = _parser("stats", "name")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args(arguments)
    rows = probe.traffic(labs.find(args.name))
    if args.json:
        print(json.dumps(rows))
        return 0
    several = any(row["cable"] > 1 for row in rows)
    for row in rows:
        name = f"{row['src']}>{row['dst']}" + (f":{row['cable']}" if several else "")
        print(f"{name:<20} {row['bytes']:>14} B {row['drops']:>8} drops")
    return 0


VERBS = {"with": _with, "up": _up, "down": _down, "gc": _gc, "ls": _ls, "exec": _exec, "run": _run, "set": _set,
         "verify": _verify, "stats": _stats}
TAKES_COMMAND = {"with", "exec", "run", ""}


def main(argv):
    if not argv or argv[0] in ("-h", "--help", "help"):
        print(USAGE, end="")
        return 0 if argv else 2
    try:
        if argv[0] == "rsh":  # COMMAND is not ours to parse, and no "--" comes before it
            return launch.remote_shell(argv[1], argv[2:])
        verb = argv[0] if argv[0] in VERBS else ""
        own, command = (argv[:argv.index("--")], argv[argv.index("--") + 1:]) if "--" in argv else (argv, [])
        if verb in TAKES_COMMAND and not command and not {"-h", "--help"} & set(own):
            raise LabError(f"expected -- COMMAND at the end of `netlab {' '.join(argv)}`")
        return VERBS.get(verb, _job)(own[1:] if verb else own, command)
    except (LabError, OSError, subprocess.SubprocessError) as error:
        print(f"netlab: {error}", file=sys.stderr)
        return 3

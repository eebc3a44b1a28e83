#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The page that scripts/touch makes, against the program: touch.py node|browser MULTITREE MODULE_JS PAGE. 77: not here.

node     asks the compiled library, without a page, for certificates and schedules of networks: byte for byte the program's.
browser  does in headless Chromium what a reader does, and holds what is shown to what the program says of that network.
"""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

from chromium import Chromium

NETWORKS = ("ring:1", "ring:2", "ring:5", "torus:4x4", "torus:3x3x2", "mesh:3x5", "mesh:4x4", "hypercube:4", "full:6",
            "star:5", "fattree:4x4", "dgx-a100:2", "torus:4x4?without=0-1", "mesh:3x3?slow=4:0.5", "ring:6?parallel=0-1:2",
            "torus:8x8", "circulant:9?offsets=1,4", "dragonfly:4x1x2", "rail:2x4", "fattree:2x4?slow=0:0.5")
COLLECTIVES = ("allreduce", "allgather", "broadcast")

# What a reader does, and then waits for.
DRIVE = """
var settled = () => new Promise(done => {
  const look = () => at('state').textContent.startsWith('Computing') ? setTimeout(look, 20) : done(at('state').textContent);
  look();
});
var say_spec = spec => { at('spec').value = spec; at('ask').requestSubmit(); return settled(); };
var do_it = (kind, from, to, rate, latency) => {
  Object.entries({from, to, rate, latency}).forEach(([id, value]) => { if (value) at(id).value = value; });
  document.querySelector(`#cable button[data-kind=${kind}]`).click();
  return settled();
};
var shown = async () => ({shards: page.bound.shards, optimum: page.bound.is_optimum, nodes: names(),
  failed: at('state').classList.contains('failed'), summary: at('summary').textContent,
  drawn: drawing.paths.length, rows: at('table').rows.length, network: (await library.ask(question('network'))).text || ''});
"""


def program(multitree, *arguments):
    return subprocess.run([multitree, *arguments], capture_output=True, text=True, check=True, timeout=300).stdout


def node(multitree, module):
    questions, expected = [], []
    for i, network in enumerate(NETWORKS):
        collective = COLLECTIVES[i % len(COLLECTIVES)]
        algorithm = ("allreduce-optimal", "multitree", "ring")[i // 3 % 3]
        shared = {"network": network, "collective": collective, "algorithms": [algorithm]}
        questions += [{**shared, "want": "certificate"}, {**shared, "want": "schedule"}]
        expected += [program(multitree, "bounds", "-t", network, "-c", collective, "-o", "-"),
                     program(multitree, "schedule", "-t", network, "-c", collective, "-a", algorithm, "-o", "-")]
    here = pathlib.Path(__file__).parent
    lines = "".join(json.dumps(question) + "\n" for question in questions)
    answers = subprocess.run(["node", here / "ask.js", module], input=lines, capture_output=True, text=True, check=True,
                             timeout=300).stdout.splitlines()
    assert len(answers) == len(questions), (len(answers), len(questions))
    for question, answer, text in zip(questions, answers, expected):
        assert json.loads(answer).get("text") == text, f"{question}: expected {text[:300]}, got {answer[:300]}"
    print(f"{len(answers)} files of {len(NETWORKS)} networks: the same bytes")


class Network:
    """What the page should have now: a topology file of the program, changed here."""

    def __init__(self, multitree, spec, file):
        self.multitree, self.file = multitree, file
        program(multitree, "topology", "-t", spec, "-o", str(file))
        self.json = json.loads(file.read_text())

    def change(self, kind, a, b, rate="", latency=""):
        ends = ((a, b), (b, a))
        links = self.json["links"]
        mine = [link for link in links if (link["src"], link["dst"]) in ends]
        if kind == "cable":
            self.json.pop("shape", None)
            links += [{"src": src, "dst": dst, "bandwidth": rate, "latency": latency} for src, dst in ends]
        for link in mine:
            if kind == "cut":
                links.remove(link)
            if kind == "rate":
                link["bandwidth"] = rate

    def bound(self, collective):
        self.file.write_text(json.dumps(self.json))
        text = program(self.multitree, "bounds", "-t", str(self.file), "-c", collective, "--json")
        return json.loads(text)["bounds"][0]


class Reader:
    def __init__(self, chromium, multitree, folder):
        self.chromium, self.multitree, self.file = chromium, multitree, folder / "network.json"
        self.network = None

    def shows(self, told, collective="allreduce"):
        """What the page shows is what the program says of the network that the page should have."""
        seen = self.chromium.evaluate("shown()")
        assert not seen["failed"] and "Computed here" in told, told
        bound = self.network.bound(collective)
        assert (seen["shards"], seen["optimum"]) == (bound["bound_shards"], bound["is_optimum"]), (seen, bound)
        assert f" {bound['bound_shards']} shard times" in seen["summary"], seen["summary"]
        assert seen["drawn"] == len(self.network.json["links"]) and seen["rows"] > 1, seen
        assert json.loads(seen["network"])["links"] == self.network.json["links"], seen["network"]
        print(f"{collective}: {seen['shards']} shard times")

    def takes(self, spec):
        self.network = Network(self.multitree, spec, self.file)
        told = self.chromium.evaluate(f"say_spec({json.dumps(spec)})")
        print(spec)
        self.shows(told)

    def does(self, *change):
        return self.chromium.evaluate(f"do_it({', '.join(json.dumps(word) for word in change)})")

    def changes(self, *change):
        self.network.change(*change)
        print(*change)
        self.shows(self.does(*change))

    def is_told(self, told, words):
        assert self.chromium.evaluate("at('state').classList.contains('failed')") and words in told, (told, words)


TOUCHES = {
    "torus:4x4": [("rate", "n0", "n1", "4GB/s"), ("cable", "n0", "n10", "16GB/s", "150ns"), ("cut", "n0", "n1")],
    "mesh:3x5": [("cut", "n0", "n1"), ("cut", "n7", "n8"), ("cable", "n14", "n0", "32GB/s", "1us")],
    "hypercube:3": [("cut", "n0", "n1"), ("cut", "n6", "n7"), ("rate", "n2", "n3", "64GB/s")],
    "dgx-a100:2": [("rate", "box0gpu0", "ib0", "4GB/s"), ("cable", "box0gpu0", "box1gpu0", "25GB/s", "500ns"),
                   ("cut", "box0gpu0", "ib0")],
}


def browser(multitree, page):
    found = shutil.which("chromium") or shutil.which("google-chrome")
    if found is None:
        print("skipped: no chromium here (Debian's package of that name)")
        return 77
    with tempfile.TemporaryDirectory() as folder, Chromium(found, folder) as chromium:
        chromium.open(page.resolve())
        chromium.evaluate(DRIVE)
        reader = Reader(chromium, multitree, pathlib.Path(folder))
        for spec, changes in TOUCHES.items():
            reader.takes(spec)
            for change in changes:
                reader.changes(*change)
        other_questions(reader)
        splits(reader)
        assert not chromium.complaints, chromium.complaints
    return 0


def other_questions(reader):
    """Another collective keeps the changes; a click on a cable takes its ends; files are read."""
    script = reader.chromium.evaluate
    reader.shows(script("(at('collective').value = 'allgather', compute(), settled())"), "allgather")
    ends = script("document.querySelectorAll('.grip')[0].dispatchEvent(new MouseEvent('click')),"
                  "[at('from').value, at('to').value, at('rate').value]")
    first = reader.network.json["links"][0]
    assert ends == [first["src"], first["dst"], first["bandwidth"]], (ends, first)
    reader.shows(script(f"(at('file').value = {json.dumps(json.dumps(reader.network.json))}, at('use-file').click(), "
                        "settled())"), "allgather")
    script("at('collective').value = 'allreduce'")


def splits(reader):
    reader.takes("ring:5")
    reader.changes("cut", "n0", "n1")
    reader.is_told(reader.does("cut", "n2", "n3"), "the cuts leave 2 parts: n0, n3, n4 | n1, n2")
    reader.chromium.evaluate("document.querySelectorAll('#changes button')[1].click()")
    reader.shows(reader.chromium.evaluate("settled()"))
    reader.is_told(reader.does("rate", "n1", "n2", "fast"), "fast")
    reader.is_told(reader.chromium.evaluate("say_spec('tours:4x4')"), "torus")


def main():
    mode, multitree, module, page = sys.argv[1], sys.argv[2], *map(pathlib.Path, sys.argv[3:])
    if not page.exists():
        print(f"skipped: no {page.name} (scripts/touch makes it, with emscripten)")
        return 77
    if mode == "browser":
        return browser(multitree, page)
    if shutil.which("node") is None:
        print("skipped: no node here (Debian's nodejs)")
        return 77
    return node(multitree, module)


if __name__ == "__main__":
    sys.exit(main())

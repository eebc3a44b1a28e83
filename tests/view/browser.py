#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Opens pages of `multitree view` in headless Chromium: browser.py MULTITREE. Exits with 77 where there is no browser.

A script that is put at the end of each page chooses every schedule and mode in turn and writes down what is drawn; the
browser's DOM is then read back. What is expected follows from the page's own data.
"""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

PROBE = """<script>
const seen = {errors: [], modes: [], hidden: at('timelines').hidden,
  steps: [...at('timeline-steps').rows].map(row => [...row.cells].map(cell => cell.textContent)),
  inks: page.timelines ? new Set(at('timeline').getContext('2d').getImageData(0, 0, at('timeline').width,
    at('timeline').height).data).size : 0};
try {
  for (let s = 0; s < page.schedules.length; ++s) {
    at('schedule').value = s;
    choose_schedule();
    for (const radio of document.querySelectorAll('input[name=mode]')) {
      radio.checked = true;
      show();
      const drawn = drawing.paths.filter(p => p.getAttribute('stroke') !== '#e2e5e9').length;
      seen.modes.push([s, radio.value, drawn, at('told').textContent]);
    }
  }
} catch (error) { seen.errors.push(String(error)); }
const probe = document.createElement('pre');
probe.id = 'probe';
probe.textContent = JSON.stringify(seen);
document.body.appendChild(probe);
</script></body>"""


def dom_of(browser, page):
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=2000",
               "--enable-logging=stderr", "--dump-dom", page.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    errors = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    assert not errors, errors
    return done.stdout


def seen_in(browser, page):
    page.write_text(page.read_text().replace("</body>", PROBE))
    dom = dom_of(browser, page)
    seen = json.loads(dom.split('<pre id="probe">')[1].split("</pre>")[0].replace("&amp;", "&"))
    assert not seen["errors"], seen["errors"]
    return seen, dom


def check(browser, multitree, folder, spec):
    page = folder / "page.html"
    subprocess.run([multitree, "view", "-t", spec, "-o", str(page)], check=True)
    seen, dom = seen_in(browser, page)
    assert seen["steps"] == [] and seen["hidden"], seen
    assert "<canvas" in dom and "<svg" in dom
    for schedule, mode, drawn, told in seen["modes"]:
        assert drawn > 0 and told, f"{spec}: schedule {schedule} draws nothing as '{mode}'"
    print(f"{spec}: {len(seen['modes'])} drawings")


def check_timelines(browser, multitree, folder):
    """A simulation beside a run: each step of the schedule is a row that says how much later the run was."""
    traces, page = [str(folder / name) for name in ("simulated.json", "run.json")], folder / "page.html"
    shared = ["-t", "torus:2x2", "-a", "multitree", "-b", "64K", "-e", "64K"]
    quiet = {"check": True, "stdout": subprocess.DEVNULL}
    subprocess.run([multitree, "simulate", *shared, "--model", "message", "--trace", traces[0]], **quiet)
    subprocess.run([multitree, "run", *shared, "-n", "2", "-w", "1", "--trace", traces[1]], **quiet)
    subprocess.run([multitree, "view", *shared[:4], "--trace", ",".join(traces), "-o", str(page)], check=True)
    data = json.loads(page.read_text().split('id="data">')[1].split("</script>")[0])
    seen, _ = seen_in(browser, page)
    heads, *rows = seen["steps"]
    assert not seen["hidden"] and seen["inks"] > 2, seen
    assert heads == ["step", *[trace + " ends" for trace in traces], "later by", "times"], heads
    assert len(rows) == data["schedules"][0]["steps"], rows
    for number, (step, simulated, run, later, times) in enumerate(rows, 1):
        assert step == str(number) and float(times) > 0, (simulated, run, later)
    print(f"timelines: {len(rows)} steps")


def main():
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        print("skipped: no chromium here (Debian's package of that name)")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        for spec in ("torus:4x4", "dgx-a100:2", "mesh:3x3?slow=4:0.5"):
            check(browser, sys.argv[1], pathlib.Path(folder), spec)
        check_timelines(browser, sys.argv[1], pathlib.Path(folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())

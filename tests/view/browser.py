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
const seen = {errors: [], modes: []};
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


def check(browser, multitree, folder, spec):
    page = folder / "page.html"
    subprocess.run([multitree, "view", "-t", spec, "-o", str(page)], check=True)
    page.write_text(page.read_text().replace("</body>", PROBE))
    dom = dom_of(browser, page)
    seen = json.loads(dom.split('<pre id="probe">')[1].split("</pre>")[0].replace("&amp;", "&"))
    assert not seen["errors"], seen["errors"]
    assert "<canvas" in dom and "<svg" in dom
    for schedule, mode, drawn, told in seen["modes"]:
        assert drawn > 0 and told, f"{spec}: schedule {schedule} draws nothing as '{mode}'"
    print(f"{spec}: {len(seen['modes'])} drawings")


def main():
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        print("skipped: no chromium here (Debian's package of that name)")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        for spec in ("torus:4x4", "dgx-a100:2", "mesh:3x3?slow=4:0.5"):
            check(browser, sys.argv[1], pathlib.Path(folder), spec)
    return 0


if __name__ == "__main__":
    sys.exit(main())

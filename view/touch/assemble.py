#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Puts the page together that computes by itself: assemble.py SOURCE_DIR MODULE_JS CHART_JS OUT.html

It is the page of `multitree view` with what the reader can touch above it, and in place of data the compiled library.
"""
import os
import pathlib
import sys

MARKS = ("TITLE", "STYLE", "ABOVE", "DATA", "CHART", "SCRIPT")


def script(name, text):
    """A script that the page keeps as text, for its worker."""
    assert "</script" not in text, f"{name}: would end its element"
    return f'<script type="text/plain" id="{name}">{text}</script>'


def page_of(source, module, chart):
    def read(name):
        return (source / "view" / name).read_text(encoding="utf-8")

    parts = {
        "TITLE": "touch the proof",
        "STYLE": read("page/page.css") + read("touch/touch.css"),
        "ABOVE": "\n" + read("touch/touch.html") + script("library", module) + script("worker", read("touch/worker.js")),
        "DATA": "null",
        "CHART": chart,
        "SCRIPT": read("page/network.js") + read("page/page.js") + read("page/timeline.js") +
        read("touch/touch.js"),
    }
    done, rest = "", read("page/page.html")
    for mark in MARKS:
        before, found, rest = rest.partition(f"@{mark}@")
        assert found, f"view/page/page.html: expected @{mark}@"
        done += before + parts[mark]
    return done + rest


def main():
    source, module, chart, out = map(pathlib.Path, sys.argv[1:])
    page = page_of(source, module.read_text(encoding="utf-8"), chart.read_text(encoding="utf-8"))
    beside = out.with_name(out.name + ".new")
    beside.write_text(page, encoding="utf-8")
    os.replace(beside, out)


if __name__ == "__main__":
    main()

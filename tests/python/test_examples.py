# SPDX-License-Identifier: BSD-3-Clause
"""The examples as they are, and files that the program and the package exchange."""
import os
import pathlib
import subprocess
import sys

import pytest

import multitree

EXAMPLES = pathlib.Path(os.environ.get("MULTITREE_EXAMPLES", pathlib.Path(__file__).parents[2] / "python/examples"))


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("name", ["schedules_for_my_network", "interface_design", "gradients_between_processes"])
def test_examples(name):
    pytest.importorskip("networkx")
    assert run(sys.executable, str(EXAMPLES / f"{name}.py"))


def test_the_program_and_the_package_read_each_other(tmp_path):
    program = os.environ.get("MULTITREE_PROGRAM", "")
    if not os.access(program, os.X_OK):
        pytest.skip("no program multitree beside the package (MULTITREE_PROGRAM)")
    run(program, "schedule", "-t", "mesh:3x4", "-a", "multitree", "-o", str(tmp_path / "program.json"))
    schedule = multitree.schedule("mesh:3x4", "multitree")
    assert multitree.load(tmp_path / "program.json").schedules[0].schedule == schedule
    schedule.save(tmp_path / "python.json")
    run(program, "verify", str(tmp_path / "python.json"))

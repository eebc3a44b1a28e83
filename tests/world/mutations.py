#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Puts bugs into copies of sources, one at a time, and looks whether the world, the models of the votes or the executor's tests
find them.

mutations.py BUILD SOURCES [NAME...]: BUILD has been built. By hand: minutes. Each mutated file is compiled by itself and linked
before the library, whose own definitions then do not count.
mutations.py --check SOURCES: only whether the sources still have what is to be changed."""
import os
import pathlib
import subprocess
import sys
import tempfile
import time

JOBS = "600"
PATIENCE = 400  # seconds for one program

COALESCED = "algorithms/coalesced.cpp"
EXECUTOR = "runtime/execution/executor.cpp"
OUTBOX = "runtime/execution/outbox.cpp"
ENGINE = "runtime/execution/engine.cpp"
FAILURES = "runtime/execution/engine_failures.cpp"
SAID = "runtime/execution/announcements.cpp"
OPERATION = "runtime/execution/operation.cpp"
OUTGOING = "runtime/messages/tcp/outgoing.cpp"
REPLAY = "runtime/messages/tcp/replay.cpp"
PLANS = "runtime/execution/plan_vote.cpp"
SHRINK = "runtime/job/shrink_vote.cpp"

# Name, program, file, what is there, what takes its place.
MUTATIONS = [
    ("a receive does not wait for sends of its slot", "world", EXECUTOR, "  if (slot.sends != 0) return false;\n", ""),
    ("what was received counts as not written", "world", EXECUTOR,
     "    } else if (!program_.through_scratch(first)) {\n      slot.untouched = false;\n",
     "    } else if (!program_.through_scratch(first)) {\n"),
    ("sums begin with what is in the result", "world", EXECUTOR,
     "const std::byte* first = slot.untouched ? input_ : data_;", "const std::byte* first = data_;"),
    ("sends take what is in the result", "world", EXECUTOR,
     "const std::byte* value = (slot.untouched ? input_ : data_) + task.begin;",
     "const std::byte* value = data_ + task.begin;"),
    ("scratch is not given back", "world", EXECUTOR, "  free_blocks_.push_back(block);\n", ""),
    ("two receives share scratch", "world", EXECUTOR,
     "    block_of_[id] = free_blocks_.back();\n    free_blocks_.pop_back();\n",
     "    block_of_[id] = free_blocks_.back();\n    if (free_blocks_.size() > 1) free_blocks_.pop_back();\n"),
    ("scratch is summed before it is there", "world", EXECUTOR,
     "if (completion.state != Completion::State::Done) return false;",
     "if (completion.state == Completion::State::Idle) return false;"),
    ("what failed counts as done", "world", EXECUTOR,
     "if (completion->state == Completion::State::Failed) {", "if (completion->id == UINT32_MAX) {"),
    ("inputs that stay are not copied", "world", EXECUTOR, "if (!slots_[s].untouched || piece.begin < begin",
     "if (slots_[s].untouched || piece.begin < begin"),
    ("a message leaves when its first chunk is ready", "world", EXECUTOR, "      if (bundles_.count(task.bundle)) {\n",
     "      if (bundles_.count(task.bundle); id == program_.first_of(id)) {\n"),
    ("a message that is taken in part is given back", "executor", EXECUTOR, "  if (!bundles_.count(task.bundle)) return;\n",
     "  if (id != program_.first_of(id)) return;\n"),
    ("chunks of a message all lie at its begin", "world", EXECUTOR, "block.data.get() + task.offset;", "block.data.get();"),
    ("a rank sends in the round in which it receives", "world", COALESCED, "std::min({at_target.send - 1,",
     "std::min({at_target.send,"),
    ("what is still to be sent is overwritten", "world", COALESCED, "at_target.receive - 1, later_[index(t.src)].receive});",
     "at_target.receive - 1});"),
    ("no send goes first where all is full", "world", OUTBOX, "const bool first = !limits_.buffered &&",
     "const bool first = limits_.window_messages == 0 &&"),
    ("windows stay full", "world", OUTBOX, "  lane_.bytes -= sent->bytes;\n  --lane_.messages;\n", ""),
    ("what was held back stays", "world", OUTBOX, "  for (auto& [peer, lane] : lanes_) pump(lane);\n", ""),
    ("no timeout", "world", ENGINE, "  if (idle_ >= timeout_) time_out();\n", ""),
    ("deaths are not asked for", "world", ENGINE, "if (due || since_failure_ >= kFailurePeriod) {", "if (due) {"),
    ("silent links are not looked at", "world", FAILURES, "    check_links();\n", ""),
    ("nobody is blamed", "world", FAILURES, 'if (!culprit.empty()) reason += "; " + culprit;', ""),
    ("equal calls count as different", "world", SAID, "first > its.last || mine->call == its.call || difference_",
     "first > its.last || difference_"),
    ("averages are sums", "world", OPERATION, "    if (layout_.reduces) {\n", "    if (layout_.whole == SIZE_MAX) {\n"),
    ("a call returns before it is done", "world", OPERATION, "  engine_->wait(*execution_);\n  complete();\n",
     "  engine_->poll();\n  complete();\n"),
    ("what was lost with a connection is not written again", "world", REPLAY, "  next_ = begin_;\n", "  next_ = end_;\n"),
    ("what has come is written again", "world", REPLAY, "  begin_ = std::max(begin_, bytes);\n", ""),
    ("more is sent unasked than there is room for", "world", OUTGOING,
     "(untaken <= credit_ && bytes <= credit_ - untaken)", "untaken != UINT64_MAX"),
    ("of two halves both go on", "votes", SHRINK, "return !these.empty() && these.front() < those.front();",
     "return !these.empty();"),
    ("who does not answer counts as gone", "votes", SHRINK,
     "if (answers[i] != Presence::Gone) result.elsewhere.push_back(others[i]);",
     "if (answers[i] == Presence::There) result.elsewhere.push_back(others[i]);"),
    ("only who was told counts", "votes", SHRINK, "    return outnumber(askers, those);\n",
     "    return !askers.empty();\n"),
    ("shrinks are not counted", "votes", SHRINK, "  ++epoch_;\n", ""),
    ("nobody meets at itself", "votes", SHRINK, "  places.push_back(standing.self);\n", ""),
    ("one in charge goes on with a minority", "votes", SHRINK, "in_charge_ && askers.size() > others.size()",
     "in_charge_ && !askers.empty()"),
    ("promises are of no call", "votes", PLANS, "limit_ = next_ + std::max(kFewCalls, lately);", "limit_ = next_ - 1;"),
    ("the nearest promise counts", "votes", PLANS, "std::ranges::max_element(said_,", "std::ranges::min_element(said_,"),
    ("promises are broken by one", "votes", PLANS, "return !bound || sequence < limit_;",
     "return !bound || sequence <= limit_;"),
    ("half of the ranks decide", "votes", PLANS, "return said_.size() == ranks_;", "return 2 * said_.size() >= ranks_;"),
]
FLAGS = ["-std=c++20", "-O2", "-fPIC", "-DNDEBUG", "-DFMT_SHARED", "-DBOOST_ALL_NO_LIB"]
PROGRAMS = {"world": ("tests/world/world", ["1", JOBS]),
            "executor": ("tests/runtime/runtime_loopback_test", ["--gtest_filter=Coalesce.*"]),
            "votes": ("tests/world/world_votes_test", ["--gtest_fail_fast"])}


def link_command(build, target):
    commands = subprocess.run(["ninja", "-C", build, "-t", "commands", target], check=True, capture_output=True,
                              text=True).stdout
    return [line for line in commands.splitlines() if f"-o {target} " in line][-1]


def mutated(sources, file, before, after):
    text = (sources / file).read_text()
    if text.count(before) != 1 or before == after:
        sys.exit(f"{file}: expected once, found {text.count(before)} times: {before.strip()}")
    return text.replace(before, after)


def run(program, arguments):
    begin = time.monotonic()
    try:
        done = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=PATIENCE, errors="replace")
    except subprocess.TimeoutExpired:
        return "", PATIENCE
    seconds = time.monotonic() - begin
    if done.returncode == 0:
        return "", seconds
    lines = [line for line in done.stdout.splitlines() if line.startswith("seed ") or "FAILED" in line]
    return (lines[0] if lines else f"exit code {done.returncode}"), seconds


def check(sources):
    for _, _, file, before, after in MUTATIONS:
        mutated(sources, file, before, after)


def main():
    if sys.argv[1] == "--check":
        return check(pathlib.Path(sys.argv[2]))
    build, sources = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).absolute()
    links = {kind: link_command(build, target) for kind, (target, _) in PROGRAMS.items()}
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, kind, file, before, after in MUTATIONS:
            text = mutated(sources, file, before, after)
            if sys.argv[3:] and name not in sys.argv[3:]:
                continue
            copy, made, program = f"{folder}/mutated.cpp", f"{folder}/mutated.o", f"{folder}/program"
            pathlib.Path(copy).write_text(text)
            subprocess.run(["g++", *FLAGS, f"-I{sources}", "-c", copy, "-o", made], check=True)
            target = PROGRAMS[kind][0]
            link = links[kind].replace(f"-o {target} ", f"-o {program} {made} -Wl,--allow-multiple-definition ")
            subprocess.run(link, shell=True, check=True, cwd=build, capture_output=True)
            words, seconds = run(program, PROGRAMS[kind][1])
            missed += not words
            print(f"{'found' if words else 'MISSED'}  {name} ({kind}, {seconds:.0f} s)  {words[:150]}", flush=True)
    sys.exit(1 if missed else 0)


main()

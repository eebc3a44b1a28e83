#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# `multitree-study` goes on where it was stopped and makes the same report. usage: study.sh PROGRAM
set -euo pipefail
program=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
fail() {
  echo "$*" >&2
  cat output error >&2
  exit 1
}
# study EXPECTED: a run of some parts simulates so many points and has nothing but them to say.
study() {
  "$program" --quick -o here "${@:2}" >output 2>error || fail "exit code $?"
  grep -q "^results  here/results.jsonl, [0-9]* points, $1 of them simulated now\$" output ||
    fail "expected $1 points to be simulated now"
}
# refused LINE WHAT: results.jsonl is not taken, and not changed.
refused() {
  cp here/results.jsonl broken
  local code=0
  "$program" --quick -o here >output 2>error || code=$?
  [ $code -eq 3 ] || fail "expected exit code 3, got $code"
  grep -q "^multitree-study: here/results.jsonl:$1: .*$2" error || fail "expected '$1: $2'"
  cmp -s here/results.jsonl broken || fail "results.jsonl was changed"
  cp whole here/results.jsonl
}

"$program" --quick -o here >output 2>error || fail "exit code $?"
[ ! -s error ] || fail "expected nothing on standard error"
points=$(($(wc -l <here/results.jsonl) - 1))
[ $points -gt 100 ] || fail "expected more than 100 points"
grep -q '^## Compatibility' here/report.md || fail "expected a part on compatibility"
for figure in $(sed -n 's/^!\[.*\](\(.*\))$/\1/p' here/report.md); do
  grep -q '</svg>' "here/$figure" || fail "$figure: expected a figure"
done
cp here/results.jsonl whole
cp here/report.md report.md
same() { cmp here/report.md report.md || fail "expected the same report"; }

study 0
same
cmp -s here/results.jsonl whole || fail "expected no new results"

# Interrupted while it wrote a line.
head -c -20 whole >here/results.jsonl
study 1 --jobs 1
grep -qx 'multitree-study: here/results.jsonl: dropped the last line, which an interrupted run left unfinished' \
  error || fail "expected a note"
same
cmp -s here/results.jsonl whole || fail "expected the same results"

# The same report from results in another order, by another number of threads.
head -n 40 whole >here/results.jsonl
study $((points - 39)) --jobs 3
same

# Parts share results.
rm -r here
study 32 --part bandwidth --max-bytes 64KiB
study 16 --part bandwidth
cp whole here/results.jsonl

# Wrong files.
sed -i '3s/"cycles":[0-9]*,/"cycles":-1,/' here/results.jsonl
refused 3 "'cycles': expected a number"
sed -i '5s/^/x/' here/results.jsonl
refused 5 "expected a result"
sed -i '1s/"flit_bytes":16/"flit_bytes":32/' here/results.jsonl
refused 1 "expected results of this version"

code=0
flock here/results.jsonl "$program" --quick -o here >output 2>error || code=$?
[ $code -eq 3 ] && grep -q 'here/results.jsonl: cannot lock, is another run using it' error ||
  fail "expected that only one run may write"

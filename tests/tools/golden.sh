#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs the commands of a text file and compares what they print. usage: golden.sh PROGRAM SOURCE_DIR
# FILE [--update]
#
#   # a comment
#   $ multitree list collectives
#   the expected output, standard error included
#   [exit 1]                      last line, where the exit code is not 0
#
# Of a .md file, the blocks that start with ```console are run. Commands run in bash, in an empty
# directory where data/ is tests/data. Measured numbers are masked on both sides. --update writes
# what the commands printed into FILE, for review.
set -euo pipefail
program=$(realpath "$1") source=$(realpath "$2") file=$(realpath "$3") update=${4:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin" "$work/here"
ln -s "$program" "$work/bin/multitree"
# The study's program lies beside it.
[ ! -e "$program-study" ] || ln -s "$program-study" "$work/bin/multitree-study"
ln -s "$source/tests/data" "$work/here/data"
PATH=$work/bin:$PATH
export LC_ALL=C

# What differs from run to run: generation times, and the numbers and digests of measured rows.
mask() {
  sed -E \
    -e 's/("generation_seconds": )[0-9.e+-]+/\1#/' \
    -e 's/ [0-9]+\.[0-9]{3}s$/ #s/' \
    -e 's/("(time|alg_bw|bus_bw|average_bus_bandwidth)": )[0-9.e+-]+/\1#/' \
    -e 's/^( +[0-9]+ +[0-9]+ +[a-z0-9]+ +[a-z]+ +-?[0-9]+ \|) +[0-9.]+ +[0-9.]+ +[0-9.]+ +([0-9N/A]+ \|) +[0-9.]+ +[0-9.]+ +[0-9.]+ +/\1 # # # \2 # # # /' \
    -e 's/^(# Avg bus bandwidth +: )[0-9.]+$/\1#/' \
    -e 's/^([a-z0-9?&=.+-]+ +[0-9-]+ +[0-9-]+ +[0-9.-]+ +)[0-9.]+ +[0-9.]+( +[0-9]+)$/\1# # \2/'
}

failed=0 commands=0 command="" expected=""
run_command() {
  [ -n "$command" ] || return 0
  local code=0 actual
  actual=$(cd "$work/here" && timeout 60 bash -c "$command" 2>&1 </dev/null) || code=$?
  [ -z "$actual" ] || actual+=$'\n'
  [ "$code" -eq 0 ] || actual+="[exit $code]"$'\n'
  commands=$((commands + 1))
  if [ "$(mask <<<"$actual")" != "$(mask <<<"$expected")" ]; then
    failed=$((failed + 1))
    if [ -z "$update" ]; then
      printf '%s: $ %s\n' "$file" "$command"
      diff -u --label expected --label actual <(mask <<<"$expected") <(mask <<<"$actual") || true
    fi
  else
    actual=$expected  # keeps the measured numbers that are there
  fi
  printf '$ %s\n%s' "$command" "$actual" >>"$work/updated"
  command="" expected=""
}

inside=1
[[ $file == *.md ]] && inside=0
while IFS= read -r line; do
  if [[ $file == *.md && $line == '```'* ]]; then
    run_command
    [[ $line == '```console' ]] && inside=1 || inside=0
  elif [ $inside -eq 1 ] && [[ $line == '$ '* ]]; then
    run_command
    command=${line#'$ '}
    continue
  elif [[ $file == *.txt && $line == '#'' '* && -z $expected ]] && [ -z "$command" ]; then
    :
  elif [[ $file == *.txt && -z $line ]]; then
    run_command
  elif [ -n "$command" ]; then
    expected+=$line$'\n'
    continue
  fi
  printf '%s\n' "$line" >>"$work/updated"
done <"$file"
run_command
[ "$commands" -gt 0 ] || { echo "$file: no command found" >&2; exit 1; }
if [ -n "$update" ]; then
  cat "$work/updated" >"$file"
elif [ $failed -gt 0 ]; then
  echo "$file: $failed of $commands commands print something else" >&2
  exit 1
fi

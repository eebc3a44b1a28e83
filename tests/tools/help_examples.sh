#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Every --help succeeds, and its example runs. usage: help_examples.sh PROGRAM STUDY
set -euo pipefail
program=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ln -s "$program" "$work/multitree"
ln -s "$(realpath "$2")" "$work/multitree-study"
cd "$work"
export PATH=$work:$PATH
examples=0
for command in multitree{,' '{topology,bounds,schedule,verify,tune,run,export,import,list,symmetric,replan,nic,simulate,train,view,completion,manual,explain,design,explore,status,postmortem,cluster}} multitree-study; do
  $command --help >"$work/help"
  example=$(sed -n 's/^Example: //p' "$work/help")
  [ -n "$example" ] || { echo "$command --help: no example" >&2; exit 1; }
  echo "\$ $example"
  timeout 100 bash -o pipefail -c "$example" </dev/null >"$work/output" 2>&1 || {
    echo "exit code $?:" >&2
    cat "$work/output" >&2
    exit 1
  }
  examples=$((examples + 1))
done
# No command is left out above.
listed=$(multitree --help | sed -n '/^Subcommands:/,/^$/s/^  \([a-z]*\) .*/\1/p' | wc -l)
[ "$listed" -eq $((examples - 2)) ] || { echo "$listed commands, $examples examples" >&2; exit 1; }

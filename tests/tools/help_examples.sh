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
# example_of COMMAND: what its --help says, which has to call it.
example_of() {
  $1 --help >"$work/help"
  local example
  example=$(sed -nE 's/^(Example|As in): //p' "$work/help")
  case "$example" in
    *"$1"*) printf '%s\n' "$example" ;;
    *) echo "$1 --help: expected an example of it, got '$example'" >&2; return 1 ;;
  esac
}

subcommands_of() { $1 --help | sed -n '/^Subcommands:/,/^$/s/^  \([a-z]*\) .*/\1/p'; }

examples=0
check() {
  local example
  example=$(example_of "$1") || exit 1
  # "As in" stands before what needs more than this host; cosim and job need a build with Verilator.
  ! grep -q '^As in: ' "$work/help" && [[ ! "$1" =~ ^multitree\ nic\ (cosim|job)$ ]] || return 0
  examples=$((examples + 1))
  echo "\$ $example"
  timeout 100 bash -o pipefail -c "$example" </dev/null >"$work/output" 2>&1 || {
    echo "exit code $?:" >&2
    cat "$work/output" >&2
    exit 1
  }
}

multitree --help | grep -q '^Example: multitree ' || { echo "multitree --help: no example" >&2; exit 1; }
for command in $(subcommands_of multitree); do
  check "multitree $command"
  for nested in $(subcommands_of "multitree $command"); do
    check "multitree $command $nested"
  done
done
check multitree-study
[ "$examples" -gt 35 ] || { echo "expected an example of every command, found $examples" >&2; exit 1; }

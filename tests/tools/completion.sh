#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Shells complete what is typed, and every command has a man page that its formatter takes without a warning.
# usage: completion.sh PROGRAM
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ln -s "$(realpath "$1")" "$work/multitree"
export PATH=$work:$PATH
failed=0

# expect WHAT EXPECTED FOUND
expect() {
  [ "$2" == "$3" ] || { printf '%s: expected\n%s\ngot\n%s\n' "$1" "$2" "$3" >&2; failed=1; }
}

# after WORD...: what the last word may become, on one line
after() { multitree completion words -- "$@" | cut -f 1 | paste -sd ' '; }

expect "a command" "schedule" "$(after sched)"
expect "a command of a command" "cosim" "$(after nic co)"
expect "a flag" "--size" "$(after schedule --si)"
expect "a family" "torus:" "$(after schedule -t tor)"
expect "an item of a list" "ring,multitree" "$(after schedule -a ring,multi)"
expect "a type" "bfloat16" "$(after run -t torus:2x2 -d b)"
expect "an argument" "msccl mscclpp" "$(after export ms)"
expect "a file" "" "$(after verify s.j)"
expect "a number" "" "$(after schedule -r '')"
expect "all commands" "$(multitree list commands --json | sed -n 's/.*"name": "\(.*\)",/\1/p' | sort | paste -sd ' ')" "$(after '')"

# The script of bash, asked as bash asks it.
source <(multitree completion bash)
compopt() { :; }
COMP_WORDS=(multitree schedule -t fattr) COMP_CWORD=3
_multitree
expect "bash" "fattree3: fattree:" "$(printf '%s\n' "${COMPREPLY[@]}" | sort | paste -sd ' ')"
for shell in zsh fish; do
  if command -v $shell >/dev/null; then
    multitree completion $shell >"$work/script"
    $shell -n "$work/script" || failed=1
  else
    echo "skipped: no $shell to read its script"
  fi
done

multitree manual -o "$work/man"
expect "a page for each command" "$(multitree list commands --json | grep -c '"name"')" \
  "$(find "$work/man" -name 'multitree-*.1' ! -name 'multitree-*-*.1' | wc -l)"
expect "what a page printed is" "$(cat "$work/man/multitree-nic-cosim.1")" "$(multitree manual nic cosim)"
if command -v groff >/dev/null; then
  for page in "$work"/man/*.1; do
    expect "${page##*/}" "" "$(groff -man -ww -Tutf8 "$page" 2>&1 >/dev/null)"
  done
else
  echo "skipped: no groff to format the pages"
fi
exit $failed

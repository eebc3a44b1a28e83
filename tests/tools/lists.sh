# SPDX-License-Identifier: BSD-3-Clause
# What this build knows, for texts that list it: {topologies}, {algorithms}, {collectives} and
# {types} stand for the names that `multitree list` gives, so that a new one changes no text.
declare -A lists=()

# load_lists PROGRAM
load_lists() {
  local line
  while IFS= read -r line; do
    lists[${line%%:*}]=${line#*:}
  done < <("$1" list --json | python3 -c '
import json, sys
between = {"types": " ", "operators": " "}
for title, rows in json.load(sys.stdin).items():
    print(title, between.get(title, ", ").join(row["name"] for row in rows), sep=":")')
  [ -n "${lists[topologies]:-}" ] || { echo "$1: expected 'list --json' to list topologies" >&2; exit 1; }
}

# The text with the names themselves, and a text with these names back again.
with_names() {
  local text=$1 title
  for title in topologies algorithms collectives types; do
    [ -n "${lists[$title]:-}" ] || continue
    text=${text//"{$title}"/"${lists[$title]}"}
  done
  printf '%s' "$text"
}
with_titles() {
  local text=$1 title
  for title in topologies algorithms collectives types; do
    [ -n "${lists[$title]:-}" ] || continue
    text=${text//"${lists[$title]}"/"{$title}"}
  done
  printf '%s' "$text"
}

#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs the cases of a table: each command fails with its exit code and one exact line on standard
# error, prints nothing else and leaves no file behind. usage: bad_inputs.sh PROGRAM SOURCE_DIR TABLE
# [--update]
#
#   $ topology -t torus:4x0       arguments, in the words of the shell
#   2 --topology: torus:4x0: ...  exit code, message less the program's name; {topologies} and the
#                                 like stand for the names that the program lists (lists.sh)
#
# Each command runs in a directory with tests/data as data, once as it is, and where it takes an output
# file and the case gives none, also with a new one and with one that exists.
set -euo pipefail
source "$(dirname "$0")/lists.sh"
program=$(realpath "$1") name=$(basename "$1") source=$(realpath "$2") table=$(realpath "$3") update=${4:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/here" "$work/here/folder"
cd "$work/here"
# Other programs of the project list nothing.
[ "$name" != multitree ] || load_lists "$program"
ln -s "$source/tests/data" data
echo precious >kept.json
export LC_ALL=C
shopt -s nullglob

failed=0 cases=0
complain() {
  failed=$((failed + 1))
  printf '%s: %s %s\n' "$table" "$name" "$1"
  printf '%s\n' "${@:2}"
}

# check ARGUMENTS CODE MESSAGE
check() {
  local code=0 output
  output=$(eval "timeout 20 '$program' $1" 2>"$work/error" </dev/null) || code=$?
  if [ -n "$update" ]; then
    printf '%s %s\n' "$code" "$(with_titles "$(sed "s/^$name: //" "$work/error")")" >>"$work/updated"
    return
  fi
  [ "$code" = "$2" ] || complain "$1" "expected exit code $2, got $code"
  [ -z "$output" ] || complain "$1" "expected nothing on standard output, got: ${output:0:200}"
  printf '%s: %s\n' "$name" "$3" | cmp -s - "$work/error" ||
    complain "$1" "expected: $name: $3" "got:      $(cat "$work/error")"
  local left=(*)
  [ "${left[*]}" = "data folder kept.json" ] && [ -z "$(ls -A folder)" ] ||
    complain "$1" "expected no file to be left behind, got: $(ls -A . folder | tr '\n' ' ')"
  [ "$(cat kept.json)" = precious ] || complain "$1" "kept.json was changed"
  rm -f new.json* kept.json?*
  echo precious >kept.json
}

# The flag that takes an output file, where there is one and the case leaves it free.
output_flag() {
  case $1 in
    run*' -J '* | [a-qs-z]*' -o '* | *' --output='*) ;;
    run*) echo -J ;;
    topology* | replan* | schedule* | export* | import*) echo -o ;;
  esac
}

while IFS= read -r line; do
  if [[ $line != '$ '* ]]; then
    [ -z "$update" ] || printf '%s\n' "$line" >>"$work/updated"
    continue
  fi
  arguments=${line#'$ '}
  IFS= read -r expected
  cases=$((cases + 1))
  [ -z "$update" ] || printf '%s\n' "$line" >>"$work/updated"
  expected=$(with_names "$expected")
  check "$arguments" "${expected%% *}" "${expected#* }"
  flag=$(output_flag "$arguments")
  if [ -n "$flag" ] && [ -z "$update" ]; then
    read -r command rest <<<"$arguments"
    check "$command $flag new.json $rest" "${expected%% *}" "${expected#* }"
    check "$command $flag kept.json $rest" "${expected%% *}" "${expected#* }"
  fi
done <"$table"
if [ -n "$update" ]; then
  cat "$work/updated" >"$table"
  exit 0
fi
if [[ $table == *files.txt ]]; then
  for file in data/bad/*/*; do
    grep -qF "$file" "$table" || complain "" "$file is in no case"
  done
fi
[ $cases -gt 0 ] || { echo "$table: no case found" >&2; exit 1; }
echo "$cases cases, $failed failures"
[ $failed -eq 0 ]

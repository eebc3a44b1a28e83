#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# What scripts/ucc-tl says about wrong arguments and folders that are no UCC. usage: script.sh SOURCE_DIR
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# expect CODE WORDS ARGUMENT...
expect() {
  local code=$1 words=$2 found=0 output
  shift 2
  output=$("$source/scripts/ucc-tl" "$@" 2>&1) || found=$?
  [ "$found" -eq "$code" ] || { echo "ucc-tl $*: expected exit code $code, found $found: $output" >&2; exit 1; }
  grep -qF -- "$words" <<<"$output" || { echo "ucc-tl $*: expected '$words', found: $output" >&2; exit 1; }
}
source=$1

expect 2 'expected UCC_SOURCE [UCC_PREFIX], found 0 folders'
expect 2 'expected UCC_SOURCE [UCC_PREFIX], found 3 folders' a b c
expect 2 'found --wrong' --wrong
expect 2 '-o: expected a value, found none' a -o
expect 3 'absent: expected a UCC whose configure was run there' absent
# A folder that looks like one as far as each step looks.
mkdir -p ucc/src/ucc/api ucc/src/components/tl ucc/src/.libs prefix/lib prefix/include/ucc/api
touch ucc/config.h
echo "abs_top_srcdir = $work/absent" >ucc/src/Makefile
expect 3 "absent: expected UCC's source" ucc
echo "abs_top_srcdir = $work/ucc" >ucc/src/Makefile
touch ucc/src/components/tl/ucc_tl.h
expect 3 'expected a UCC that is built, found no src/.libs/libucc.so' ucc
echo 1.4.0 >ucc/src/ucc/api/ucc_version.h
echo 1.5.0 >prefix/include/ucc/api/ucc_version.h
expect 3 'expected the prefix of an installed UCC, found no lib/ucc' ucc prefix
mkdir prefix/lib/ucc
expect 3 'found another version or revision' ucc prefix
touch ucc/src/.libs/libucc.so
expect 3 '--library: expected libmultitree.so, found nothing there' ucc --library absent
touch libmultitree.so
expect 3 'does not compile against' ucc --library libmultitree.so -o out
[ -z "$(ls -A out)" ] || { echo "expected nothing half written in out, found $(ls -A out)" >&2; exit 1; }

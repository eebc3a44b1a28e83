#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Broken standard streams end a command with a plain reason, or silently where the reader of a pipe left.
# usage: streams.sh PROGRAM
set -uo pipefail
program=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
failed=0
fail() {
  echo "$*" >&2
  cat error >&2
  failed=1
}
# Each prints more than a pipe holds, or in several pieces.
commands=('schedule -t torus:16x16 -a multitree' 'topology -t torus:64x64 -o - --format dot'
          'export dot -t torus:64x64' 'list --json' 'verify --json -'
          'run --transport loopback -t ring:2 -b 4 -e 4K -f 2 -n 1 -w 0')
"$program" schedule -t ring:4 -o ring.json >/dev/null

for command in "${commands[@]}"; do
  # The reader leaves before the first byte, and SIGPIPE is not ignored, as in a shell.
  "$program" $command <ring.json 2>error | true
  code=${PIPESTATUS[0]}
  [ "$code" -eq 141 ] || [ "$code" -eq 0 ] || fail "$command | true: exit code $code"
  grep -v '^#\|^algorithm\|^multitree  ' error && fail "$command | true: expected no message"

  # The same where SIGPIPE is ignored, as under some launchers: an error like any other.
  (trap '' PIPE; "$program" $command <ring.json 2>error; echo $? >code) | true
  code=$(cat code)
  if [ "$code" -ne 0 ]; then
    [ "$code" -eq 3 ] || fail "$command | true, SIGPIPE ignored: expected exit code 3, got $code"
    grep -qx 'multitree: standard output: cannot write: Broken pipe' error ||
      fail "$command | true, SIGPIPE ignored: expected a message"
  fi

  "$program" $command <ring.json >/dev/full 2>error
  code=$?
  [ $code -eq 3 ] || fail "$command >/dev/full: expected exit code 3, got $code"
  grep -qx 'multitree: standard output: cannot write: No space left on device' error ||
    fail "$command >/dev/full: expected a message"

  "$program" $command <ring.json >&- 2>error
  code=$?
  [ $code -eq 3 ] || fail "$command >&-: expected exit code 3, got $code"
  grep -qx 'multitree: standard output: cannot write: Bad file descriptor' error ||
    fail "$command >&-: expected a message"
done

# A job of several processes.
"$program" run -t ring:2 -b 4 -e 4 -n 1 -w 0 >&- 2>error
[ $? -ne 0 ] || fail "run >&-: expected an error"
grep -qx 'multitree: standard output: cannot write: Bad file descriptor' error ||
  fail "run >&-: expected a message"

"$program" verify - <&- >output 2>error
[ $? -eq 3 ] || fail "verify - <&-: expected exit code 3"
grep -qx 'multitree: standard input: cannot read: Bad file descriptor' error ||
  fail "verify - <&-: expected a message"
exit $failed

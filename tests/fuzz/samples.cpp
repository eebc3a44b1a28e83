// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Samples that learners learn from: a table of numbers, or a text.
#include <sys/mman.h>
#include <unistd.h>
#include <string>

#include "fuzz.hpp"
#include "topologies/io/files.hpp"
#include "training/learners/data.hpp"

using namespace multitree;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const int file = ::memfd_create("samples", MFD_CLOEXEC);
  static const std::string path = "/proc/self/fd/" + std::to_string(file);
  if (::ftruncate(file, 0) != 0) return 0;
  if (::pwrite(file, data, size, 0) != static_cast<ssize_t>(size)) return 0;
  const auto draw = [](const training::DataSet& set) { static_cast<void>(set.batch(0, 1, 3, 4)); };
  fuzz::read(
      data, size,
      [&](std::string_view) { draw(*training::read_samples(path, 1, training::Shards::Sorted)); },
      path);
  return fuzz::read(
      data, size,
      [&](std::string_view) { draw(*training::read_text(path, 4, 1, training::Shards::Mixed)); },
      path);
}

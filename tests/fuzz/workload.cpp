// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Tables of layers for the study.
#include "study/workload.hpp"
#include "fuzz.hpp"

using namespace multitree;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return fuzz::read(data, size, [](std::string_view text) {
    for (const study::Workload& one : study::parse_workloads(text, fuzz::kFile)) {
      static_cast<void>(study::total_parameters(one) + study::total_multiplications(one));
    }
  });
}

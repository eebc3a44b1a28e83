// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Certificates of iterations of training.
#include "fuzz.hpp"
#include "training/bound.hpp"

using namespace multitree;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return fuzz::read(data, size, [](std::string_view text) {
    const auto file = training::parse_iteration_certificate(text, fuzz::kFile);
    static_cast<void>(training::check(file.certificate, file.model, file.topology));
  });
}

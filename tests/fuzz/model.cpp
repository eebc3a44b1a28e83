// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What is trained: tables of layers, ASTRA-sim's text workloads, Chakra's traces.
#include "training/model.hpp"
#include "fuzz.hpp"

using namespace multitree;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return fuzz::read(data, size, [](std::string_view text) {
    const training::Machine machine{.flops = 45e12, .memory = 1e12};
    const training::Model model = training::parse_model(text, fuzz::kFile, machine);
    fuzz::expect(!model.layers.empty(), "a model without layers");
    fuzz::expect(model.forward() >= 0 && model.backward() >= 0, "a time that is none");
  });
}

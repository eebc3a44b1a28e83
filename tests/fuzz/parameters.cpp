// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Configurations of simulated interfaces, for simulations and for the study.
#include "nic/parameters.hpp"
#include "fuzz.hpp"

using namespace multitree;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return fuzz::read(data, size, [](std::string_view text) {
    const nic::Parameters parameters = nic::read_parameters(text, fuzz::kFile);
    const std::string once = nic::write_parameters(parameters);
    fuzz::expect(nic::read_parameters(once, fuzz::kFile) == parameters, "read as other parameters");
  });
}

// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Plans of iterations of training.
#include "fuzz.hpp"
#include "training/plan.hpp"

using namespace multitree;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return fuzz::read(data, size, [](std::string_view text) {
    const training::PlanFile file = training::parse_iteration_plan(text, fuzz::kFile);
    const std::string once = training::write_json(file.plan, file.topology);
    const training::PlanFile again = training::parse_iteration_plan(once, fuzz::kFile);
    fuzz::expect(training::write_json(again.plan, again.topology) == once, "written in two ways");
  });
}

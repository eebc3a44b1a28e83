// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Plans of schedules by size.
#include "algorithms/io/io.hpp"
#include "algorithms/verify.hpp"
#include "fuzz.hpp"

using namespace multitree;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return fuzz::read(data, size, [](std::string_view text) {
    const PlanFile plan = parse_plan_json(text, fuzz::kFile);
    check_sized(plan.schedules);
    for (const SizedSchedule& one : plan.schedules) {
      static_cast<void>(verify(one.schedule, plan.topology));
    }
    const std::string once = write_plan_json(plan.schedules, plan.topology);
    const PlanFile again = parse_plan_json(once, fuzz::kFile);
    fuzz::expect(write_plan_json(again.schedules, again.topology) == once, "written in two ways");
  });
}

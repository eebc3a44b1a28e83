// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Schedule files: what is read is written in one form, and verified without trouble.
#include "algorithms/io/io.hpp"
#include "algorithms/verify.hpp"
#include "fuzz.hpp"

using namespace multitree;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return fuzz::read(data, size, [](std::string_view text) {
    const SchedulePlan plan = parse_schedule_json(text, fuzz::kFile);
    static_cast<void>(verify(plan.schedule, plan.topology));
    const auto written = [](const SchedulePlan& one) {
      return write_schedule_json(one.schedule, one.topology,
                                 one.certificate ? &*one.certificate : nullptr);
    };
    const std::string once = written(plan);
    fuzz::expect(written(parse_schedule_json(once, fuzz::kFile)) == once, "written in two ways");
  });
}

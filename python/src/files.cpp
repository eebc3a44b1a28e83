// SPDX-License-Identifier: BSD-3-Clause
// Schedules and plans in files, of the library and of others.
#include <multitree/error.hpp>
#include <multitree/files.hpp>
#include <multitree/interchange.hpp>

#include "results.hpp"

namespace multitree::python {
namespace {

Plan load(const std::string& path) {
  nb::gil_scoped_release released;
  StoredPlan stored = load_plan_file(path);
  Plan plan{share(std::move(stored.topology)), {}};
  for (SizedSchedule& sized : stored.schedules) {
    plan.sized.emplace_back(sized.max_bytes, share(plan.network, std::move(sized.schedule)));
  }
  return plan;
}

void store(const Plan& plan, const std::string& path, const std::string& certificate) {
  nb::gil_scoped_release released;
  SizedSchedules sized;
  for (const auto& [most, program] : plan.sized) sized.push_back({*program, most});
  check_sized(sized);
  store_plan_file(path, {*plan.network, std::move(sized)}, certificate);
}

Program schedule_for_size(const Plan& plan, std::uint64_t bytes) {
  for (const auto& [most, program] : plan.sized) {
    if (bytes <= most) return program;
  }
  return plan.sized.back().second;
}

}  // namespace

void bind_files(nb::module_& module) {
  nb::class_<Plan>(module, "Plan",
                   "Which schedule for which size. A schedule file is a plan of one.")
      .def_prop_ro("topology", [](const Plan& self) { return self.network; })
      .def_prop_ro("_sized",
                   [](const Plan& self) {
                     nb::list result;
                     for (const auto& [most, program] : self.sized)
                       result.append(nb::make_tuple(most, program));
                     return result;
                   })
      .def("schedule_for", schedule_for_size, nb::arg("bytes"),
           "The schedule for a vector of so many bytes.")
      .def("_save", store, nb::arg("path"), nb::arg("certificate"));
  module.def(
      "plan_of",
      [](const Program& program) {
        return Plan{program.network, {{std::numeric_limits<std::uint64_t>::max(), program}}};
      },
      nb::arg("schedule"));
  module.def("load", load, nb::arg("path"));
  module.def(
      "parse_msccl",
      [](const std::string& text, const std::string& file, const Network& network) {
        nb::gil_scoped_release released;
        return share(network, parse_msccl_xml(text, file, *network));
      },
      nb::arg("text"), nb::arg("file"), nb::arg("topology"));
}

}  // namespace multitree::python

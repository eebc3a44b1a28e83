// SPDX-License-Identifier: BSD-3-Clause
#include "bindings.hpp"

NB_MODULE(_core, module) {
  module.doc() = "The library behind `import multitree`.";
  using namespace multitree::python;
  bind_errors(module);
  bind_networks(module);
  bind_results(module);
  bind_schedules(module);
  bind_costs(module);
  bind_files(module);
  bind_communicators(module);
}

// SPDX-License-Identifier: BSD-3-Clause
// Bounds, predictions, simulations, tables: what follows from a network and a schedule.
#include <multitree/cost.hpp>
#include <multitree/error.hpp>

#include "results.hpp"

namespace multitree::python {
namespace {

Bound bound(const Network& network, const std::string& collective, std::uint32_t root) {
  nb::gil_scoped_release released;
  const Collective what = parse_collective(collective);
  return {network, prove_bound(*network, what, Rank{root}), what};
}

ProofReport checked(const Program& program, const std::string& certificate, std::uint64_t bytes) {
  nb::gil_scoped_release released;
  return check_proof(certificate, *program, *program.network, bytes);
}

CostModel model_of(double message_overhead, bool pooled) {
  CostModel model;
  if (message_overhead < 0 || message_overhead > 1) {
    throw Error(ErrorCode::InvalidArgument, "message_overhead: expected seconds from 0 to 1, got " +
                                                std::to_string(message_overhead));
  }
  model.message_overhead = Time{static_cast<std::int64_t>(message_overhead * 1e12)};
  model.pooled = pooled;
  return model;
}

double predicted(const Program& program, std::uint64_t bytes, double message_overhead,
                 bool pooled) {
  const CostModel model = model_of(message_overhead, pooled);
  nb::gil_scoped_release released;
  return seconds_of(predict_time(*program, *program.network, bytes, model));
}

nic::Simulation simulated(const Program& program, std::uint64_t bytes, const std::string& model,
                          const std::string& machine, const std::string& parameters, bool data,
                          bool trace) {
  nb::gil_scoped_release released;
  nic::SimulationOptions options;
  options.model = nic::parse_model(model);
  if (options.model == nic::Model::Rtl) {
    throw Error(ErrorCode::Unsupported,
                "model 'rtl' is not in the Python package: use 'flit', which does the same in "
                "every cycle, or "
                "`multitree simulate --model rtl`");
  }
  options.data = data;
  options.trace = trace;
  const nic::Machine kind = nic::parse_machine(machine);
  nic::Parameters given = nic::read_parameters(parameters, "parameters", nic::defaults_of(kind));
  if (kind == nic::Machine::Hardware) {
    nic::expect_hardware(given);
    given = nic::with_hardware_headers(given, *program, *program.network);
  }
  return nic::simulate(*program, *program.network, bytes, given, options);
}

nic::Tables tables(const Program& program, std::uint64_t elements) {
  nb::gil_scoped_release released;
  return nic::compile_tables(*program, *program.network, {elements, false});
}

Tuning tuned(const Network& network, const std::string& collective, std::uint32_t root,
             std::uint64_t first, std::uint64_t last, const std::vector<std::string>& algorithms,
             double message_overhead) {
  TuneOptions options;
  options.first = first;
  options.last = last;
  options.algorithms = algorithms;
  options.cost = model_of(message_overhead, false);
  nb::gil_scoped_release released;
  return {network, tune(*network, parse_collective(collective), Rank{root}, options)};
}

nb::list ranges(const Tuning& self) {
  nb::list result;
  for (const TunedRange& range : self.result.ranges) {
    result.append(nb::make_tuple(range.from, range.to, self.result.candidates[range.candidate].spec,
                                 seconds_of(range.time_from), seconds_of(range.time_to)));
  }
  return result;
}

nb::list candidates(const Tuning& self) {
  nb::list result;
  for (const TuneCandidate& candidate : self.result.candidates) {
    std::vector<double> times;
    for (const Time time : candidate.times) times.push_back(seconds_of(time));
    result.append(nb::make_tuple(candidate.spec, times, candidate.unsupported));
  }
  return result;
}

Plan plan_of(const Tuning& self) {
  Plan plan{self.network, {}};
  for (SizedSchedule& sized : self.result.plan()) {
    plan.sized.emplace_back(sized.max_bytes, share(self.network, std::move(sized.schedule)));
  }
  return plan;
}

}  // namespace

void bind_costs(nb::module_& module) {
  module.def("bound", bound, nb::arg("topology"), nb::arg("collective"), nb::arg("root"));
  module.def("check_proof", checked, nb::arg("schedule"), nb::arg("certificate"), nb::arg("bytes"));
  module.def("predict", predicted, nb::arg("schedule"), nb::arg("bytes"),
             nb::arg("message_overhead"), nb::arg("pooled"));
  module.def("simulate", simulated, nb::arg("schedule"), nb::arg("bytes"), nb::arg("model"),
             nb::arg("machine"), nb::arg("parameters"), nb::arg("data"), nb::arg("trace"));
  module.def("compile_tables", tables, nb::arg("schedule"), nb::arg("elements"));
  nb::class_<Tuning>(module, "Tuning", "The fastest schedule for every size, by predicted time.")
      .def_prop_ro("topology", [](const Tuning& self) { return self.network; })
      .def_prop_ro(
          "sizes", [](const Tuning& self) { return self.result.sizes; },
          "Bytes at which all were compared.")
      .def_prop_ro("_ranges", ranges)
      .def_prop_ro("_candidates", candidates)
      .def("plan", plan_of, "The winners, as a plan that runs and that files hold.");
  module.def("tune", tuned, nb::arg("topology"), nb::arg("collective"), nb::arg("root"),
             nb::arg("first"), nb::arg("last"), nb::arg("algorithms"), nb::arg("message_overhead"));
}

}  // namespace multitree::python

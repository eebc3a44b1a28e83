// SPDX-License-Identifier: BSD-3-Clause
// Small classes for answers. What they look like is said in multitree/results.py.
#include "results.hpp"

#include <multitree/verify.hpp>

#include "bindings.hpp"

namespace multitree::python {
namespace {

template <typename T>
nb::object index_or_none(const std::optional<T>& value) {
  return value ? nb::cast(index(*value)) : nb::none();
}

void bind_reports(nb::module_& module) {
  nb::class_<Violation>(module, "Violation", "One broken rule, with what is known of the place.")
      .def_prop_ro("kind", [](const Violation& self) { return std::string(to_string(self.kind)); })
      .def_ro("step", &Violation::step)
      .def_ro("chunk", &Violation::chunk)
      .def_prop_ro(
          "src", [](const Violation& self) { return index_or_none(self.src); },
          "The sender; of a contribution that is lacking or double, whose it is.")
      .def_prop_ro(
          "dst", [](const Violation& self) { return index_or_none(self.dst); },
          "The receiver, or the rank whose result is wrong.")
      .def_prop_ro("link", [](const Violation& self) { return index_or_none(self.link); })
      .def_ro("message", &Violation::message, "All of it in words.");
  nb::class_<VerifyReport>(module, "VerifyReport", "Whether a schedule is right. True where it is.")
      .def_prop_ro("ok", &VerifyReport::ok)
      .def_ro("violations", &VerifyReport::violations, "The first of them.")
      .def_ro("total_violations", &VerifyReport::total_violations)
      .def("__bool__", &VerifyReport::ok);
}

void bind_bounds(nb::module_& module) {
  nb::class_<Bound>(
      module, "Bound",
      "What no schedule beats on this network. Numbers are exact, in shard times: the time of one "
      "rank's share of the buffer on the slowest link.")
      .def_prop_ro("_text", [](const Bound& self) { return self.proof.bound; })
      .def_prop_ro("collective",
                   [](const Bound& self) { return std::string(to_string(self.collective)); })
      .def_prop_ro("topology", [](const Bound& self) { return self.network; })
      .def_prop_ro(
          "is_optimum", [](const Bound& self) { return self.proof.optimum; },
          "Whether schedules come as near to it as one likes.")
      .def_prop_ro(
          "certificate", [](const Bound& self) { return self.proof.certificate; },
          "The proof as a certificate file's JSON text, which anybody can check.");
  nb::class_<ProofReport>(module, "ProofReport",
                          "What a certificate is worth. True where it holds.")
      .def_prop_ro("ok", &ProofReport::ok)
      .def_ro("faults", &ProofReport::faults, "What is wrong with it, in words.")
      .def_ro("_bound", &ProofReport::bound)
      .def_ro("_load", &ProofReport::load)
      .def_ro("ratio", &ProofReport::ratio, "Load of the busiest link over the bound.")
      .def_ro("optimal", &ProofReport::optimal, "It holds, and the load is the bound.")
      .def_ro("bound_seconds", &ProofReport::bound_seconds, "At the size asked for.")
      .def("__bool__", &ProofReport::ok);
}

void bind_simulations(nb::module_& module) {
  using nic::Simulation;
  nb::class_<Simulation>(module, "Simulation",
                         "How long a schedule took on simulated interfaces and links.")
      .def_ro("cycles", &Simulation::cycles, "Until the last message was taken in.")
      .def_ro("clock_hz", &Simulation::clock_hz)
      .def_prop_ro("seconds", &Simulation::seconds)
      .def_ro("messages", &Simulation::messages)
      .def_ro("link_flits", &Simulation::link_flits, "Flits on links, one on two links twice.")
      .def_ro("busiest_link_flits", &Simulation::busiest_link_flits)
      .def_ro("checked", &Simulation::checked,
              "Whether numbers were moved and found right, bit for bit.")
      .def_ro("errors", &Simulation::errors,
              "What was noticed; empty where it finished as it should.")
      .def_prop_ro("_spans",
                   [](nb::handle self) {
                     return bytes_of(
                         std::span<const nic::Span>(nb::cast<const Simulation&>(self).spans), self);
                   })
      .def_prop_ro("_records", [](nb::handle self) {
        return bytes_of(
            std::span<const nic::MessageRecord>(nb::cast<const Simulation&>(self).records), self);
      });
}

void bind_tables(nb::module_& module) {
  using nic::Tables;
  nb::class_<Tables>(module, "Tables",
                     "What each network interface stores of a schedule for one size of buffer.")
      .def_ro("num_ranks", &Tables::ranks)
      .def_ro("num_steps", &Tables::steps)
      .def_ro("elements", &Tables::elements, "Of the buffer, all shards together.")
      .def_ro("classes", &Tables::classes, "Classes of virtual channels that the routes use.")
      .def(
          "_entries",
          [](nb::handle self, std::size_t rank) {
            const Tables& tables = nb::cast<const Tables&>(self);
            if (rank >= tables.of_rank.size()) throw nb::index_error("no such rank");
            return bytes_of(std::span<const nic::Entry>(tables.of_rank[rank]), self);
          },
          nb::arg("rank"))
      .def(
          "image",
          [](const Tables& self) {
            const std::string image = nic::write_image(self);
            return nb::bytes(image.data(), image.size());
          },
          "The tables as bits (docs/nic-spec.md): what `multitree nic tables -o` writes.")
      .def(
          "systemverilog", [](const Tables& self) { return nic::systemverilog_package(self); },
          "Widths and depths as a SystemVerilog package.")
      .def("__eq__", [](const Tables& self, nb::handle other) {
        return nb::isinstance<Tables>(other) && self == nb::cast<const Tables&>(other);
      });
}

}  // namespace

void bind_results(nb::module_& module) {
  bind_reports(module);
  bind_bounds(module);
  bind_simulations(module);
  bind_tables(module);
}

}  // namespace multitree::python

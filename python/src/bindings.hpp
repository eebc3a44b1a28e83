// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What the parts of the extension module share.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <memory>
#include <multitree/schedule.hpp>
#include <multitree/topology.hpp>
#include <span>
#include <string>
#include <vector>

namespace multitree::python {

namespace nb = nanobind;

/// A network. Python's objects are never changed, so they may share it, with no lock held.
struct Network {
  std::shared_ptr<const Topology> topology;
  [[nodiscard]] const Topology& operator*() const { return *topology; }
};

/// A schedule with the network that it is for.
struct Program {
  Network network;
  std::shared_ptr<const Schedule> schedule;
  [[nodiscard]] const Schedule& operator*() const { return *schedule; }
};

inline Network share(Topology topology) {
  return {std::make_shared<const Topology>(std::move(topology))};
}
inline Program share(Network network, Schedule schedule) {
  return {std::move(network), std::make_shared<const Schedule>(std::move(schedule))};
}

/// Memory of records as an array of bytes that nobody can write and that keeps `owner` alive;
/// Python sees it as the structured type of the same layout, without a copy.
template <typename T>
nb::object bytes_of(std::span<const T> records, nb::handle owner) {
  using Array = nb::ndarray<nb::numpy, const std::uint8_t, nb::ndim<1>, nb::c_contig>;
  return nb::cast(Array(records.data(), {records.size() * sizeof(T)}, owner));
}

/// Seconds of a duration, as floats are in Python.
inline double seconds_of(Time time) { return time.seconds(); }

void bind_errors(nb::module_& module);
void bind_networks(nb::module_& module);
void bind_schedules(nb::module_& module);
void bind_results(nb::module_& module);
void bind_costs(nb::module_& module);
void bind_files(nb::module_& module);
void bind_communicators(nb::module_& module);

}  // namespace multitree::python

// SPDX-License-Identifier: BSD-3-Clause
// Schedules: who sends what when, and whether that is right.
#include <multitree/error.hpp>
#include <multitree/generators.hpp>
#include <multitree/interchange.hpp>
#include <multitree/verify.hpp>

#include "bindings.hpp"
#include "results.hpp"

namespace multitree::python {
namespace {

Program make(const Network& network, const std::string& algorithm, const std::string& collective,
             std::uint32_t root, bool verified) {
  nb::gil_scoped_release released;
  const Collective what = parse_collective(collective);
  return share(network, verified ? make_schedule(algorithm, *network, what, Rank{root})
                                 : generate_schedule(algorithm, *network, what, Rank{root}));
}

VerifyReport verified(const Program& program, std::size_t most) {
  nb::gil_scoped_release released;
  return verify(*program, *program.network, {most, false});
}

template <typename T>
std::vector<T> records(const nb::bytes& bytes, const char* what) {
  if (bytes.size() % sizeof(T) != 0) {
    throw Error(ErrorCode::InvalidArgument, std::string(what) + ": expected records of " +
                                                std::to_string(sizeof(T)) + " bytes, got " +
                                                std::to_string(bytes.size()) + " bytes");
  }
  std::vector<T> result(bytes.size() / sizeof(T));
  if (!result.empty()) std::memcpy(static_cast<void*>(result.data()), bytes.c_str(), bytes.size());
  return result;
}

/// A schedule of what somebody else made. Routes are checked here, as everything reads them;
/// whether it does its collective is for verify() to say.
Program from_records(const Network& network, const std::string& collective, std::uint32_t root,
                     const std::string& algorithm, const nb::bytes& chunks,
                     const nb::bytes& transfers, const nb::bytes& routes) {
  Schedule schedule;
  schedule.collective = parse_collective(collective);
  schedule.algorithm = algorithm;
  schedule.root = Rank{root};
  schedule.ranks = (*network).num_ranks();
  schedule.chunks = records<Chunk>(chunks, "chunks");
  schedule.transfers = records<Transfer>(transfers, "transfers");
  schedule.routes = records<LinkId>(routes, "routes");
  for (std::size_t i = 0; i < schedule.transfers.size(); ++i) {
    const Transfer& transfer = schedule.transfers[i];
    if (std::uint64_t{transfer.route_begin} + transfer.route_size > schedule.routes.size() ||
        static_cast<unsigned>(transfer.op) > 1) {
      throw Error(ErrorCode::InvalidArgument, "transfers[" + std::to_string(i) +
                                                  "]: expected op 0 or 1 and a route within the " +
                                                  std::to_string(schedule.routes.size()) +
                                                  " entries of routes");
    }
  }
  schedule.canonicalize();
  return share(network, std::move(schedule));
}

nb::object chunk_ranges_of(const Program& program, std::uint64_t count) {
  auto* ranges = new std::vector<ElementRange>(chunk_ranges(*program, count));
  const nb::capsule owner(
      ranges, [](void* p) noexcept { delete static_cast<std::vector<ElementRange>*>(p); });
  using Array = nb::ndarray<nb::numpy, std::uint64_t, nb::ndim<2>, nb::c_contig>;
  return nb::cast(Array(ranges->data(), {ranges->size(), 2}, owner));
}

nb::list algorithm_rows() {
  nb::list result;
  for (const Algorithm& algorithm : algorithms()) {
    nb::dict row;
    row["name"] = std::string(algorithm.name);
    row["summary"] = std::string(algorithm.summary);
    row["source"] = std::string(algorithm.source);
    row["parameters"] = std::string(algorithm.parameters);
    result.append(row);
  }
  return result;
}

nb::list chakra(const Program& program, std::uint64_t bytes) {
  nb::list result;
  for (const std::string& trace : write_chakra_traces(*program, bytes)) {
    result.append(nb::bytes(trace.data(), trace.size()));
  }
  return result;
}

void bind_views(nb::class_<Program>& type) {
  type.def_prop_ro("_transfers",
                   [](nb::handle self) {
                     return bytes_of(
                         std::span<const Transfer>((*nb::cast<const Program&>(self)).transfers),
                         self);
                   })
      .def_prop_ro("_chunks",
                   [](nb::handle self) {
                     return bytes_of(
                         std::span<const Chunk>((*nb::cast<const Program&>(self)).chunks), self);
                   })
      .def_prop_ro("_routes", [](nb::handle self) {
        return bytes_of(std::span<const LinkId>((*nb::cast<const Program&>(self)).routes), self);
      });
}

void bind_exports(nb::class_<Program>& type) {
  type.def(
          "to_msccl",
          [](const Program& self, std::uint32_t channels) {
            MscclOptions options;
            options.channels = channels;
            return write_msccl_xml(*self, options);
          },
          nb::arg("channels") = 1,
          "MSCCL's XML, as text. Raises Unsupported where it exceeds a limit of MSCCL.")
      .def(
          "to_mscclpp", [](const Program& self) { return write_mscclpp_json(*self); },
          "An execution plan of MSCCL++ for the ranks of one host, JSON text. Raises Unsupported "
          "where "
          "it exceeds a limit.")
      .def("to_chakra", chakra, nb::arg("bytes"),
           "Chakra execution traces for ASTRA-sim: the content of one file a rank, for a buffer of "
           "`bytes`.");
}

}  // namespace

void bind_schedules(nb::module_& module) {
  nb::class_<Program> type(
      module, "Schedule",
      "A collective as transfers in logical steps, with its network; of no size in bytes. "
      "Never changes. Make one with `multitree.schedule()`.");
  type.def_prop_ro(
          "topology", [](const Program& self) { return self.network; },
          "The network that it is for.")
      .def_prop_ro(
          "algorithm", [](const Program& self) { return (*self).algorithm; }, "Who made it.")
      .def_prop_ro(
          "collective",
          [](const Program& self) { return std::string(to_string((*self).collective)); },
          "'allreduce', 'reduce-scatter', 'allgather', 'broadcast', 'reduce', 'gather', 'scatter'.")
      .def_prop_ro(
          "root", [](const Program& self) { return index((*self).root); },
          "Of collectives that have one.")
      .def_prop_ro("num_ranks", [](const Program& self) { return (*self).ranks; })
      .def_prop_ro(
          "num_steps", [](const Program& self) { return (*self).num_steps(); },
          "In a step every link carries one chunk at most for each time it is as fast as the "
          "slowest.")
      .def_prop_ro("num_transfers", [](const Program& self) { return (*self).transfers.size(); })
      .def_prop_ro("num_chunks", [](const Program& self) { return (*self).chunks.size(); })
      .def("verify", verified, nb::arg("max_violations") = 20,
           "Replays every contribution on symbolic values, sharing no code with the generators. "
           "The report is "
           "true where the schedule does its collective and no link carries too much in a step.")
      .def("chunk_ranges", chunk_ranges_of, nb::arg("count"),
           "Where each chunk lies in a buffer of `count` elements: uint64 of shape (num_chunks, "
           "2), the first "
           "element and how many.")
      .def("__eq__",
           [](const Program& self, nb::handle other) {
             return nb::isinstance<Program>(other) && *self == *nb::cast<const Program&>(other) &&
                    *self.network == *nb::cast<const Program&>(other).network;
           })
      .def("__hash__", [](const Program& self) {
        return std::hash<std::string>()((*self).algorithm) + (*self).transfers.size();
      });
  bind_views(type);
  bind_exports(type);
  module.def("make_schedule", make, nb::arg("topology"), nb::arg("algorithm"),
             nb::arg("collective"), nb::arg("root"), nb::arg("verified"));
  module.def("schedule_of_records", from_records, nb::arg("topology"), nb::arg("collective"),
             nb::arg("root"), nb::arg("algorithm"), nb::arg("chunks"), nb::arg("transfers"),
             nb::arg("routes"));
  module.def("algorithms", algorithm_rows,
             "The algorithms that make schedules, one dictionary each.");
}

}  // namespace multitree::python

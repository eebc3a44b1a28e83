// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// In libmultitree.so, in place of the functions themselves: each calls the one in
/// libmultitree_planning.so, which is loaded by the first call.
#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>

#include "runtime/c/planning_internal.hpp"
#include "topologies/error.hpp"

namespace multitree {
namespace {

constexpr const char* kLibrary = "libmultitree_planning.so";
#define MULTITREE_TEXT_OF(name) #name
#define MULTITREE_TEXT(name) MULTITREE_TEXT_OF(name)
constexpr const char* kSymbol = MULTITREE_TEXT(MULTITREE_PLANNING);

/// Beside the library that this code is part of. Never closed: what it made is in use.
const Planning& load() {
  Dl_info self{};
  ::dladdr(reinterpret_cast<const void*>(&kSymbol), &self);
  const std::filesystem::path folder = std::filesystem::path(self.dli_fname).parent_path();
  const std::string path = folder / kLibrary;
  void* const handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    throw Error(ErrorCode::Io,
                fmt::format("expected {} beside {}, which needs it for network files and optimal "
                            "schedules: {}",
                            kLibrary, self.dli_fname, ::dlerror()));
  }
  const auto get = reinterpret_cast<GetPlanning>(::dlsym(handle, kSymbol));
  if (get == nullptr) {
    throw Error(ErrorCode::Io, fmt::format("{}: expected that of {}, found another version's ({})",
                                           path, self.dli_fname, ::dlerror()));
  }
  get()->forward_notes(&Notes::add);
  return *get();
}

const Planning& planning() {
  static const Planning& loaded = load();
  return loaded;
}

}  // namespace

Topology parse_topology_astra(std::string_view text, const std::string& file) {
  return planning().parse_topology_astra(text, file);
}

Topology parse_topology_dot(std::string_view text, const std::string& file,
                            const LinkDefaults& defaults) {
  return planning().parse_topology_dot(text, file, defaults);
}

Topology parse_topology_graphml(std::string_view text, const std::string& file,
                                const LinkDefaults& defaults) {
  return planning().parse_topology_graphml(text, file, defaults);
}

Topology parse_topology_nccl(std::string_view text, const std::string& file) {
  return planning().parse_topology_nccl(text, file);
}

std::string write_topology_dot(const Topology& topology) {
  return planning().write_topology_dot(topology);
}

std::string write_topology_graphml(const Topology& topology) {
  return planning().write_topology_graphml(topology);
}

std::unique_ptr<LpSolver> make_lp_solver(std::size_t rows, double tolerance) {
  return planning().make_lp_solver(rows, tolerance);
}

}  // namespace multitree

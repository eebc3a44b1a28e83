// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Routes are agreed on by three exchanges: who everybody's device is, a piece of its memory, and
/// whose I can map.
#include "runtime/device/workspace_internal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>

#include "topologies/error.hpp"

namespace multitree::runtime::device {
namespace {

/// What CUDA allocates at a time: nobody sees more by it than this.
constexpr std::size_t kProbeBytes = 2U << 20;

/// Memory that the others try to map: a container may keep them from it, or from its handle, though
/// the devices could.
class Probe {
 public:
  explicit Probe(const Device* device) : device_(device) {
    if (device == nullptr) return;
    try {
      memory_ = device->allocate(kProbeBytes);
      const Handle handle = device->share(memory_);
      handle_.assign(reinterpret_cast<const char*>(&handle), sizeof handle);
    } catch (const Error&) {  // nobody maps this one
      handle_.clear();
    }
  }
  ~Probe() {
    if (memory_ != nullptr) device_->free(memory_);
  }
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;
  /// Empty: there is none.
  [[nodiscard]] const std::string& handle() const { return handle_; }

 private:
  const Device* device_;
  void* memory_ = nullptr;
  std::string handle_;
};

bool maps(const Device& device, const std::string& identity_bytes, const std::string& probe) {
  Identity identity;
  Handle handle;
  if (identity_bytes.size() != sizeof identity || probe.size() != sizeof handle) return false;
  std::memcpy(&identity, identity_bytes.data(), sizeof identity);
  if (!device.table().can_map(device.table().self, &identity)) return false;
  std::memcpy(&handle, probe.data(), sizeof handle);
  try {
    device.unmap(handle, device.map(handle));
  } catch (const Error&) {
    return false;
  }
  return true;
}

}  // namespace

Identities gather_identities(Bootstrap& bootstrap, const Device* device, Deadline deadline) {
  std::string mine;
  if (device != nullptr) {
    mine.assign(reinterpret_cast<const char*>(&device->table().identity), sizeof(Identity));
  }
  return bootstrap.all_gather(mine, deadline);
}

Routes agree_on_routes(Bootstrap& bootstrap, const Device* device, const Identities& identities,
                       bool direct, Deadline deadline) {
  const std::uint32_t ranks = bootstrap.size();
  const Seat self = bootstrap.seat();
  const Route other = direct ? Route::Direct : Route::Staged;
  Routes routes{std::vector(ranks, other), std::vector(ranks, other)};
  const auto have = std::ranges::count_if(identities, [](const auto& s) { return !s.empty(); });
  if (have < 2) return routes;  // all ranks see the same identities, so all return here
  const Probe probe(device);    // until all have told that they have let go of it
  const Gathered probes = bootstrap.all_gather(probe.handle(), deadline);
  std::string reach(ranks, '-');
  for (std::uint32_t r = 0; r < ranks; ++r) {
    if (Seat{r} == self || device == nullptr || !maps(*device, identities[r], probes[r])) continue;
    reach[r] = 'm';
    routes.receive[r] = Route::Mapped;
  }
  const Gathered reaches = bootstrap.all_gather(reach, deadline);
  std::ptrdiff_t mapped = 0;
  for (std::uint32_t r = 0; r < ranks; ++r) {
    if (reaches[r].size() != ranks) {
      throw Error(ErrorCode::Transport,
                  fmt::format("rank {}: {} bytes about {} devices from rank {}", self,
                              reaches[r].size(), ranks, r));
    }
    if (reaches[r][index(self)] == 'm') routes.send[r] = Route::Mapped;
    routes.any_mapped = routes.any_mapped || reaches[r].find('m') != std::string::npos;
    mapped += std::ranges::count(reaches[r], 'm');
  }
  routes.all_mapped = mapped == static_cast<std::ptrdiff_t>(ranks) * (ranks - 1);
  return routes;
}

std::string describe(const Routes& routes, const std::vector<Seat>& peers) {
  constexpr std::array kNames{"staged", "direct", "mapped"};
  std::array<int, kNames.size()> counts{};
  for (const Seat peer : peers) {
    ++counts[static_cast<std::size_t>(routes.receive[index(peer)])];
  }
  std::string words;
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (counts[i] == 0) continue;
    words += fmt::format("{}{} {}", words.empty() ? "" : ", ", counts[i], kNames[i]);
  }
  return words.empty() ? "no peers" : words;
}

void Needs::add(const Needs& other) {
  bytes = std::max(bytes, other.bytes);
  work = std::max(work, other.work);
  pinned += other.pinned;
  scratch += other.scratch;
  shared += other.shared;
  works += other.works;
}

void Needs::enlarge(const Needs& other) {
  bytes = std::max(bytes, other.bytes);
  work = std::max(work, other.work);
  pinned = std::max(pinned, other.pinned);
  scratch = std::max(scratch, other.scratch);
  shared = std::max(shared, other.shared);
  works = std::max(works, other.works);
}

bool Workspace::has(const Needs& needs) const {
  return pinned.has(needs.bytes, needs.pinned) && scratch.has(needs.bytes, needs.scratch) &&
         shared.has(needs.bytes, needs.shared) && work.has(needs.work, needs.works) && flags.has();
}

void Workspace::reserve(const Needs& needs) {
  if (needs.pinned != 0) pinned.reserve(needs.bytes, needs.pinned);
  if (needs.scratch != 0) scratch.reserve(needs.bytes, needs.scratch);
  if (needs.shared != 0) shared.reserve(needs.bytes, needs.shared);
  if (needs.works != 0) work.reserve(needs.work, needs.works);
  flags.reserve();
}

void bury(std::shared_ptr<const void> memory) {
  static std::mutex mutex;
  static auto* graves = new std::vector<std::shared_ptr<const void>>();  // outlives every thread
  const std::scoped_lock lock(mutex);
  graves->push_back(std::move(memory));
}

std::byte* Mappings::map(Seat owner, std::uint32_t arena, const Handle& handle) {
  const std::pair key{owner, arena};
  auto it = mapped_.find(key);
  if (it == mapped_.end()) it = mapped_.emplace(key, std::pair{handle, device_.map(handle)}).first;
  return static_cast<std::byte*>(it->second.second);
}

void Mappings::clear() {
  for (const auto& [key, mapped] : mapped_) device_.unmap(mapped.first, mapped.second);
  mapped_.clear();
}

}  // namespace multitree::runtime::device

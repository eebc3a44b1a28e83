// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What one communicator has on its device, and how it reaches the other ranks from there.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/device/blocks_internal.hpp"
#include "runtime/device/timeline_internal.hpp"
#include "runtime/job/bootstrap.hpp"

namespace multitree::runtime::device {

/// How messages travel from one rank's device memory to another's.
enum class Route : std::uint8_t {
  Staged,  ///< through pinned host memory at both ends
  Direct,  ///< the transport takes device memory
  Mapped,  ///< the receiver maps the sender's staging memory; the transport carries notices
};

struct Routes {
  std::vector<Route> send, receive;  ///< by seat
  bool any_mapped = false;           ///< somewhere in the job; all ranks agree on it
  bool all_mapped = false;           ///< everywhere in the job
};

/// What tells devices apart, by seat; empty for one without one.
using Identities = Gathered;

/// Collective, also for ranks without a device (null). \throws as Bootstrap::all_gather.
Identities gather_identities(Bootstrap& bootstrap, const Device* device, Deadline deadline);

/// Collective, with the same `identities` at all ranks. `direct`: whether this rank's transport
/// takes device memory; each end decides that for itself, as the messages are the same. \throws as
/// Bootstrap::all_gather.
Routes agree_on_routes(Bootstrap& bootstrap, const Device* device, const Identities& identities,
                       bool direct, Deadline deadline);

/// "2 staged, 1 mapped".
std::string describe(const Routes& routes, const std::vector<Seat>& peers);

/// Memory of other ranks, mapped when it is first heard of and kept.
class Mappings {
 public:
  explicit Mappings(const Device& device) : device_(device) {}
  ~Mappings() { clear(); }
  Mappings(const Mappings&) = delete;
  Mappings& operator=(const Mappings&) = delete;
  std::byte* map(Seat owner, std::uint32_t arena, const Handle& handle);
  /// Before the owners free: they must not while it is mapped here.
  void clear();

 private:
  const Device& device_;
  std::map<std::pair<Seat, std::uint32_t>, std::pair<Handle, void*>> mapped_;
};

/// Blocks that a collective takes at most at a time, as a rule (the lowest send of all may take one
/// more where its peer's share is used up).
struct Needs {
  std::size_t bytes = 0;  ///< of the largest
  std::size_t pinned = 0, scratch = 0, shared = 0;
  std::size_t work = 0;  ///< bytes of the largest work buffer; 0: none
  std::size_t works = 0;

  void add(const Needs& other);
  /// To the larger in everything.
  void enlarge(const Needs& other);
};

class Walking;

/// Memory that a device or a peer may still use is left to the end of the process.
void bury(std::shared_ptr<const void> memory);

/// Made at the first collective on device memory. Three streams: what leaves device memory, what
/// enters it, and reductions.
struct Workspace {
  Workspace(std::shared_ptr<const Device> owner, Routes all_routes,
            std::shared_ptr<Walking> all_walking = nullptr)
      : device(std::move(owner)), routes(std::move(all_routes)), walking(std::move(all_walking)) {}

  bool poll() {
    const bool a = out.poll(), b = in.poll(), c = compute.poll();
    return a || b || c;
  }
  /// Whether all of `needs` can be taken without allocating; and allocates what is missing.
  [[nodiscard]] bool has(const Needs& needs) const;
  void reserve(const Needs& needs);
  [[nodiscard]] bool idle() const { return out.idle() && in.idle() && compute.idle(); }

  std::shared_ptr<const Device> device;  ///< first: the others need it to the end
  Routes routes;
  std::shared_ptr<Walking> walking;  ///< null where collectives are messages
  Timeline out{*device}, in{*device}, compute{*device};
  BlockPool pinned{*device, BlockPool::Kind::Pinned};
  BlockPool scratch{*device, BlockPool::Kind::Device};
  BlockPool shared{*device, BlockPool::Kind::Shared};
  BlockPool work{*device, BlockPool::Kind::Device, 1};
  FlagPool flags{*device};
  Mappings mappings{*device};
};

}  // namespace multitree::runtime::device

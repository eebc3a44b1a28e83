// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The memory that ranks map of each other for walking, and launches.
#include "runtime/device/walking_internal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <set>
#include <string>

#include "topologies/error.hpp"

namespace multitree::runtime::device {
namespace {

/// In words_.
enum : std::size_t { kGivenUp = 0, kStranger = 1 };
constexpr std::size_t kWordsBytes = 256;
/// Lists that stay on the device; as many as Programs keeps.
constexpr std::size_t kMostLists = 64;

/// Kernels that wait for each other have to run at the same time, which those of one device may
/// not: each rank needs one of its own.
bool have_devices_of_their_own(const Identities& identities) {
  std::set<std::string> units;
  for (const std::string& bytes : identities) {
    Identity identity;
    if (bytes.size() != sizeof identity) return false;
    std::memcpy(&identity, bytes.data(), sizeof identity);
    units.insert(std::string(identity.host.data()) + " " + identity.unit.data());
  }
  return units.size() == identities.size();
}

}  // namespace

namespace {
/// Of all places of a rank.
constexpr std::size_t kMostPlaces = std::size_t{512} << 20;
}  // namespace

/// What ranks tell each other.
struct Walking::Offer {
  Handle handle;
  std::uint64_t arena_bytes = 0;  ///< places are laid alike only if these are equal
  std::uint32_t blocks = 0;       ///< 0: cannot walk
};

std::shared_ptr<Walking> Walking::join(Bootstrap& bootstrap,
                                       const std::shared_ptr<const Device>& device,
                                       const Identities& identities, const Routes& routes,
                                       std::size_t segment_bytes, Deadline deadline) {
  // All ranks see the same, so all return here or none.
  if (bootstrap.size() < 2 || !routes.all_mapped || !have_devices_of_their_own(identities)) {
    return nullptr;
  }
  std::shared_ptr<Walking> made;
  Offer mine;
  try {  // without memory for it, or handles of it, collectives are messages
    made.reset(new Walking(device, bootstrap.seat(), bootstrap.size(), segment_bytes));
    made->open();
    mine = {made->blocks_ == 0 ? Handle{} : device->share(made->arena_), made->arena_bytes(),
            made->blocks_};
  } catch (const Error&) {
    mine = {};
  }
  const Gathered offers = bootstrap.all_gather(
      std::string(reinterpret_cast<const char*>(&mine), sizeof mine), deadline);
  const bool mapped = mine.blocks != 0 && made->map(offers, mine);
  const Gathered answers = bootstrap.all_gather(mapped ? "y" : "n", deadline);
  if (std::ranges::all_of(answers, [](const std::string& answer) { return answer == "y"; })) {
    return made;
  }
  if (made != nullptr) made->let_go();
  bootstrap.all_gather("", deadline);  // nobody frees what is mapped
  return nullptr;
}

bool Walking::map(const Gathered& offers, const Offer& mine) {
  for (std::uint32_t r = 0; r < ranks_; ++r) {
    Offer offer;
    if (offers[r].size() != sizeof offer) return false;
    std::memcpy(&offer, offers[r].data(), sizeof offer);
    if (offer.blocks != mine.blocks || offer.arena_bytes != mine.arena_bytes) return false;
    try {
      arenas_[r] = Seat{r} == self_ ? arena_ : mappings_.map(Seat{r}, 0, offer.handle);
    } catch (const Error&) {
      return false;
    }
  }
  return true;
}

Walking::Walking(std::shared_ptr<const Device> device, Seat self, std::uint32_t ranks,
                 std::size_t segment_bytes)
    : device_(std::move(device)),
      self_(self),
      ranks_(ranks),
      blocks_(device_->table().walk == nullptr ? 0 : device_->table().walk_blocks),
      message_bytes_(std::clamp(kMostPlaces / kWalkPlaces / ranks, sizeof(double),
                                std::max(segment_bytes, sizeof(double)))),
      place_bytes_(blocks_ == 0 ? 0 : walk_place_bytes(message_bytes_, blocks_)),
      arenas_(ranks),
      mappings_(*device_) {}

void Walking::open() {
  if (blocks_ == 0) return;
  words_ = static_cast<std::uint32_t*>(device_->allocate_pinned(kWordsBytes));
  std::memset(words_, 0, kWordsBytes);
  arena_ = static_cast<std::byte*>(device_->allocate(arena_bytes()));
  // Counters begin at 0. The host cannot write them; what it copies is there when join() tells the
  // others.
  const std::size_t counters = 3 * counters_bytes();
  void* const zeros = device_->allocate_pinned(counters);
  std::memset(zeros, 0, counters);
  Timeline timeline(*device_);
  device_->copy(arena_ + ranks_ * places_bytes(), zeros, counters, timeline.stream());
  timeline.mark();
  while (!timeline.idle()) timeline.poll();
  device_->free_pinned(zeros);
}

Walking::~Walking() {
  mappings_.clear();
  if (arena_ != nullptr) device_->free(arena_);
  if (words_ != nullptr) device_->free_pinned(words_);
}

std::size_t Walking::places_bytes() const { return kWalkPlaces * blocks_ * place_bytes_; }
std::size_t Walking::counters_bytes() const { return ranks_ * blocks_ * kWalkCounterStride; }
std::size_t Walking::arena_bytes() const { return ranks_ * places_bytes() + 3 * counters_bytes(); }

WalkLane Walking::lane_to(Seat peer) const {
  const auto arrived = [this](std::byte* arena, Seat from) {
    return arena + ranks_ * places_bytes() + index(from) * blocks_ * kWalkCounterStride;
  };
  std::byte* const there = arenas_[index(peer)];
  WalkLane lane;
  lane.seat = index(peer);
  lane.places_there = there + index(self_) * places_bytes();
  lane.arrived_there = reinterpret_cast<std::uint64_t*>(arrived(there, self_));
  lane.consumed_there = reinterpret_cast<std::uint64_t*>(arrived(there, self_) + counters_bytes());
  lane.places = arena_ + index(peer) * places_bytes();
  lane.arrived = reinterpret_cast<std::uint64_t*>(arrived(arena_, peer));
  lane.consumed = reinterpret_cast<std::uint64_t*>(arrived(arena_, peer) + counters_bytes());
  lane.passed = reinterpret_cast<std::uint64_t*>(arrived(arena_, peer) + 2 * counters_bytes());
  return lane;
}

std::shared_ptr<WalkList> Walking::list_of(const std::shared_ptr<const LoadedProgram>& program,
                                           const WalkShape& shape) {
  const std::scoped_lock lock(mutex_);
  for (const auto& list : lists_) {
    if (list->program == program && list->shape == shape) return list;
  }
  auto made = std::make_shared<WalkList>();
  made->program = program;
  made->shape = shape;
  made->list = walk_steps(program->program, shape, blocks_);
  lists_.push_back(made);
  return made;
}

Needs Walking::needs(const WalkList& list) const {
  Needs needs;
  needs.bytes = list.bytes();
  needs.pinned = needs.scratch = list.uploaded ? 0 : 1;
  needs.work = work_bytes(list) > work_room_ ? work_bytes(list) : 0;
  needs.works = needs.work == 0 ? 0 : 1;
  return needs;
}

void Walking::upload(Workspace& workspace, WalkList& list, Stream stream) {
  if (list.uploaded || list.list.steps.empty()) return;
  std::vector<WalkLane> lanes;
  for (std::size_t l = 0; l < list.peers().size(); ++l) {
    lanes.push_back(lane_to(list.peers()[l]));
    lanes.back().sent = list.list.sent[l];
    lanes.back().received = list.list.received[l];
  }
  list.pinned = workspace.pinned.take(list.bytes());
  list.memory = workspace.scratch.take(list.bytes());
  const std::size_t steps = list.steps_bytes();
  std::memcpy(list.pinned.memory, list.list.steps.data(), steps);
  if (!lanes.empty()) {
    std::memcpy(list.pinned.memory + steps, lanes.data(), lanes.size() * sizeof(WalkLane));
  }
  device_->copy(list.memory.memory, list.pinned.memory, list.bytes(), stream);
  list.uploaded = true;
}

/// Once there are many: those that nobody uses.
void Walking::forget_lists(Workspace& workspace) {
  const std::scoped_lock lock(mutex_);
  if (lists_.size() <= kMostLists) return;
  std::erase_if(lists_, [&](const std::shared_ptr<WalkList>& list) {
    if (list.use_count() > 1 || list->recorded) return false;
    if (list->uploaded) {
      workspace.pinned.give(list->pinned);
      workspace.scratch.give(list->memory);
    }
    return true;
  });
}

void Walking::put(const WalkList& list, const Call& call, Stream stream) {
  if (list.list.steps.empty()) return;
  Walk walk;
  walk.steps = reinterpret_cast<const WalkStep*>(list.memory.memory);
  walk.lanes = reinterpret_cast<const WalkLane*>(list.memory.memory + list.steps_bytes());
  walk.step_count = static_cast<std::uint32_t>(list.list.steps.size());
  walk.lane_count = static_cast<std::uint32_t>(list.peers().size());
  walk.blocks = blocks_;
  walk.divisor = list.shape.divisor;
  walk.place_bytes = place_bytes_;
  walk.work_bytes = list.list.work_bytes;
  walk.tag = call.tag;
  walk.input = call.input;
  walk.output = call.output;
  walk.work = call.work;
  walk.given_up = words_ + kGivenUp;
  walk.stranger = words_ + kStranger;
  device_->walk(walk, call.type, call.op, stream);
}

std::uint64_t Walking::launch(Workspace& workspace, WalkList& list, Call call, Stream stream,
                              const std::shared_ptr<OwnedEvent>& over) {
  forget_lists(workspace);
  if (last_ != nullptr) device_->wait_event(stream, last_->event());
  // Kernels of earlier calls may still use the smaller one, which stays with its pool.
  if (work_bytes(list) > work_room_) {
    work_ = workspace.work.take(work_bytes(list));
    work_room_ = work_.bytes;
  }
  call.work = work_.memory;
  upload(workspace, list, stream);
  put(list, call, stream);
  over->record(stream);
  last_ = over;
  return launched_++;
}

void Walking::record(Workspace& workspace, WalkList& list, Call call, Stream stream,
                     Deadline deadline) {
  upload(workspace, list, workspace.in.stream());
  const std::uint64_t mark = workspace.in.mark();
  const auto until = std::chrono::steady_clock::now() + deadline;
  while (!workspace.in.done(mark)) {
    workspace.in.poll();
    if (std::chrono::steady_clock::now() > until) {
      throw Error(
          ErrorCode::Timeout,
          fmt::format("a collective is being recorded into a graph, and its list of {} steps "
                      "is not on the device after {} ms",
                      list.list.steps.size(), deadline.count()));
    }
  }
  if (list.work.memory == nullptr && work_bytes(list) != 0) {
    list.work = workspace.work.take(work_bytes(list));
  }
  list.recorded = true;
  call.work = list.work.memory;
  put(list, call, stream);
}

std::optional<Seat> Walking::stranger() const {
  const std::uint32_t found = std::atomic_ref(words_[kStranger]).load(std::memory_order_acquire);
  if (found == 0) return std::nullopt;
  return Seat{found - 1};
}

void Walking::give_up() { std::atomic_ref(words_[kGivenUp]).store(1, std::memory_order_release); }

}  // namespace multitree::runtime::device

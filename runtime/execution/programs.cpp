// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Which schedule runs a call, as a program.
#include "runtime/execution/programs_internal.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <span>

#include "algorithms/coalesced.hpp"
#include "runtime/execution/encodings_internal.hpp"
#include "runtime/execution/layout_internal.hpp"
#include "runtime/execution/merge_internal.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime {
namespace {

/// Programs kept per communicator; a training step repeats a few dozen sizes.
constexpr std::size_t kMaxPrograms = 64;

/// Of everything that says which message holds what; routes do not.
std::uint64_t digest_of(const Schedule& schedule) {
  std::vector<std::uint64_t> words{schedule.ranks, schedule.chunks.size()};
  words.reserve(words.size() + schedule.transfers.size() * 3);
  for (const Transfer& transfer : schedule.transfers) {
    words.push_back(std::uint64_t{transfer.step} << 32 | static_cast<std::uint64_t>(transfer.op));
    words.push_back(transfer.chunk);
    words.push_back(std::uint64_t{index(transfer.src)} << 32 | index(transfer.dst));
  }
  return XXH3_64bits(words.data(), words.size() * sizeof words.front());
}

std::uint64_t digest_of(std::uint64_t schedule, std::span<const ElementRange> ranges,
                        std::size_t segment_bytes) {
  std::vector<std::uint64_t> words{schedule, segment_bytes};
  for (const ElementRange& range : ranges) {
    words.push_back(range.begin);
    words.push_back(range.count);
  }
  return XXH3_64bits(words.data(), words.size() * sizeof words.front());
}

/// Most bytes of a message of several chunks; 0: each chunk is one by itself.
std::size_t bytes_together(const Schedule& schedule, std::span<const ElementRange> ranges,
                           const Call& call, std::size_t segment_bytes) {
  if (schedule.coalesces == 0 || call.wire != WireType::AsIs) return 0;
  std::uint64_t longest = 0;
  for (const ElementRange& range : ranges) longest = std::max(longest, range.count);
  const std::size_t most = std::min<std::uint64_t>(segment_bytes, schedule.coalesces);
  return fit_together(static_cast<double>(longest * size_of(call.type)), most) ? most : 0;
}

}  // namespace

Programs::Programs(PlansBySize plans, Rank self, std::uint32_t ranks)
    : self_(self), ranks_(ranks), on_demand_(std::move(plans.on_demand)) {
  for (SizedSchedules& plan : plans.plans) {
    const Collective collective = plan.empty() ? Collective{} : plan.front().schedule.collective;
    const auto before = first_of(collective);
    if (before != schedules_.end() && before->first.first == collective) {
      throw Error(ErrorCode::InvalidArgument,
                  fmt::format("two {} schedules", to_string(collective)));
    }
    load(std::move(plan));
  }
  if (ranks == 1) fill_in_for_one_rank();
}

std::shared_ptr<const LoadedSchedule> Programs::loaded(Schedule schedule, bool rounded) const {
  expect_no_switches_at_work(schedule, "messages between processes");
  Plan own = make_plan(schedule, self_, rounded);
  const std::uint64_t digest = digest_of(schedule);
  return std::make_shared<const LoadedSchedule>(std::move(schedule), std::move(own), digest);
}

std::shared_ptr<const LoadedSchedule> Programs::coalesced(
    const std::shared_ptr<const LoadedSchedule>& source) {
  std::shared_ptr<const LoadedSchedule>& made = coalesced_[source];
  if (made != nullptr) return made;
  const Schedule& schedule = source->schedule;
  const std::vector<std::uint32_t> levels = levels_of(schedule);
  const std::uint64_t digest =
      XXH3_64bits_withSeed(levels.data(), levels.size() * sizeof levels.front(), source->digest);
  made = std::make_shared<const LoadedSchedule>(
      LoadedSchedule{schedule, make_plan(schedule, self_, false, levels), digest});
  return made;
}

void Programs::load(SizedSchedules plan) {
  check_sized(plan);
  const Collective collective = plan.front().schedule.collective;
  const Rank root = has_root(collective) ? plan.front().schedule.root : Rank{0};
  for (SizedSchedule& sized : plan) {
    Schedule& schedule = sized.schedule;
    if (schedule.ranks != ranks_) {
      throw Error(ErrorCode::InvalidArgument,
                  fmt::format("{} schedule \"{}\" is for {} ranks, but the job has {}",
                              to_string(collective), schedule.algorithm, schedule.ranks, ranks_));
    }
    schedules_[{collective, root}].push_back({loaded(std::move(schedule)), sized.max_bytes});
  }
}

bool Programs::serves(Collective collective) const {
  if (on_demand_ != nullptr) return true;
  const auto first = first_of(collective);
  return first != schedules_.end() && first->first.first == collective;
}

bool Programs::serves(Collective collective, Rank root) {
  if (schedules_.contains({collective, root})) return true;
  if (on_demand_ == nullptr) return false;
  if (SizedSchedules made = on_demand_(collective, root); !made.empty()) load(std::move(made));
  return schedules_.contains({collective, root});
}

void Programs::fill_in_for_one_rank() {
  for (const Collective collective : all_collectives()) {
    if (serves(collective)) continue;
    Schedule schedule;
    schedule.collective = collective;
    schedule.ranks = 1;
    schedule.chunks = one_chunk_per_rank(1);
    schedules_[{collective, Rank{0}}].push_back({loaded(std::move(schedule))});
  }
}

Rank Programs::root_of(Collective collective, Rank otherwise) const {
  if (!has_root(collective)) return Rank{0};
  if (on_demand_ != nullptr) return otherwise;
  const auto found = first_of(collective);
  const bool any = found != schedules_.end() && found->first.first == collective;
  return any ? found->first.second : otherwise;
}

std::vector<Seat> Programs::peers() const {
  std::vector<Seat> all;
  for (const auto& [collective, sized] : schedules_) {
    for (const Sized& one : sized) {
      all.insert(all.end(), one.loaded->plan.peers.begin(), one.loaded->plan.peers.end());
    }
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

std::vector<SizedSchedules> Programs::lists() const {
  std::vector<SizedSchedules> all;
  for (const auto& [key, sized] : schedules_) {
    SizedSchedules& list = all.emplace_back();
    for (const Sized& one : sized) list.push_back({one.loaded->schedule, one.max_bytes});
  }
  return all;
}

const Programs::Sized* Programs::find(Collective collective, Rank root, std::uint64_t bytes) const {
  const auto list = schedules_.find({collective, root});
  if (list == schedules_.end()) return nullptr;
  const auto found = std::ranges::lower_bound(list->second, bytes, {}, &Sized::max_bytes);
  return found == list->second.end() ? nullptr : &*found;
}

std::string Programs::algorithm(Collective collective, std::uint64_t bytes) const {
  const auto first = first_of(collective);
  if (first == schedules_.end() || first->first.first != collective) return {};
  const Sized* const found = find(collective, first->first.second, bytes);
  return found == nullptr ? std::string() : found->loaded->schedule.algorithm;
}

std::shared_ptr<const LoadedSchedule> Programs::source_for(Collective collective, Rank root,
                                                           std::uint64_t bytes,
                                                           const Variant* variant) {
  if (variant == nullptr) return find(collective, root, bytes)->loaded;
  auto& known = variants_[{collective, root, std::string(variant->spec)}];
  if (known == nullptr) known = loaded(variant->make());
  return known;
}

std::shared_ptr<const LoadedProgram> Programs::program_for(const Call& call, Rank root,
                                                           const Cut& cut, const Variant* variant) {
  const std::size_t element = size_of(call.type);
  const std::tuple key{call.collective,
                       root,
                       call.count,
                       element,
                       call.wire,
                       cut.segment_bytes,
                       std::string(variant ? variant->spec : "")};
  if (const auto it = programs_.find(key); it != programs_.end()) return it->second;
  const std::uint64_t count = elements_of(call, ranks_);
  auto made = std::make_shared<LoadedProgram>();
  made->source = source_for(call.collective, root, count * element, variant);
  std::vector<ElementRange> ranges = chunk_ranges(made->source->schedule, count);
  if (cut.merge_bytes != 0) {
    if (auto merged = merge_chunks(made->source->schedule, ranges, element, cut.merge_bytes)) {
      made->source = loaded(std::move(*merged));
      ranges = chunk_ranges(made->source->schedule, count);
    }
  }
  if (call.wire != WireType::AsIs) {
    if (rounds(call.wire)) check_roundable(made->source->schedule, call.wire);
    made->source = loaded(made->source->schedule, true);
  }
  if (programs_.size() >= kMaxPrograms) {
    programs_.clear();
    coalesced_.clear();
  }
  const std::size_t together =
      cut.coalesce ? bytes_together(made->source->schedule, ranges, call, cut.segment_bytes) : 0;
  if (together > 0) made->source = coalesced(made->source);
  made->program = compile(made->source->plan, made->source->schedule, ranges,
                          {element, cut.segment_bytes, cut.window_bytes, call.wire, together});
  made->digest = digest_of(made->source->digest, ranges, cut.segment_bytes);
  programs_.emplace(key, made);
  return made;
}

}  // namespace multitree::runtime

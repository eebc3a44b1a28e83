// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Threads that meet for every exchange; the last to come does it for all.
#include "training/compression/in_process.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>

#include "runtime/kernels/reduce.hpp"
#include "runtime/kernels/wire.hpp"
#include "topologies/error.hpp"
#include "topologies/exception_words.hpp"
#include "topologies/thread.hpp"

namespace multitree::training {
namespace {

using runtime::WireType;

/// Everybody's numbers on their way to rank 0.
Schedule star_of(std::uint32_t ranks) {
  Schedule schedule;
  schedule.ranks = ranks;
  schedule.chunks = {Chunk::rooted(Rank{0}, 0, 1)};
  for (std::uint32_t r = 1; r < ranks; ++r) schedule.add(0, Op::Reduce, 0, Rank{r}, Rank{0}, {});
  return schedule;
}

/// By chunk, the ways to its root in the order in which they are gone. \throws
/// Error(InvalidArgument) unless every rank but the root goes one.
std::vector<std::vector<Transfer>> trees_of(const Schedule& schedule, std::uint32_t ranks) {
  if (schedule.collective != Collective::AllReduce || schedule.ranks != ranks) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("order of sums: expected an all-reduce of {} ranks, got {} of {}",
                            ranks, to_string(schedule.collective), schedule.ranks));
  }
  std::vector<std::vector<Transfer>> trees(schedule.chunks.size());
  std::vector<std::vector<bool>> gone(trees.size(), std::vector<bool>(ranks));
  for (const Transfer& transfer : schedule.transfers) {
    if (transfer.op != Op::Reduce) continue;
    trees[transfer.chunk].push_back(transfer);
    std::vector<bool>::reference twice = gone[transfer.chunk][index(transfer.src)];
    if (twice || transfer.src == schedule.chunks[transfer.chunk].root()) {
      throw Error(ErrorCode::InvalidArgument,
                  fmt::format("order of sums: expected trees, found that rank {} tells chunk {} "
                              "twice, or is its root",
                              index(transfer.src), transfer.chunk));
    }
    twice = true;
  }
  for (std::size_t c = 0; c < trees.size(); ++c) {
    if (trees[c].size() + 1 == ranks) continue;
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("order of sums: expected {} ways to the root of chunk {}, found {}",
                            ranks - 1, c, trees[c].size()));
  }
  return trees;
}

/// Where the threads meet.
class Meeting {
 public:
  Meeting(std::uint32_t ranks, const Schedule& order)
      : order_(order), trees_(trees_of(order, ranks)), offers_(ranks), missing_(ranks) {}

  struct Offer {
    void* data = nullptr;
    std::size_t count = 0;
    runtime::DataType type{};
    runtime::ReduceOp op{};
    WireType wire{};
    bool gathers = false;
    std::span<const std::byte> bytes;  ///< to gather

    [[nodiscard]] bool fits(const Offer& other) const {
      return gathers == other.gathers && (gathers || (count == other.count && type == other.type &&
                                                      op == other.op && wire == other.wire));
    }
  };

  std::vector<std::vector<std::byte>> meet(std::uint32_t rank, const Offer& offer) {
    std::unique_lock lock(mutex_);
    const std::uint64_t round = round_;
    offers_[rank] = offer;
    if (--missing_ == 0 && failure_.empty()) {
      missing_ = static_cast<std::uint32_t>(offers_.size());
      serve();
      changed_.notify_all();
    } else {
      changed_.wait(lock, [&] { return round_ != round || !failure_.empty(); });
    }
    // A round that is over is good, whatever others have met with since.
    if (round_ == round) throw Error(ErrorCode::Transport, failure_);
    return offer.gathers ? gathered_ : std::vector<std::vector<std::byte>>();
  }

  /// A rank has ended. Those who wait for it are told why it will not come.
  void leave(std::uint32_t rank, const std::string& why) {
    const std::scoped_lock lock(mutex_);
    if (failure_.empty()) failure_ = fmt::format("rank {} {}", rank, why);
    changed_.notify_all();
  }

 private:
  void serve() {
    for (std::size_t r = 1; r < offers_.size(); ++r) {
      if (offers_[r].fits(offers_[0])) continue;
      failure_ =
          fmt::format("rank {} exchanges {}, rank 0 {}", r, words(offers_[r]), words(offers_[0]));
      return;
    }
    ++round_;
    if (!offers_[0].gathers) return reduce();
    gathered_.clear();
    for (const Offer& offer : offers_)
      gathered_.emplace_back(offer.bytes.begin(), offer.bytes.end());
  }

  static std::string words(const Offer& offer) {
    return offer.gathers ? std::string("bytes")
                         : fmt::format("{} of {} {}, {}", to_string(offer.op), offer.count,
                                       to_string(offer.type), to_string(offer.wire));
  }

  /// In the vectors themselves: each ends as the result.
  void reduce() {
    const Offer& call = offers_[0];
    const std::size_t width = size_of(call.type);
    const std::vector<ElementRange> ranges = chunk_ranges(order_, call.count);
    for (std::size_t c = 0; c < ranges.size(); ++c) {
      const std::size_t begin = ranges[c].begin * width, count = ranges[c].count;
      const auto at = [&](Rank rank) {
        return static_cast<std::byte*>(offers_[index(rank)].data) + begin;
      };
      for (const Transfer& way : trees_[c]) {
        round(at(way.src), count);
        runtime::reduce(at(way.dst), at(way.src), count, call.type, call.op);
      }
      const Rank root = order_.chunks[c].root();
      if (offers_.size() > 1) round(at(root), count);
      for (std::uint32_t r = 0; r < offers_.size(); ++r) {
        if (Rank{r} != root) std::copy_n(at(root), count * width, at(Rank{r}));
      }
    }
  }

  void round(std::byte* data, std::size_t count) const {
    if (!runtime::rounds(offers_[0].wire)) return;
    runtime::round_to(offers_[0].wire, reinterpret_cast<float*>(data), count);
  }

  const Schedule& order_;
  std::vector<std::vector<Transfer>> trees_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Offer> offers_;  ///< of this round, by rank
  std::uint32_t missing_;
  std::uint64_t round_ = 0;
  std::vector<std::vector<std::byte>> gathered_;
  std::string failure_;
};

class InProcess final : public Exchange {
 public:
  InProcess(Meeting& meeting, std::uint32_t rank, std::uint32_t ranks)
      : meeting_(meeting), rank_(rank), ranks_(ranks) {}

  [[nodiscard]] std::uint32_t rank() const override { return rank_; }
  [[nodiscard]] std::uint32_t ranks() const override { return ranks_; }

 private:
  void all_reduce(const Vector& vector) override {
    meeting_.meet(rank_,
                  {vector.data, vector.count, vector.type, vector.op, vector.wire, false, {}});
  }
  std::vector<std::vector<std::byte>> all_gather(std::span<const std::byte> own) override {
    return meeting_.meet(rank_, {.gathers = true, .bytes = own});
  }

  Meeting& meeting_;
  std::uint32_t rank_, ranks_;
};

}  // namespace

void run_together(std::uint32_t ranks, const std::function<void(Exchange&)>& work,
                  const Schedule* order) {
  const Schedule star = star_of(ranks);
  Meeting meeting(ranks, order == nullptr ? star : *order);
  std::mutex mutex;
  std::exception_ptr first;
  const auto fail = [&](std::uint32_t rank, const std::exception& error) {
    {
      const std::scoped_lock lock(mutex);
      if (first == nullptr) first = std::current_exception();
    }
    meeting.leave(rank, fmt::format("has failed: {}", plain_words(error)));
  };
  const auto take_part = [&](std::uint32_t rank) {
    InProcess exchange(meeting, rank, ranks);
    try {
      work(exchange);
      meeting.leave(rank, "has ended, others go on");
    } catch (const std::exception& error) {
      fail(rank, error);
    }
  };
  const auto by_number = [&](std::size_t r) { take_part(static_cast<std::uint32_t>(r)); };
  in_threads("a rank", ranks, by_number, [&](std::size_t r, const std::exception& error) {
    fail(static_cast<std::uint32_t>(r), error);
  });
  if (first != nullptr) std::rethrow_exception(first);
}

}  // namespace multitree::training

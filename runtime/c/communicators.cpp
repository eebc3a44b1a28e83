// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The functions that make, ask and end communicators.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "runtime/c/group_internal.hpp"
#include "runtime/c/making_internal.hpp"
#include "runtime/c/shared_bootstrap_internal.hpp"
#include "runtime/device/device.hpp"
#include "runtime/job/unique_id.hpp"

namespace multitree::runtime::c {

namespace {

mtResult_t init_rank(mtComm_t* comm, int nranks, const mtUniqueId& id, int rank,
                     const mtConfig_t* config) {
  return guarded([&] {
    require(comm, "comm");
    *comm = nullptr;
    if (nranks < 1 || rank < 0 || rank >= nranks) {
      throw Failure(
          mtInvalidArgument,
          fmt::format("expected 1 rank or more and a rank below that, found rank {} of {}", rank,
                      nranks));
    }
    const Seat seat{static_cast<std::uint32_t>(rank)};
    return make(comm, std::make_shared<Comm>(read_config(config)),
                join_with(bytes_of(id), seat, static_cast<std::uint32_t>(nranks)));
  });
}

std::vector<Rank> read_ranks(const char* name, const int* list, int count) {
  if (count < 0) {
    throw Failure(mtInvalidArgument,
                  fmt::format("{}: expected a count of 0 or more, found {}", name, count));
  }
  if (count > 0) require(list, name);
  std::vector<Rank> ranks;
  for (int i = 0; i < count; ++i) {
    if (list[i] < 0) {
      throw Failure(mtInvalidArgument, fmt::format("{}: expected ranks, found {}", name, list[i]));
    }
    ranks.push_back(Rank{static_cast<std::uint32_t>(list[i])});
  }
  return ranks;
}

/// Ranks of `comm`, this one among them, each once.
void check_members(const std::vector<Rank>& members, const Comm& comm) {
  std::vector<bool> seen(comm.size());
  for (const Rank member : members) {
    const bool known = index(member) < comm.size();
    if (known && !seen[index(member)]) {
      seen[index(member)] = true;
      continue;
    }
    throw Failure(mtInvalidArgument, fmt::format("ranks: expected each below {} once, found {}{}",
                                                 comm.size(), member, known ? " twice" : ""));
  }
  if (seen[index(comm.rank())]) return;
  throw Failure(mtInvalidArgument,
                fmt::format("ranks: expected this rank, {}, among them", comm.rank()));
}

}  // namespace
}  // namespace multitree::runtime::c

using namespace multitree::runtime::c;

mtResult_t mtGetUniqueId(mtUniqueId* id) {
  return guarded([&] {
    require(id, "id");
    try {
      const auto bytes = multitree::runtime::make_unique_id();
      std::memcpy(id->internal, bytes.data(), sizeof id->internal);
    } catch (const multitree::Error& error) {
      throw Failure(mtSystemError, error.what());  // of this host: no other rank is involved
    }
  });
}

mtResult_t mtCommInitRank(mtComm_t* comm, int nranks, mtUniqueId id, int rank) {
  return init_rank(comm, nranks, id, rank, nullptr);
}

mtResult_t mtCommInitRankConfig(mtComm_t* comm, int nranks, mtUniqueId id, int rank,
                                const mtConfig_t* config) {
  return init_rank(comm, nranks, id, rank, config);
}

mtResult_t mtCommInitFromEnvironment(mtComm_t* comm, const mtConfig_t* config) {
  return guarded([&] {
    require(comm, "comm");
    *comm = nullptr;
    const auto join = [](const multitree::runtime::BootstrapOptions& options) {
      return Joined{.job = share(multitree::runtime::make_bootstrap(options))};
    };
    return make(comm, std::make_shared<Comm>(read_config(config)), join);
  });
}

mtResult_t mtCommShrink(mtComm_t comm, const int* excludeRanksList, int excludeRanksCount,
                        mtComm_t* newcomm, const mtConfig_t* config, int shrinkFlags) {
  return guarded([&] {
    require(newcomm, "newcomm");
    *newcomm = nullptr;
    const std::shared_ptr<Comm> old = find(comm);
    constexpr int kFlags = MT_SHRINK_ABORT | MT_SHRINK_AROUND_LINKS;
    if ((shrinkFlags & ~kFlags) != 0) {
      throw Failure(mtInvalidArgument,
                    fmt::format("shrinkFlags: expected MT_SHRINK_DEFAULT, or MT_SHRINK_ABORT and "
                                "MT_SHRINK_AROUND_LINKS, found {}",
                                shrinkFlags));
    }
    const ShrinkWish wish{
        .without = read_ranks("excludeRanksList", excludeRanksList, excludeRanksCount),
        .give_up = (shrinkFlags & MT_SHRINK_ABORT) != 0,
        .around_links = (shrinkFlags & MT_SHRINK_AROUND_LINKS) != 0};
    old->check_shrinkable(wish.without);
    const auto join = [old, wish](const multitree::runtime::BootstrapOptions& options) {
      return old->shrink(wish, options.deadline);
    };
    Settings settings = config == nullptr ? old->settings() : read_config(config);
    return make(newcomm, std::make_shared<Comm>(std::move(settings), old->cancellation()), join);
  });
}

mtResult_t mtCommSplit(mtComm_t comm, int color, int key, mtComm_t* newcomm,
                       const mtConfig_t* config) {
  return guarded([&] {
    require(newcomm, "newcomm");
    *newcomm = nullptr;
    const std::shared_ptr<Comm> old = find(comm);
    old->check_usable();
    if (color < 0 && color != MT_SPLIT_NOCOLOR) {
      throw Failure(mtInvalidArgument,
                    fmt::format("color: expected 0 or more, or MT_SPLIT_NOCOLOR, found {}", color));
    }
    Settings settings = config == nullptr ? without_network(old->settings()) : read_config(config);
    const auto part = std::make_shared<std::optional<Part>>();
    const auto agree = [old, part, color, key, deadline = settings.init_deadline] {
      *part = old->split(color, key, deadline);
    };
    const auto join = [old, part](const multitree::runtime::BootstrapOptions& options) {
      return join_part(old, **part, options);
    };
    if (color != MT_SPLIT_NOCOLOR) {
      return make_from(*old, newcomm, std::make_shared<Comm>(std::move(settings)), agree, join);
    }
    if (Group::of_this_thread().open()) {
      Group::of_this_thread().add(old.get(), agree);
    } else {
      agree();
    }
    return mtSuccess;
  });
}

mtResult_t mtCommCreateGroup(mtComm_t comm, const int* ranks, int count, int tag, mtComm_t* newcomm,
                             const mtConfig_t* config) {
  return guarded([&] {
    require(newcomm, "newcomm");
    *newcomm = nullptr;
    const std::shared_ptr<Comm> old = find(comm);
    old->check_usable();
    if (tag < 0) {
      throw Failure(mtInvalidArgument, fmt::format("tag: expected 0 or more, found {}", tag));
    }
    const auto members = read_ranks("ranks", ranks, count);
    check_members(members, *old);
    const Part part = old->part(static_cast<std::uint32_t>(tag), members);
    const auto join = [old, part](const multitree::runtime::BootstrapOptions& options) {
      return join_part(old, part, options);
    };
    Settings settings = config == nullptr ? without_network(old->settings()) : read_config(config);
    return make(newcomm, std::make_shared<Comm>(std::move(settings)), join);
  });
}

mtResult_t mtCommFinalize(mtComm_t comm) {
  return guarded([&] {
    const std::shared_ptr<Comm> found = find(comm);
    found->check_usable();
    if (Group::of_this_thread().open()) {
      Group::of_this_thread().add(found.get(), [found] { found->finalize(); });
      return mtSuccess;
    }
    if (!found->settings().blocking) {
      found->finalize_in_background();
      return mtInProgress;
    }
    found->finalize();
    return mtSuccess;
  });
}

mtResult_t mtCommDestroy(mtComm_t comm) {
  return guarded([&] {
    const std::shared_ptr<Comm> found = delist(comm, false);
    if (Group::of_this_thread().open()) {
      Group::of_this_thread().add(found.get(), [found] { found->leave(found); });
    } else {
      found->leave(found);
    }
  });
}

mtResult_t mtCommAbort(mtComm_t comm) {
  return guarded([&] { delist(comm, true)->abort("aborted by mtCommAbort()"); });
}

mtResult_t mtCommGetAsyncError(mtComm_t comm, mtResult_t* result) {
  return guarded([&] {
    require(result, "result");
    *result = find(comm)->look();
  });
}

mtResult_t mtCommGetFailure(mtComm_t comm, mtFailure_t* failure) {
  return guarded([&] {
    require(failure, "failure");
    if (failure->size != sizeof(mtFailure_t)) {
      throw Failure(mtInvalidArgument,
                    fmt::format("failure: expected {} bytes from MT_FAILURE_INITIALIZER, found {}",
                                sizeof(mtFailure_t), failure->size));
    }
    const std::shared_ptr<Comm> found = find(comm);
    failure->result = found->look();
    const Cause cause = found->cause();
    failure->rank = cause.rank ? static_cast<int>(*cause.rank) : -1;
    failure->linkLow = cause.link ? static_cast<int>(cause.link->a) : -1;
    failure->linkHigh = cause.link ? static_cast<int>(cause.link->b) : -1;
  });
}

mtResult_t mtCommGetDeadLinks(mtComm_t comm, int* ends, int capacity, int* count) {
  return guarded([&] {
    require(count, "count");
    if (capacity < 0) {
      throw Failure(mtInvalidArgument,
                    fmt::format("capacity: expected 0 or more, found {}", capacity));
    }
    if (capacity > 0) require(ends, "ends");
    int filled = 0;
    for (const auto& [a, b] : find(comm)->dead_links()) {
      if (filled < capacity) {
        ends[2 * filled] = static_cast<int>(a);
        ends[2 * filled + 1] = static_cast<int>(b);
      }
      ++filled;
    }
    *count = filled;
  });
}

mtResult_t mtCommCount(mtComm_t comm, int* count) {
  return guarded([&] {
    require(count, "count");
    *count = static_cast<int>(find(comm)->size());
  });
}

mtResult_t mtCommCuDevice(mtComm_t comm, int* device) {
  return guarded([&] {
    require(device, "device");
    const std::shared_ptr<Comm> found = find(comm);
    static_cast<void>(found->size());  // not before it is set up
    const auto& opened = found->settings().options.device;
    *device = opened == nullptr ? -1 : opened->table().ordinal;
  });
}

mtResult_t mtCommGetStreamOrder(mtComm_t comm, mtStream_t stream, mtStreamOrder_t* order) {
  return guarded([&] {
    require(order, "order");
    *order = static_cast<mtStreamOrder_t>(find(comm)->order_on(multitree::runtime::Stream{stream}));
  });
}

mtResult_t mtCommUserRank(mtComm_t comm, int* rank) {
  return guarded([&] {
    require(rank, "rank");
    *rank = static_cast<int>(find(comm)->rank());
  });
}

const char* mtGetLastError(mtComm_t comm) {
  static thread_local std::string words;
  if (comm == nullptr) return thread_words().c_str();
  const mtResult_t result = guarded([&] { words = find(comm)->words(); });
  return result == mtSuccess ? words.c_str() : thread_words().c_str();
}

// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A communicator that has more ranks than another.
#include <fmt/format.h>

#include <memory>

#include "runtime/c/comm_turn_internal.hpp"
#include "runtime/c/making_internal.hpp"
#include "runtime/job/growth.hpp"

namespace multitree::runtime::c {
namespace {

/// What this rank knows; `rank` is -1 where it keeps its own.
Growth read_growth(const Comm& old, int nranks, const mtUniqueId* id, int rank) {
  if (rank < -1 || rank >= nranks) {
    throw Failure(mtInvalidArgument,
                  fmt::format("rank: expected one below nranks, {}, or -1 for the rank in comm, "
                              "found {}",
                              nranks, rank));
  }
  Growth growth;
  if (id != nullptr) growth.id = bytes_of(*id);
  growth.size = static_cast<std::uint32_t>(nranks);
  growth.seat = Seat{rank < 0 ? index(old.rank()) : static_cast<std::uint32_t>(rank)};
  return growth;
}

/// A rank of `old` joins the larger one.
mtResult_t grow_from(const std::shared_ptr<Comm>& old, mtComm_t* newcomm, const Growth& growth,
                     Settings settings) {
  const auto id = std::make_shared<UniqueId>();
  const auto agree = [old, growth, id, deadline = settings.init_deadline] {
    *id = old->agree_to_grow(growth, deadline);
  };
  const auto join = [growth, id](const BootstrapOptions& options) {
    return join_with(*id, growth.seat, growth.size)(options);
  };
  return make_from(*old, newcomm, std::make_shared<Comm>(std::move(settings)), agree, join);
}

}  // namespace

UniqueId Comm::agree_to_grow(const Growth& growth, Deadline deadline) {
  check_usable();
  wait_for_all(Which::WithoutStream);
  const Turn turn(*this);
  check_alive();
  UniqueId id;
  run([&] { id = agree_on_growth(growth, *bootstrap_, deadline); });
  return id;
}

}  // namespace multitree::runtime::c

using namespace multitree::runtime::c;

mtResult_t mtCommGetUniqueId(mtComm_t comm, mtUniqueId* id) {
  const mtResult_t usable = guarded([&] { find(comm)->check_usable(); });
  return usable == mtSuccess ? mtGetUniqueId(id) : usable;
}

mtResult_t mtCommGrow(mtComm_t comm, int nranks, const mtUniqueId* id, int rank, mtComm_t* newcomm,
                      const mtConfig_t* config) {
  if (comm == nullptr && id != nullptr) {  // a newcomer
    return mtCommInitRankConfig(newcomm, nranks, *id, rank, config);
  }
  return guarded([&] {
    require(newcomm, "newcomm");
    *newcomm = nullptr;
    if (comm == nullptr) require(id, "id, of a rank that is not in comm");
    const std::shared_ptr<Comm> old = find(comm);
    old->check_usable();
    if (nranks < static_cast<int>(old->size())) {
      throw Failure(
          mtInvalidArgument,
          fmt::format("nranks: expected the {} of comm or more, found {}", old->size(), nranks));
    }
    Settings settings = config == nullptr ? without_network(old->settings()) : read_config(config);
    return grow_from(old, newcomm, read_growth(*old, nranks, id, rank), std::move(settings));
  });
}

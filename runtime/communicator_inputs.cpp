// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Looking through what a rank puts into its calls, before others get it.
#include <fmt/format.h>

#include <cstdlib>
#include <string_view>

#include "runtime/communicator_internal.hpp"
#include "runtime/exchange/moves_internal.hpp"
#include "runtime/execution/call_place_internal.hpp"
#include "runtime/execution/layout_internal.hpp"
#include "runtime/kernels/finite.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime {
namespace {

constexpr const char* kVariable = "MULTITREE_CHECK_FINITE";

/// "nan at element 17".
std::string words_of_element(const void* send, const void* data, std::size_t at, DataType type) {
  const std::size_t before =
      static_cast<std::size_t>(bytes_of(data) - bytes_of(send)) / size_of(type);
  return fmt::format("{} at element {}", name_of_not_finite(data, at, type), before + at);
}

}  // namespace

bool checks_finite(const std::optional<bool>& choice) {
  if (choice) return *choice;
  const char* const variable = std::getenv(kVariable);
  const std::string_view value = variable == nullptr ? "" : variable;
  if (value.empty() || value == "0") return false;
  if (value == "1") return true;
  throw Error(ErrorCode::InvalidArgument,
              fmt::format("{}: expected 0 or 1, found \"{}\"", kVariable, value));
}

void Communicator::Impl::look_through(const Call& call) {
  const std::uint32_t ranks = engine->bootstrap().size();
  const Rank self = rank_at(engine->bootstrap().seat()), root = host->root_of(call);
  check_buffers(call, self, ranks, root);
  const std::size_t elements = layout_of(call, self, ranks, root).sent / size_of(call.type);
  const std::size_t at = first_not_finite(call.send, elements, call.type);
  if (at == elements) return;
  tell_of_input(common_call(call, root), words_of_element(call.send, call.send, at, call.type));
}

void Communicator::Impl::look_through(const ExchangeCall& call) {
  if (!is_collective(call.exchange)) return;
  Moves moves = moves_of(call, engine->bootstrap().seat(), engine->bootstrap().size());
  moves.out.push_back(moves.own);
  for (const auto& move : moves.out) {
    const std::size_t elements = move.bytes / size_of(call.type);
    const std::size_t at = first_not_finite(move.data, elements, call.type);
    if (at == elements) continue;
    tell_of_input(common_call(call), words_of_element(call.send, move.data, at, call.type));
  }
}

void Communicator::Impl::tell_of_input(const CommonCall& call, const std::string& what) {
  const auto guard = engine->guard();
  engine->check_usable();
  const std::string place = call_place();
  const std::string reason =
      fmt::format("{}{}{}: the input of rank {} has {}", numbered_words(call, sequence),
                  place.empty() ? "" : " at ", place, engine->bootstrap().seat(), what);
  engine->give_up(reason);
  throw Error(ErrorCode::InvalidArgument,
              fmt::format("rank {}: {}", engine->bootstrap().seat(), reason));
}

}  // namespace multitree::runtime

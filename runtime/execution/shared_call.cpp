// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Calls compared and put in words.
#include "runtime/execution/shared_call_internal.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <array>

#include "runtime/exchange/moves_internal.hpp"

namespace multitree::runtime {
namespace {

std::string words_of_exchange(const CommonCall& call) {
  std::string words = fmt::format("{} of ", to_string(call.exchange));
  if (call.count != 0) words += fmt::format("{} ", std::uint64_t{call.count});
  words += to_string(call.type);
  if (reduces(call.exchange)) words += fmt::format(", {}", to_string(call.op));
  return words;
}

std::string words_of(const SharedCall& call, bool with_schedule) {
  std::string words = words_of(call);
  const bool has_one = call.exchange == Exchange::None;
  if (with_schedule && has_one) words += fmt::format(", schedule {:016x}", call.schedule);
  return words;
}

}  // namespace

std::string words_of(const CommonCall& call) {
  if (call.exchange != Exchange::None) return words_of_exchange(call);
  std::string words = fmt::format("{} of {} {}", to_string(call.collective),
                                  std::uint64_t{call.count}, to_string(call.type));
  if (reduces(call.collective)) words += fmt::format(", {}", to_string(call.op));
  if (call.wire != WireType::AsIs) words += fmt::format(", {} on the wire", to_string(call.wire));
  if (has_root(call.collective)) words += fmt::format(", root {}", call.root);
  if (call.several != 0) {
    words += fmt::format(", several of a group as one (which: {:04x})",
                         static_cast<unsigned>(call.several));
  }
  return words;
}

std::string numbered_words(const CommonCall& call, std::uint64_t number) {
  const std::string_view name = name_of(call);
  return fmt::format("{} #{}{}", name, number, words_of(call).substr(name.size()));
}

CommonCall common_call(const Call& call, Rank root) {
  CommonCall common{.several = call.several,
                    .root = has_root(call.collective) ? root : Rank{0},
                    .collective = call.collective,
                    .type = call.type,
                    .op = reduces(call.collective) ? call.op : ReduceOp::Sum,
                    .wire = call.wire};
  common.set_count(call.count);
  return common;
}

std::string_view name_of(const CommonCall& call) {
  return call.exchange != Exchange::None ? to_string(call.exchange) : to_string(call.collective);
}

std::uint32_t digest_of(const SharedCall& call, std::uint64_t round) {
  const std::array<std::uint64_t, 5> words{
      round, call.count, call.schedule, std::uint64_t{call.several} << 32 | index(call.root),
      std::uint64_t{static_cast<std::uint8_t>(call.wire)} << 32 |
          std::uint64_t{static_cast<std::uint8_t>(call.exchange)} << 24 |
          std::uint64_t{static_cast<std::uint8_t>(call.collective)} << 16 |
          std::uint64_t{static_cast<std::uint8_t>(call.type)} << 8 |
          static_cast<std::uint8_t>(call.op)};
  return static_cast<std::uint32_t>(XXH3_64bits(words.data(), sizeof words));
}

std::string words_of_difference(Seat self, const SharedCall& call, Seat other,
                                const SharedCall& its) {
  SharedCall same_schedule = its;
  same_schedule.schedule = call.schedule;
  const bool schedules = same_schedule == call;
  return fmt::format("rank {} calls {}, rank {} calls {}", self, words_of(call, schedules), other,
                     words_of(its, schedules));
}

}  // namespace multitree::runtime

// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// By the words of all ranks.
#include "runtime/messages/encryption_internal.hpp"

#include <fmt/format.h>

#include <optional>

#include "runtime/job/wire_internal.hpp"
#include "runtime/messages/tcp/records_internal.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime {
namespace {

EncryptionWish unpack_encryption(const std::string& text) {
  Reader reader(text);
  const auto wanted = reader.number();
  const auto obstacle = reader.text();
  if (!wanted || !obstacle) throw Error(ErrorCode::Transport, "invalid wish for encryption");
  return {*wanted != 0, *obstacle};
}

std::string obstacle_here(const Bootstrap& bootstrap) {
  if (bootstrap.is_open()) {
    return "the job has no secret, so strangers could take part: name a file with one by "
           "MULTITREE_KEY_FILE";
  }
  return tcp::why_no_records();
}

}  // namespace

std::string pack(const EncryptionWish& wish) {
  return Writer().number(wish.wanted ? 1 : 0).text(wish.obstacle).bytes();
}

EncryptionWish encryption_here(const Bootstrap& bootstrap, bool wanted) {
  return {wanted, wanted ? obstacle_here(bootstrap) : std::string()};
}

bool agreed_encryption(std::span<const std::string> wishes) {
  const auto words_of = [](bool wanted) { return wanted ? "encryption" : "none"; };
  const bool wanted = unpack_encryption(wishes.front()).wanted;
  for (std::size_t i = 0; i < wishes.size(); ++i) {
    const EncryptionWish wish = unpack_encryption(wishes[i]);
    if (wish.wanted != wanted) {
      throw Error(ErrorCode::InvalidArgument,
                  fmt::format("expected encryption (MULTITREE_ENCRYPT) at all ranks or at none, "
                              "found {} at rank 0 and {} at rank {}",
                              words_of(wanted), words_of(wish.wanted), i));
    }
    if (!wish.obstacle.empty()) {
      throw Error(ErrorCode::Unsupported,
                  fmt::format("rank {} cannot encrypt: {}", i, wish.obstacle));
    }
  }
  return wanted;
}

}  // namespace multitree::runtime

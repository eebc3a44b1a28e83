// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The words before the first frame, and the codes of all.
#include "runtime/job/seal_internal.hpp"

#include <algorithm>

namespace multitree::runtime {
namespace {

/// The number is the version of this handshake and of the first frames: what comes behind has a
/// number of its own (Build), by which ranks that differ can still say who they are.
constexpr std::string_view kGreeting = "multitree 9\n";
constexpr std::string_view kName = "multitree ";
constexpr std::size_t kGreetingBytes = kGreeting.size() + sizeof(Nonce);
constexpr std::string_view kShown = "I know it";

std::string_view name_of(Handshake::Side side) {
  return side == Handshake::Side::Caller ? "caller" : "acceptor";
}

}  // namespace

Code Seal::next(const Key& digest) {
  std::string numbered;
  for (int shift = 56; shift >= 0; shift -= 8) {
    numbered += static_cast<char>((count_ >> shift) & 0xffU);
  }
  ++count_;
  numbered += view_of(digest);
  const Key whole = code_of(key_, numbered);
  Code code{};
  std::copy_n(whole.begin(), code.size(), code.begin());
  return code;
}

Handshake::Handshake(Side side, const Key& key) : side_(side), key_(key), own_(make_nonce()) {
  if (side_ == Side::Acceptor) words_ = std::string(kGreeting).append(view_of(own_));
}

Key Handshake::key_for(Side speaker) const {
  const bool accepts = side_ == Side::Acceptor;
  std::string context(name_of(speaker));
  context += view_of(accepts ? own_ : other_);
  context += view_of(accepts ? other_ : own_);
  return code_of(key_, context);
}

std::size_t Handshake::awaited() const {
  if (side_ == Side::Acceptor) return kGreetingBytes + sizeof(Key);
  return greeted_ ? sizeof(Key) : kGreetingBytes;
}

Handshake::Step Handshake::hear(std::string_view heard) {
  if (side_ == Side::Acceptor) return judge_caller(heard);
  if (!greeted_) return greet_back(heard);
  if (same_secret(heard, view_of(code_of(key_for(Side::Acceptor), kShown)))) return Step::Done;
  return heard == view_of(Key{}) ? Step::Refused : Step::Wrong;
}

Handshake::Step Handshake::judge_caller(std::string_view heard) {
  if (!heard.starts_with(kGreeting)) return Step::Wrong;
  heard.remove_prefix(kGreeting.size());
  std::copy_n(heard.begin(), other_.size(), other_.begin());
  heard.remove_prefix(other_.size());
  const bool known = same_secret(heard, view_of(code_of(key_for(Side::Caller), kShown)));
  words_ = view_of(known ? code_of(key_for(Side::Acceptor), kShown) : Key{});
  return known ? Step::Done : Step::Wrong;
}

Handshake::Step Handshake::greet_back(std::string_view heard) {
  if (!heard.starts_with(kGreeting)) {
    return heard.starts_with(kName) ? Step::OtherVersion : Step::Wrong;
  }
  std::copy_n(heard.begin() + kGreeting.size(), other_.size(), other_.begin());
  greeted_ = true;
  words_ = std::string(kGreeting).append(view_of(own_));
  words_ += view_of(code_of(key_for(Side::Caller), kShown));
  return Step::Waiting;
}

Seal Handshake::sends() const { return Seal(key_for(side_)); }

Seal Handshake::receives() const {
  return Seal(key_for(side_ == Side::Caller ? Side::Acceptor : Side::Caller));
}

}  // namespace multitree::runtime

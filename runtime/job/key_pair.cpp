// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// X25519 by libsodium.
#include "runtime/job/key_pair_internal.hpp"

#include <sodium.h>

#include <algorithm>
#include <string>

namespace multitree::runtime {
namespace {

static_assert(sizeof(PublicKey) == crypto_scalarmult_BYTES);
static_assert(sizeof(Key) == crypto_scalarmult_SCALARBYTES);

unsigned char* bytes_of(Key& key) { return reinterpret_cast<unsigned char*>(key.data()); }
const unsigned char* bytes_of(const Key& key) {
  return reinterpret_cast<const unsigned char*>(key.data());
}

}  // namespace

KeyPair::KeyPair() {
  open_sodium();
  ::randombytes_buf(own_.data(), own_.size());
  ::crypto_scalarmult_base(bytes_of(told_), bytes_of(own_));
}

KeyPair::~KeyPair() { ::sodium_memzero(own_.data(), own_.size()); }

std::optional<Key> KeyPair::shared_with(const PublicKey& other) const {
  Key secret{};
  if (::crypto_scalarmult(bytes_of(secret), bytes_of(own_), bytes_of(other)) != 0) {
    return std::nullopt;
  }
  // Both ends name the two keys in one order.
  const auto [first, second] = std::minmax(told_, other);
  const Key shared = code_of(secret, std::string(view_of(first)).append(view_of(second)));
  ::sodium_memzero(secret.data(), secret.size());
  return shared;
}

}  // namespace multitree::runtime

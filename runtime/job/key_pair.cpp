// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// X25519 by OpenSSL.
#include "runtime/job/key_pair_internal.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <string>
#include <utility>

#include "topologies/error.hpp"

namespace multitree::runtime {

void KeyPair::Release::operator()(evp_pkey_st* key) const { EVP_PKEY_free(key); }

KeyPair::KeyPair() : own_(EVP_PKEY_Q_keygen(nullptr, nullptr, "X25519")) {
  std::size_t length = told_.size();
  auto* const bytes = reinterpret_cast<unsigned char*>(told_.data());
  if (own_ == nullptr || EVP_PKEY_get_raw_public_key(own_.get(), bytes, &length) != 1) {
    throw Error(ErrorCode::Transport, "OpenSSL cannot make a key pair");
  }
}

std::optional<Key> KeyPair::shared_with(const PublicKey& other) const {
  const decltype(own_) peer(EVP_PKEY_new_raw_public_key(
      EVP_PKEY_X25519, nullptr, reinterpret_cast<const unsigned char*>(other.data()),
      other.size()));
  const std::unique_ptr<EVP_PKEY_CTX, void (*)(EVP_PKEY_CTX*)> context(
      EVP_PKEY_CTX_new(own_.get(), nullptr), &EVP_PKEY_CTX_free);
  Key secret{};
  std::size_t length = secret.size();
  if (peer == nullptr || context == nullptr || EVP_PKEY_derive_init(context.get()) != 1 ||
      EVP_PKEY_derive_set_peer(context.get(), peer.get()) != 1 ||
      EVP_PKEY_derive(context.get(), reinterpret_cast<unsigned char*>(secret.data()), &length) !=
          1) {
    return std::nullopt;
  }
  // Both ends name the two keys in one order.
  const auto [first, second] = std::minmax(told_, other);
  return code_of(secret, std::string(view_of(first)).append(view_of(second)));
}

}  // namespace multitree::runtime

// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// libsodium behind the keys.
#include "runtime/job/keys_internal.hpp"

#include <sodium.h>

#include <string>

#include "topologies/error.hpp"

namespace multitree::runtime {
namespace {

static_assert(sizeof(Key) == crypto_hash_sha256_BYTES);
static_assert(sizeof(Key) == crypto_auth_hmacsha256_BYTES);
static_assert(sizeof(Key) == crypto_auth_hmacsha256_KEYBYTES);

/// Names what the key is for, so that no other program's use of the same secret can be taken for
/// it.
constexpr std::string_view kPurpose = "multitree control connections\n";

const unsigned char* bytes_in(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

unsigned char* bytes_of_key(Key& key) { return reinterpret_cast<unsigned char*>(key.data()); }

}  // namespace

void open_sodium() {
  // Opens the system's random numbers, once; from any thread.
  if (::sodium_init() < 0) {
    throw Error(ErrorCode::Transport, "libsodium finds no random numbers on this system");
  }
}

Key key_of(std::string_view token) { return digest_of(std::string(kPurpose).append(token)); }

Key digest_of(std::string_view bytes) {
  Key digest{};
  ::crypto_hash_sha256(bytes_of_key(digest), bytes_in(bytes), bytes.size());
  return digest;
}

Key code_of(const Key& key, std::string_view bytes) {
  Key code{};
  ::crypto_auth_hmacsha256(bytes_of_key(code), bytes_in(bytes), bytes.size(),
                           bytes_in(view_of(key)));
  return code;
}

bool same_secret(std::string_view a, std::string_view b) {
  return a.size() == b.size() && ::sodium_memcmp(a.data(), b.data(), a.size()) == 0;
}

Nonce make_nonce() {
  open_sodium();
  Nonce nonce{};
  ::randombytes_buf(nonce.data(), nonce.size());
  return nonce;
}

}  // namespace multitree::runtime

// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// OpenSSL behind the keys.
#include "runtime/job/keys_internal.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <string>

#include "topologies/error.hpp"

namespace multitree::runtime {
namespace {

/// Names what the key is for, so that no other program's use of the same secret can be taken for
/// it.
constexpr std::string_view kPurpose = "multitree control connections\n";

const unsigned char* bytes_in(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

unsigned char* bytes_of_key(Key& key) { return reinterpret_cast<unsigned char*>(key.data()); }

[[noreturn]] void no_cryptography(std::string_view what) {
  throw Error(ErrorCode::Transport, "OpenSSL cannot " + std::string(what));
}

}  // namespace

Key key_of(std::string_view token) { return digest_of(std::string(kPurpose).append(token)); }

Key digest_of(std::string_view bytes) {
  Key digest{};
  unsigned int length = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), bytes_of_key(digest), &length, EVP_sha256(),
                 nullptr) != 1) {
    no_cryptography("compute SHA-256");
  }
  return digest;
}

Key code_of(const Key& key, std::string_view bytes) {
  Key code{};
  unsigned int length = 0;
  if (HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), bytes_in(bytes), bytes.size(),
           bytes_of_key(code), &length) == nullptr) {
    no_cryptography("compute HMAC-SHA-256");
  }
  return code;
}

bool same_secret(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

Nonce make_nonce() {
  Nonce nonce{};
  if (RAND_bytes(reinterpret_cast<unsigned char*>(nonce.data()), nonce.size()) != 1) {
    no_cryptography("make random numbers");
  }
  return nonce;
}

}  // namespace multitree::runtime

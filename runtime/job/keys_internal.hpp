// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What the control connections need of cryptography, all of it libsodium's.
#pragma once

#include <array>
#include <string_view>

namespace multitree::runtime {

/// A key, a SHA-256 digest, or an HMAC with SHA-256.
using Key = std::array<char, 32>;
/// A number that is used once.
using Nonce = std::array<char, 16>;

template <typename Bytes>
std::string_view view_of(const Bytes& bytes) {
  return {bytes.data(), bytes.size()};
}

/// The key of the job whose secret is `token`.
Key key_of(std::string_view token);
Key digest_of(std::string_view bytes);
/// HMAC: what only those can say of `bytes` who know `key`.
Key code_of(const Key& key, std::string_view bytes);
/// To be called before libsodium makes random numbers. \throws Error(Transport): there are none.
void open_sodium();
/// In a time that does not tell where they differ.
bool same_secret(std::string_view a, std::string_view b);
/// \throws Error(Transport): the system has no random numbers.
Nonce make_nonce();

}  // namespace multitree::runtime

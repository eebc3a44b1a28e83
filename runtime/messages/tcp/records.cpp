// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// AES-256-GCM by libsodium.
#include "runtime/messages/tcp/records_internal.hpp"

#include <arpa/inet.h>
#include <sodium.h>

#include <cstring>

namespace multitree::runtime::tcp {
namespace {

static_assert(Records::kTag == crypto_aead_aes256gcm_ABYTES);
static_assert(sizeof(Key) == crypto_aead_aes256gcm_KEYBYTES);

unsigned char* text_of(std::byte* bytes) { return reinterpret_cast<unsigned char*>(bytes); }

crypto_aead_aes256gcm_state* state_in(std::array<unsigned char, 512>& expanded) {
  static_assert(sizeof(crypto_aead_aes256gcm_state) == sizeof expanded);
  return reinterpret_cast<crypto_aead_aes256gcm_state*>(expanded.data());
}

}  // namespace

std::string why_no_records() {
  open_sodium();
  if (::crypto_aead_aes256gcm_is_available() != 0) return {};
  return "its processor has no instructions for AES-GCM that libsodium knows";
}

Records::Records(const Key& key, std::uint64_t renewal) : key_(key), renewal_(renewal) {
  open_sodium();
  expand();
}

Records::~Records() {
  ::sodium_memzero(key_.data(), key_.size());
  ::sodium_memzero(expanded_.data(), expanded_.size());
}

void Records::expand() {
  ::crypto_aead_aes256gcm_beforenm(state_in(expanded_),
                                   reinterpret_cast<const unsigned char*>(key_.data()));
}

Records::Number Records::next() {
  if (count_ != 0 && count_ % renewal_ == 0) {
    key_ = code_of(key_, "the next key");
    expand();
  }
  static_assert(crypto_aead_aes256gcm_NPUBBYTES == sizeof(Number));
  Number number{};
  std::memcpy(number.data(), &count_, sizeof count_);
  ++count_;
  return number;
}

void Records::seal(std::byte* record, std::size_t bytes) {
  const std::uint32_t length = htonl(static_cast<std::uint32_t>(bytes));
  std::memcpy(record, &length, kHeader);
  const Number number = next();
  unsigned char* const text = text_of(record) + kHeader;
  ::crypto_aead_aes256gcm_encrypt_detached_afternm(text, text + bytes, nullptr, text, bytes,
                                                   text_of(record), kHeader, nullptr, number.data(),
                                                   state_in(expanded_));
}

std::size_t Records::length_in(const std::byte* record) {
  std::uint32_t length = 0;
  std::memcpy(&length, record, kHeader);
  length = ntohl(length);
  return length > kMost ? 0 : length;
}

bool Records::open(std::byte* record, std::size_t bytes) {
  if (over_) return false;
  const Number number = next();
  unsigned char* const text = text_of(record) + kHeader;
  over_ = ::crypto_aead_aes256gcm_decrypt_detached_afternm(text, nullptr, text, bytes, text + bytes,
                                                           text_of(record), kHeader, number.data(),
                                                           state_in(expanded_)) != 0;
  return !over_;
}

}  // namespace multitree::runtime::tcp

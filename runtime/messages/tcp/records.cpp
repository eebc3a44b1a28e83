// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Lengths, numbers and keys of records.
#include "runtime/messages/tcp/records_internal.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <sodium.h>

#include <cstring>

namespace multitree::runtime::tcp {
namespace {

unsigned char* text_of(std::byte* bytes) { return reinterpret_cast<unsigned char*>(bytes); }

std::unique_ptr<Cipher> fastest_cipher(const Key& key) {
  if (auto cipher = openssl_cipher(key)) return cipher;
  return sodium_cipher(key);
}

}  // namespace

std::string why_no_records() {
  if (fastest_cipher(Key{}) != nullptr) return {};
  return fmt::format(
      "it has no OpenSSL ({}), and its processor no instructions for AES-GCM that libsodium knows",
      kLibcrypto);
}

Records::Records(const Key& key, std::uint64_t renewal)
    : key_(key), cipher_(fastest_cipher(key)), renewal_(renewal) {}

Records::~Records() { ::sodium_memzero(key_.data(), key_.size()); }

Cipher::Number Records::next() {
  if (count_ != 0 && count_ % renewal_ == 0) {
    key_ = code_of(key_, "the next key");
    cipher_->take(key_);
  }
  Cipher::Number number{};
  std::memcpy(number.data(), &count_, sizeof count_);
  ++count_;
  return number;
}

void Records::seal(std::byte* record, std::size_t bytes) {
  const std::uint32_t length = htonl(static_cast<std::uint32_t>(bytes));
  std::memcpy(record, &length, kHeader);
  cipher_->seal(next(), {text_of(record), kHeader}, {text_of(record) + kHeader, bytes});
}

std::size_t Records::length_in(const std::byte* record) {
  std::uint32_t length = 0;
  std::memcpy(&length, record, kHeader);
  length = ntohl(length);
  return length > kMost ? 0 : length;
}

bool Records::open(std::byte* record, std::size_t bytes) {
  if (over_) return false;
  over_ = !cipher_->open(next(), {text_of(record), kHeader}, {text_of(record) + kHeader, bytes});
  return !over_;
}

}  // namespace multitree::runtime::tcp

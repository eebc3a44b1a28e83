// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// AES-256-GCM with one key: libcrypto's, which is twice as fast, where the machine has OpenSSL,
/// and libsodium's where it has not. Both make the same bytes.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "runtime/job/keys_internal.hpp"

namespace multitree::runtime::tcp {

/// Of one direction of one connection.
class Cipher {
 public:
  static constexpr std::size_t kTag = 16;
  using Number = std::array<unsigned char, 12>;  ///< a nonce: used once with a key
  using Bytes = std::span<unsigned char>;
  using ConstBytes = std::span<const unsigned char>;

  Cipher() = default;
  Cipher(const Cipher&) = delete;
  Cipher& operator=(const Cipher&) = delete;
  virtual ~Cipher() = default;

  virtual void take(const Key& key) = 0;
  /// Encrypts `text` where it lies, and writes the tag of it and of `header` behind it, where there
  /// is room for it.
  virtual void seal(const Number& number, ConstBytes header, Bytes text) = 0;
  /// Decrypts `text`, behind which its tag lies. False: the tag is another, and the text is
  /// rubbish.
  virtual bool open(const Number& number, ConstBytes header, Bytes text) = 0;
};

/// Of the OpenSSL that this is compiled for.
inline constexpr const char* kLibcrypto = "libcrypto.so.3";

/// Null where there is no OpenSSL, which it loads when first called, or one that refuses the key or
/// the cipher.
std::unique_ptr<Cipher> openssl_cipher(const Key& key);
/// Null where the processor has no instructions for AES.
std::unique_ptr<Cipher> sodium_cipher(const Key& key);

}  // namespace multitree::runtime::tcp

// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// AES-256-GCM of libsodium.
#include <sodium.h>

#include "runtime/messages/tcp/cipher_internal.hpp"

namespace multitree::runtime::tcp {
namespace {

static_assert(Cipher::kTag == crypto_aead_aes256gcm_ABYTES);
static_assert(sizeof(Key) == crypto_aead_aes256gcm_KEYBYTES);
static_assert(sizeof(Cipher::Number) == crypto_aead_aes256gcm_NPUBBYTES);

class SodiumCipher final : public Cipher {
 public:
  explicit SodiumCipher(const Key& key) { expand(key); }
  ~SodiumCipher() override { ::sodium_memzero(&expanded_, sizeof expanded_); }

  void take(const Key& key) override { expand(key); }

  void seal(const Number& number, ConstBytes header, Bytes text) override {
    ::crypto_aead_aes256gcm_encrypt_detached_afternm(
        text.data(), text.data() + text.size(), nullptr, text.data(), text.size(), header.data(),
        header.size(), nullptr, number.data(), &expanded_);
  }

  bool open(const Number& number, ConstBytes header, Bytes text) override {
    return ::crypto_aead_aes256gcm_decrypt_detached_afternm(
               text.data(), nullptr, text.data(), text.size(), text.data() + text.size(),
               header.data(), header.size(), number.data(), &expanded_) == 0;
  }

 private:
  void expand(const Key& key) {
    ::crypto_aead_aes256gcm_beforenm(&expanded_,
                                     reinterpret_cast<const unsigned char*>(key.data()));
  }

  alignas(16) crypto_aead_aes256gcm_state expanded_{};  ///< the key, as the processor takes it
};

}  // namespace

std::unique_ptr<Cipher> sodium_cipher(const Key& key) {
  open_sodium();
  if (::crypto_aead_aes256gcm_is_available() == 0) return nullptr;
  return std::make_unique<SodiumCipher>(key);
}

}  // namespace multitree::runtime::tcp

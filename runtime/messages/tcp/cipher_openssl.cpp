// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// AES-256-GCM of OpenSSL's libcrypto, loaded when it is first needed: a job that does not encrypt
/// must not wait for it.
#include <dlfcn.h>
#include <openssl/evp.h>

#include <utility>

#include "runtime/messages/tcp/cipher_internal.hpp"
#include "topologies/error.hpp"

/// All of its functions that the runtime calls.
#define MULTITREE_CRYPTO_FUNCTIONS(each) \
  each(EVP_CIPHER_CTX_ctrl);             \
  each(EVP_CIPHER_CTX_free);             \
  each(EVP_CIPHER_CTX_new);              \
  each(EVP_CipherFinal_ex);              \
  each(EVP_CipherInit_ex);               \
  each(EVP_CipherUpdate);                \
  each(EVP_aes_256_gcm)

namespace multitree::runtime::tcp {
namespace {

/// libcrypto, with the interface that this was compiled for.
struct Crypto {
#define MULTITREE_DECLARE(name) decltype(&::name) name = nullptr
  MULTITREE_CRYPTO_FUNCTIONS(MULTITREE_DECLARE);
#undef MULTITREE_DECLARE
  bool complete = false;

  /// Never unloaded: it ends with the process.
  Crypto() {
    void* const handle = ::dlopen(kLibcrypto, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (handle == nullptr) return;
    complete = true;
#define MULTITREE_FIND(name)                                       \
  name = reinterpret_cast<decltype(name)>(::dlsym(handle, #name)); \
  complete = complete && name != nullptr
    MULTITREE_CRYPTO_FUNCTIONS(MULTITREE_FIND);
#undef MULTITREE_FIND
  }
};

const Crypto& crypto() {
  static const Crypto loaded;
  return loaded;
}

class OpensslCipher final : public Cipher {
 public:
  /// \pre crypto() is complete
  OpensslCipher() : context_(crypto().EVP_CIPHER_CTX_new(), crypto().EVP_CIPHER_CTX_free) {}

  [[nodiscard]] bool accepts(const Key& key) {
    return context_ != nullptr &&
           crypto().EVP_CipherInit_ex(context_.get(), crypto().EVP_aes_256_gcm(), nullptr,
                                      text_of(key), nullptr, 1) == 1;
  }

  void take(const Key& key) override {
    if (!accepts(key)) throw Error(ErrorCode::Transport, "libcrypto refuses a key of AES-256-GCM");
  }

  void seal(const Number& number, ConstBytes header, Bytes text) override {
    unsigned char* const tag = text.data() + text.size();
    if (!begin(number, header, 1) || !run(text) || !finish(tag) ||
        control(EVP_CTRL_GCM_GET_TAG, tag) != 1) {
      throw Error(ErrorCode::Transport, "libcrypto does not encrypt by AES-256-GCM");
    }
  }

  bool open(const Number& number, ConstBytes header, Bytes text) override {
    unsigned char* const tag = text.data() + text.size();
    return begin(number, header, 0) && control(EVP_CTRL_GCM_SET_TAG, tag) == 1 && run(text) &&
           finish(tag);
  }

 private:
  static const unsigned char* text_of(const Key& key) {
    return reinterpret_cast<const unsigned char*>(key.data());
  }
  bool begin(const Number& number, ConstBytes header, int encrypts) {
    int bytes = 0;
    return crypto().EVP_CipherInit_ex(context_.get(), nullptr, nullptr, nullptr, number.data(),
                                      encrypts) == 1 &&
           crypto().EVP_CipherUpdate(context_.get(), nullptr, &bytes, header.data(),
                                     static_cast<int>(header.size())) == 1;
  }
  bool run(Bytes text) {
    int bytes = 0;
    return crypto().EVP_CipherUpdate(context_.get(), text.data(), &bytes, text.data(),
                                     static_cast<int>(text.size())) == 1;
  }
  /// With GCM it writes nothing.
  bool finish(unsigned char* behind) {
    int bytes = 0;
    return crypto().EVP_CipherFinal_ex(context_.get(), behind, &bytes) == 1;
  }
  int control(int what, unsigned char* tag) {
    return crypto().EVP_CIPHER_CTX_ctrl(context_.get(), what, static_cast<int>(kTag), tag);
  }

  std::unique_ptr<EVP_CIPHER_CTX, void (*)(EVP_CIPHER_CTX*)> context_;
};

}  // namespace

std::unique_ptr<Cipher> openssl_cipher(const Key& key) {
  if (!crypto().complete) return nullptr;
  auto cipher = std::make_unique<OpensslCipher>();
  return cipher->accepts(key) ? std::move(cipher) : nullptr;
}

}  // namespace multitree::runtime::tcp

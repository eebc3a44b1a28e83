// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Codes and keys, each by HMAC over what it is for and what was said.
#include "runtime/messages/tcp/pact_internal.hpp"

#include <algorithm>

namespace multitree::runtime::tcp {
namespace {

template <typename Words>
std::string_view bytes_of(const Words& words) {
  static_assert(std::has_unique_object_representations_v<Words>);
  return {reinterpret_cast<const char*>(&words), sizeof words};
}

WordsCode code_in(const Key& whole) {
  WordsCode code{};
  std::copy_n(whole.begin(), code.size(), code.begin());
  return code;
}

}  // namespace

/// As HKDF-Expand() of one block. Codes that are in the words are of the key, and left out of what
/// they are made of.
Key Pact::made_for(std::string_view purpose, const Hello& hello, const Welcome* welcome) const {
  std::string words(purpose);
  Hello plain = hello;
  plain.code = {};
  words += bytes_of(plain);
  if (welcome != nullptr) {
    Welcome answer = *welcome;
    answer.code = {};
    words += bytes_of(answer);
  }
  return code_of(*key_, words + '\x01');
}

void Pact::sign(Hello& hello) const {
  if (!key_) return;
  hello.nonce = make_nonce();
  hello.code = code_in(made_for("hello", hello, nullptr));
}

bool Pact::knows(const Hello& hello) const {
  if (!key_) return true;
  return same_secret(view_of(hello.code), view_of(code_in(made_for("hello", hello, nullptr))));
}

void Pact::sign(const Hello& hello, Welcome& welcome) const {
  if (!key_) return;
  welcome.nonce = make_nonce();
  welcome.code = code_in(made_for("welcome", hello, &welcome));
}

bool Pact::knows(const Hello& hello, const Welcome& welcome) const {
  if (!key_) return true;
  return same_secret(view_of(welcome.code), view_of(code_in(made_for("welcome", hello, &welcome))));
}

Sealing Pact::sealing(Side side, const Hello& hello, const Welcome& welcome) const {
  if (!key_) return {};
  const Key caller = made_for("caller's records", hello, &welcome);
  const Key opener = made_for("opener's records", hello, &welcome);
  const bool calls = side == Side::Caller;
  return {std::make_unique<SealedWriter>(calls ? caller : opener),
          std::make_unique<SealedReader>(calls ? opener : caller)};
}

}  // namespace multitree::runtime::tcp

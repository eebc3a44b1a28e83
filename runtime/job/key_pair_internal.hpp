// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A key that two ranks have in common and that nobody learns who reads what they tell each other.
#pragma once

#include <optional>

#include "runtime/job/keys_internal.hpp"

namespace multitree::runtime {

/// Of X25519; to be told to the other end over a connection on which nobody can change it.
using PublicKey = std::array<char, 32>;

class KeyPair {
 public:
  /// \throws Error(Transport): the system has no random numbers.
  KeyPair();
  ~KeyPair();
  KeyPair(const KeyPair&) = delete;
  KeyPair& operator=(const KeyPair&) = delete;
  [[nodiscard]] const PublicKey& told() const { return told_; }
  /// The same at both ends; empty if `other` is no key.
  [[nodiscard]] std::optional<Key> shared_with(const PublicKey& other) const;

 private:
  Key own_{};
  PublicKey told_{};
};

}  // namespace multitree::runtime

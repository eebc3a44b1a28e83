// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What two ranks have in common that seal what they tell each other, and what makes their first
/// words the other's.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "runtime/job/keys_internal.hpp"
#include "runtime/messages/tcp/sealed_internal.hpp"
#include "runtime/messages/tcp/words_internal.hpp"

namespace multitree::runtime::tcp {

/// The first words of a connection carry a number that is used once, and a code over them by the
/// key of the two. Keys of its two directions are made of that key and of all these words.
class Pact {
 public:
  /// Nothing is sealed: first words carry zeros, and any are good.
  Pact() = default;
  /// `key`: known to the two alone.
  explicit Pact(const Key& key) : key_(key) {}

  void sign(Hello& hello) const;
  [[nodiscard]] bool knows(const Hello& hello) const;
  void sign(const Hello& hello, Welcome& welcome) const;
  [[nodiscard]] bool knows(const Hello& hello, const Welcome& welcome) const;

  /// Who has said `hello`, and who has said `welcome` to that.
  enum class Side : std::uint8_t { Caller, Opener };
  [[nodiscard]] Sealing sealing(Side side, const Hello& hello, const Welcome& welcome) const;

 private:
  [[nodiscard]] Key made_for(std::string_view purpose, const Hello& hello,
                             const Welcome* welcome) const;

  std::optional<Key> key_;
};

}  // namespace multitree::runtime::tcp

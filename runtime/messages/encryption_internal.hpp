// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Whether what ranks send each other is encrypted, which all of them have to want.
#pragma once

#include <span>
#include <string>

#include "runtime/job/bootstrap.hpp"

namespace multitree::runtime {

/// What a rank says of itself.
struct EncryptionWish {
  bool wanted = false;
  std::string obstacle;  ///< why it cannot be; only where it is wanted
};
std::string pack(const EncryptionWish& wish);

/// Of this rank.
EncryptionWish encryption_here(const Bootstrap& bootstrap, bool wanted);

/// Of what ranks have said, each pack() of EncryptionWish. \throws Error(InvalidArgument) naming
/// two ranks with different wishes, Error(Unsupported) naming a rank that cannot, Error(Transport)
/// if one has said something else
bool agreed_encryption(std::span<const std::string> wishes);

}  // namespace multitree::runtime

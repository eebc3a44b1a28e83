// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What compressors ask of ranks, by a communicator.
#pragma once

#include "runtime/communicator.hpp"
#include "training/compression/exchange.hpp"

namespace multitree::tools {

class CommunicatorExchange final : public training::Exchange {
 public:
  /// Outlives this, and has all-reduces.
  explicit CommunicatorExchange(runtime::Communicator& communicator)
      : communicator_(communicator) {}

  [[nodiscard]] std::uint32_t rank() const override { return index(communicator_.rank()); }
  [[nodiscard]] std::uint32_t ranks() const override { return communicator_.size(); }

 private:
  void all_reduce(const Vector& vector) override;
  std::vector<std::vector<std::byte>> all_gather(std::span<const std::byte> own) override;

  runtime::Communicator& communicator_;
};

}  // namespace multitree::tools

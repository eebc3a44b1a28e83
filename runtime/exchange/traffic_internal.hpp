// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// All that one rank sends and receives in an exchange.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/exchange/transfer_internal.hpp"
#include "runtime/execution/activity_internal.hpp"
#include "runtime/execution/departure_internal.hpp"
#include "runtime/execution/executor_internal.hpp"

namespace multitree::runtime {

/// What is under way, as the engine drives it. Of large messages a few are taken at a time, so that
/// senders do not meet at one receiver's door; what is reduced is taken in the order of `in`, so
/// that sums do not depend on arrival.
class Traffic final : public Activity {
 public:
  /// Reduction of what comes, if there is one.
  struct Sum {
    std::byte* into = nullptr;  ///< this rank's input; null: nothing is reduced
    DataType type{};
    ReduceOp op{};
  };

  Traffic(Transport& transport, ScratchPool& pool, Seat self, const Sum& sum);
  ~Traffic() override;

  /// In the order in which they are to start; before start().
  void add(const Move<const std::byte>& out, const Header& header, std::uint32_t number);
  void add(const Move<std::byte>& in, const Header& expected, std::uint32_t number);
  void start();

  bool advance() override;
  [[nodiscard]] bool done() const override { return departure_.over(); }
  [[nodiscard]] std::string waiting_for() const override;
  [[nodiscard]] std::vector<Seat> awaited_ranks() const override;

 private:
  void move_on();
  void take_in_turn();
  void sum_up();

  Transport& transport_;
  ScratchPool& pool_;
  Sum sum_;
  std::vector<Completion*> finished_, batch_;
  Line line_;
  std::vector<std::unique_ptr<Outgoing>> out_;  ///< transports know where they are
  std::vector<std::unique_ptr<Incoming>> in_;
  std::vector<ScratchPool::Block> blocks_;  ///< of `in`, while what is to be reduced is taken
  std::vector<std::uint32_t> offered_;      ///< of `in`, in the order in which they came
  std::size_t looked_at_ = 0;               ///< of those: taken
  std::vector<std::uint32_t> taken_;        ///< of `in`, not arrived yet
  std::size_t started_ = 0, sent_ = 0;      ///< of `out`: begun, and over
  std::size_t arrived_ = 0;                 ///< of `in`; of those that are reduced: summed up
  std::vector<Seat> sent_to_;
  Departure departure_;
};

}  // namespace multitree::runtime

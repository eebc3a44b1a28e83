// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// An exchange whose shares lie on cards and slips where they are small.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "runtime/exchange/moves_internal.hpp"
#include "runtime/exchange/traffic_internal.hpp"
#include "runtime/execution/engine_internal.hpp"
#include "runtime/execution/recording_internal.hpp"
#include "runtime/host/attention_internal.hpp"

namespace multitree::runtime::host {

/// A rank whose shares for others fit puts all of them out with its card; one whose shares do not
/// says so there, and sends messages meanwhile. Each decides by what it sends, so nobody has to
/// know the sizes of others; but a share that alone is too large comes in a message for sure, which
/// is awaited at once. Cards compare the calls of all ranks, and with each share goes its size. Who
/// takes nothing of others waits for nobody.
class PackedExchange final : public Activity {
 public:
  /// `number`: tells the messages of this exchange apart. `recorder`: told what happens; or null.
  PackedExchange(Group& group, Engine& engine, const ExchangeCall& call, Moves moves,
                 std::uint32_t number, Recorder* recorder);

  bool advance() override;
  [[nodiscard]] bool done() const override { return state_ == State::Done; }
  [[nodiscard]] std::string waiting_for() const override;
  [[nodiscard]] std::vector<Seat> awaited_ranks() const override;

  /// Whether nothing is left for cards to tell.
  [[nodiscard]] bool has_read() const { return state_ >= State::Messages; }
  /// Whether messages go or come for sure.
  [[nodiscard]] bool has_messages() const { return early_ != nullptr; }

 private:
  /// Messages: what is left comes or goes in those.
  enum class State : std::uint8_t { Queued, Published, Messages, Done };
  /// Where a rank's shares for others are: on its card, on a slip, or in messages.
  enum class Form : std::uint8_t { Card, Slip, Messages };
  /// In place of a vector on a card.
  struct Label {
    std::uint8_t slip = 0;  ///< as Group::next_vector() notes it
    Form form{};
    std::byte none[6] = {};
    std::byte shares[32];
  };
  static_assert(sizeof(Label) == sizeof(Card::near));
  /// Of a share, from the beginning of the table.
  struct Piece {
    std::uint32_t at = 0, bytes = 0;
  };

  [[nodiscard]] std::uint64_t awaited() const {
    return state_ == State::Published ? group_.published() : group_.needed_before_next(room_);
  }
  [[nodiscard]] Seat me() const { return group_.self(); }
  [[nodiscard]] Header header(std::size_t bytes) const {
    Header header = header_;
    header.bytes = bytes;
    return header;
  }
  [[nodiscard]] bool comes_for_sure(const Move<std::byte>& in) const;
  [[nodiscard]] std::unique_ptr<Traffic> traffic() const;
  void plan_messages();
  void begin();
  bool advance_cards();
  bool advance_messages();
  void write();
  void pack(std::byte* table) const;
  void read();
  /// What `seat` has put out for this rank; null where it sends messages.
  [[nodiscard]] const std::byte* find(Seat seat, std::uint64_t& bytes) const;

  Group& group_;
  Engine& engine_;
  Header header_;  ///< of every share, but for its bytes
  CommonCall common_;
  Moves moves_;
  std::uint32_t number_;
  Recorder* recorder_;
  Attention attention_;
  bool sums_;
  std::uint32_t pieces_;  ///< that a rank puts out: one for each rank, or one for all
  Form form_ = Form::Messages;
  std::uint64_t room_ = 0;  ///< bytes that Group::next_vector() is asked for
  std::uint64_t ticket_;
  State state_ = State::Queued;
  bool begun_ = false;
  std::unique_ptr<Traffic> early_;  ///< what goes, and what comes for sure; null: nothing
  std::unique_ptr<Traffic> late_;   ///< what comes as cards have told; null: nothing
  std::exception_ptr failure_;      ///< told again: what fails in messages is told once by them
};

}  // namespace multitree::runtime::host

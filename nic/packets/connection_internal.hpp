// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Both ends of a flow.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "nic/packets/fabric_internal.hpp"

namespace multitree::packets {

/// What a flow's two ends share with those of all flows.
struct Surroundings {
  const Topology& topology;
  const Parameters& parameters;
  Clock& clock;
  Fabric& fabric;
};

/// How many packets a sender has under way: as DCTCP (SIGCOMM 2010), the window grows by itself and
/// once in a window shrinks by half of the part of packets that were marked, as averaged.
class Window {
 public:
  explicit Window(const Parameters& parameters)
      : size_(parameters.first_window), most_(parameters.most_window), threshold_(most_) {}
  [[nodiscard]] bool admits(std::uint32_t flying) const {
    return flying < static_cast<std::uint32_t>(size_);
  }
  /// One more is known to have come, or to be gone. \param sending of the packet \param next one
  void on_answer(std::uint32_t sending, std::uint32_t next, bool marked);
  void halve();
  void restart();

 private:
  double size_;
  double most_, threshold_;
  double congestion_ = 1;  // DCTCP's alpha
  std::uint32_t seen_ = 0, marks_ = 0;
  std::uint32_t window_end_ = 0, cut_end_ = 0;
};

class Connection {
 public:
  Connection(const Flow& flow, std::uint32_t number, const Surroundings& around,
             FlowResult& result);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  virtual ~Connection() = default;

  void start();
  /// A packet has come to one of the two ends; true if the flow ends with it.
  bool arrived(const Packet& packet);
  virtual void on_timer() {}

 protected:
  enum class State : std::uint8_t { New, Flying, Lost, Here };

  virtual void on_answer(const Packet& packet) = 0;
  virtual void on_missing() {}
  /// Nothing more can be sent now. \param dry nothing at all, until answers come
  virtual void on_pumped(bool dry) = 0;

  void send_data(std::uint32_t number);
  void send_control(Kind kind, bool forward, const Packet& about);
  /// As many as the window admits: first those that are to be sent again.
  void pump();
  void set_state(std::uint32_t number, State state);
  [[nodiscard]] std::uint32_t sent() const { return static_cast<std::uint32_t>(sendings_.size()); }

  const Flow& flow_;
  std::uint32_t number_;
  Surroundings around_;
  FlowResult& result_;
  std::uint32_t packets_;
  NodeId src_, dst_;
  Window window_;
  std::vector<State> states_;            // what the sender knows
  std::deque<std::uint32_t> again_;      // to be sent again
  std::uint32_t flying_ = 0, next_ = 0;  // next one that is new
  std::vector<std::uint32_t> sendings_;  // what was sent, in that order
  bool stopped_ = false;
  std::vector<bool> told_;  // what the receiver had when it was asked

 private:
  bool on_data(const Packet& packet);
  [[nodiscard]] bool is_droppable(std::uint32_t number) const;

  std::vector<bool> here_;  // what the receiver has
  std::uint32_t have_ = 0, enough_;
};

std::unique_ptr<Connection> make_connection(const Flow& flow, std::uint32_t number,
                                            const Surroundings& around, FlowResult& result);
std::unique_ptr<Connection> make_dctcp(const Flow& flow, std::uint32_t number,
                                       const Surroundings& around, FlowResult& result);
std::unique_ptr<Connection> make_bounded_loss(const Flow& flow, std::uint32_t number,
                                              const Surroundings& around, FlowResult& result);

}  // namespace multitree::packets

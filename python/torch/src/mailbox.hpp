// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Messages with tags. The library matches what goes from one rank to another in order; torch also
/// asks that tags agree. So each message follows a header, and what is not awaited yet is put by.
#pragma once

#include <ATen/ATen.h>
#include <multitree.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "work.hpp"

namespace multitree_torch {

/// What goes before a message.
struct Header {
  std::int64_t tag;
  std::uint64_t bytes;
};

/// Whose message it is; kAnySource where any will do and none has come.
using Source = std::shared_ptr<std::atomic<int>>;
constexpr int kAnySource = -1;

/// A message that a caller awaits.
struct Receive {
  int tag;
  at::Tensor buffer;  ///< contiguous
  Source source;
  bool done = false;
  std::string wrong = {};

  [[nodiscard]] bool takes(int from, std::int64_t of_tag) const {
    return of_tag == tag && (*source == from || *source == kAnySource);
  }
};

/// Receives that no message has been found for, of all sources, in the order of calls.
using Posted = std::list<std::shared_ptr<Receive>>;

/// What comes from one rank.
class Mailbox {
 public:
  Mailbox(mtComm_t comm, int source, Posted& posted)
      : comm_(comm), source_(source), posted_(posted) {}
  /// Gives it a message that was put by, if there is one.
  bool take_parcel(Receive& receive);
  /// Moves on what is under way, and begins what somebody awaits of this rank. \throws the
  /// library's failure.
  void step();
  /// Receives a message that is known to have come. \throws the library's failure.
  void open();
  /// Of a message, that is: it has begun to be received.
  [[nodiscard]] bool under_way() const { return state_ != State::Idle; }

 private:
  enum class State { Idle, Header, Body };
  struct Parcel {
    std::int64_t tag;
    at::Tensor bytes;
  };
  void await(void* memory, std::size_t bytes, State state);
  [[nodiscard]] bool is_awaited() const;
  /// The first that awaits what follows the header; null: nobody does.
  std::shared_ptr<Receive> take_posted();
  void open_parcel();
  void deliver();
  void give(Receive& receive, const at::Tensor& bytes) const;

  mtComm_t comm_;
  int source_;
  Posted& posted_;
  State state_ = State::Idle;
  Header header_{};
  std::unique_ptr<Requests> request_;
  std::shared_ptr<Receive> target_;  ///< whom the body is for
  at::Tensor body_;                  ///< of a parcel that nobody awaits, or that does not fit
  std::deque<Parcel> parcels_;
};

class Mailboxes : public std::enable_shared_from_this<Mailboxes> {
 public:
  Mailboxes(mtComm_t comm, int ranks) : comm_(comm), ranks_(ranks) {}
  /// Complete when the message is there; `source`, which may be any, is its rank then.
  std::unique_ptr<Pending> receive(const Source& source, int tag, const at::Tensor& buffer);
  /// Whether it is there; makes progress. \throws the library's failure, what is wrong with it.
  bool test(Receive& receive);

 private:
  Mailbox& box_of(int source);
  void post(const std::shared_ptr<Receive>& receive);
  void look_for_any(const Receive& receive);

  mtComm_t comm_;
  int ranks_;
  Posted posted_;
  std::map<int, Mailbox> boxes_;
  std::mutex mutex_;
};

}  // namespace multitree_torch

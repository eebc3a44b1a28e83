// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Messages with tags. The library matches what goes from one rank to another in order; torch also
/// asks that tags agree. So each message follows a header, and what is not awaited yet is put by.
#pragma once

#include <ATen/ATen.h>
#include <multitree.h>

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

/// A message that a caller awaits.
struct Receive {
  int tag;
  at::Tensor buffer;  ///< contiguous
  bool done = false;
  std::string wrong = {};
};

/// What comes from one rank.
class Mailbox {
 public:
  Mailbox(mtComm_t comm, int source) : comm_(comm), source_(source) {}
  void post(const std::shared_ptr<Receive>& receive);
  /// \throws the library's failure.
  void step();

 private:
  enum class State { Idle, Header, Body };
  struct Parcel {
    std::int64_t tag;
    at::Tensor bytes;
  };
  void await(void* memory, std::size_t bytes, State state);
  void open_parcel();
  void deliver();
  bool take_parcel(Receive& receive);
  static void give(Receive& receive, const at::Tensor& bytes);

  mtComm_t comm_;
  int source_;
  State state_ = State::Idle;
  Header header_{};
  std::unique_ptr<Requests> request_;
  std::list<std::shared_ptr<Receive>> posted_;
  std::shared_ptr<Receive> target_;  ///< whom the body is for
  at::Tensor body_;                  ///< of a parcel that nobody awaits, or that does not fit
  std::deque<Parcel> parcels_;
};

class Mailboxes {
 public:
  explicit Mailboxes(mtComm_t comm) : comm_(comm) {}
  /// Complete when the message is there.
  std::unique_ptr<Pending> receive(int source, int tag, const at::Tensor& buffer);

 private:
  mtComm_t comm_;
  std::map<int, std::shared_ptr<Mailbox>> boxes_;
  std::shared_ptr<std::mutex> mutex_ = std::make_shared<std::mutex>();
};

}  // namespace multitree_torch

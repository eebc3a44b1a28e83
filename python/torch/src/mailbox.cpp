// SPDX-License-Identifier: BSD-3-Clause
#include "mailbox.hpp"

#include <algorithm>
#include <cstring>

#include "library.hpp"

namespace multitree_torch {
namespace {

class Awaited final : public Pending {
 public:
  Awaited(std::shared_ptr<Mailboxes> boxes, std::shared_ptr<Receive> receive)
      : boxes_(std::move(boxes)), receive_(std::move(receive)) {}
  bool test() override { return boxes_->test(*receive_); }

 private:
  std::shared_ptr<Mailboxes> boxes_;
  std::shared_ptr<Receive> receive_;
};

}  // namespace

void Mailbox::give(Receive& receive, const at::Tensor& bytes) const {
  const std::size_t room = bytes_of(receive.buffer), found = bytes_of(bytes);
  if (room != found) {
    receive.wrong = "recv: expected " + std::to_string(room) + " bytes with tag " +
                    std::to_string(receive.tag) + ", found " + std::to_string(found) +
                    "; both ends need tensors of one size and type";
  } else if (found != 0) {
    std::memcpy(receive.buffer.data_ptr(), bytes.data_ptr(), found);
  }
  *receive.source = source_;
  receive.done = true;
}

bool Mailbox::take_parcel(Receive& receive) {
  const auto it = std::find_if(parcels_.begin(), parcels_.end(),
                               [&](const Parcel& parcel) { return parcel.tag == receive.tag; });
  if (it == parcels_.end()) return false;
  give(receive, it->bytes);
  parcels_.erase(it);
  return true;
}

void Mailbox::await(void* memory, std::size_t bytes, State state) {
  mtRequest_t request = nullptr;
  check(mtIRecv(memory, bytes, mtUint8, source_, comm_, nullptr, &request), "recv", comm_);
  request_ = std::make_unique<Requests>(std::vector<mtRequest_t>{request}, "recv", comm_);
  state_ = state;
}

std::shared_ptr<Receive> Mailbox::take_posted() {
  const auto it = std::find_if(posted_.begin(), posted_.end(), [&](const auto& receive) {
    return receive->takes(source_, header_.tag);
  });
  if (it == posted_.end()) return nullptr;
  std::shared_ptr<Receive> receive = std::move(*it);
  posted_.erase(it);
  *receive->source = source_;
  return receive;
}

void Mailbox::open_parcel() {
  target_ = take_posted();
  if (target_ != nullptr && bytes_of(target_->buffer) == header_.bytes) {
    return await(target_->buffer.data_ptr(), header_.bytes, State::Body);
  }
  body_ = at::empty({static_cast<std::int64_t>(header_.bytes)}, at::kByte);
  await(body_.data_ptr(), header_.bytes, State::Body);
}

void Mailbox::deliver() {
  if (target_ == nullptr) target_ = take_posted();  // called while the body came
  if (target_ == nullptr) {
    parcels_.push_back({header_.tag, body_});
  } else if (body_.defined()) {
    give(*target_, body_);
  } else {
    target_->done = true;
  }
  target_ = nullptr;
  body_ = at::Tensor();
  state_ = State::Idle;
}

bool Mailbox::is_awaited() const {
  return std::any_of(posted_.begin(), posted_.end(),
                     [&](const auto& receive) { return *receive->source == source_; });
}

void Mailbox::open() {
  if (state_ == State::Idle) await(&header_, sizeof header_, State::Header);
  step();
}

void Mailbox::step() {
  while (true) {
    if (state_ == State::Idle) {
      if (!is_awaited()) return;
      await(&header_, sizeof header_, State::Header);
    }
    if (!request_->test()) return;
    request_ = nullptr;
    if (state_ == State::Header) {
      open_parcel();
    } else {
      deliver();
    }
  }
}

Mailbox& Mailboxes::box_of(int source) {
  return boxes_.try_emplace(source, comm_, source, posted_).first->second;
}

void Mailboxes::post(const std::shared_ptr<Receive>& receive) {
  for (auto& [source, box] : boxes_) {
    const bool fits = *receive->source == source || *receive->source == kAnySource;
    if (fits && box.take_parcel(*receive)) return;
  }
  posted_.push_back(receive);
}

std::unique_ptr<Pending> Mailboxes::receive(const Source& source, int tag,
                                            const at::Tensor& buffer) {
  const std::lock_guard lock(mutex_);
  auto receive = std::make_shared<Receive>(Receive{tag, buffer, source});
  post(receive);
  return std::make_unique<Awaited>(shared_from_this(), receive);
}

bool Mailboxes::test(Receive& receive) {
  const std::lock_guard lock(mutex_);
  if (!receive.done && *receive.source == kAnySource) {
    look_for_any(receive);
  } else if (!receive.done) {
    box_of(*receive.source).step();
  }
  if (!receive.wrong.empty()) C10_THROW_ERROR(ValueError, receive.wrong);
  return receive.done;
}

/// A rank is asked for a message only where one has come: a receive cannot be taken back.
void Mailboxes::look_for_any(const Receive& receive) {
  for (auto& [source, box] : boxes_) {
    if (box.under_way()) box.step();
  }
  for (int i = 0; i < ranks_ && !receive.done; ++i) {
    int source = kAnySource;
    check(mtIProbe(MT_ANY_PEER, comm_, &source), "recv", comm_);
    if (source == kAnySource) return;
    box_of(source).open();
  }
}

}  // namespace multitree_torch

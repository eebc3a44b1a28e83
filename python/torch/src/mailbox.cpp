// SPDX-License-Identifier: BSD-3-Clause
#include "mailbox.hpp"

#include <algorithm>
#include <cstring>

#include "library.hpp"

namespace multitree_torch {
namespace {

class Awaited final : public Pending {
 public:
  Awaited(std::shared_ptr<Mailbox> box, std::shared_ptr<Receive> receive,
          std::shared_ptr<std::mutex> mutex)
      : box_(std::move(box)), receive_(std::move(receive)), mutex_(std::move(mutex)) {}
  bool test() override {
    const std::lock_guard lock(*mutex_);
    if (!receive_->done) box_->step();
    if (!receive_->wrong.empty()) C10_THROW_ERROR(ValueError, receive_->wrong);
    return receive_->done;
  }

 private:
  std::shared_ptr<Mailbox> box_;
  std::shared_ptr<Receive> receive_;
  std::shared_ptr<std::mutex> mutex_;
};

}  // namespace

void Mailbox::give(Receive& receive, const at::Tensor& bytes) {
  const std::size_t room = bytes_of(receive.buffer), found = bytes_of(bytes);
  if (room != found) {
    receive.wrong = "recv: expected " + std::to_string(room) + " bytes with tag " +
                    std::to_string(receive.tag) + ", found " + std::to_string(found) +
                    "; both ends need tensors of one size and type";
  } else if (found != 0) {
    std::memcpy(receive.buffer.data_ptr(), bytes.data_ptr(), found);
  }
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

void Mailbox::post(const std::shared_ptr<Receive>& receive) {
  if (!take_parcel(*receive)) posted_.push_back(receive);
}

void Mailbox::await(void* memory, std::size_t bytes, State state) {
  mtRequest_t request = nullptr;
  check(mtIRecv(memory, bytes, mtUint8, source_, comm_, nullptr, &request), "recv", comm_);
  request_ = std::make_unique<Requests>(std::vector<mtRequest_t>{request}, "recv", comm_);
  state_ = state;
}

void Mailbox::open_parcel() {
  const auto it = std::find_if(posted_.begin(), posted_.end(),
                               [&](const auto& receive) { return receive->tag == header_.tag; });
  target_ = nullptr;
  if (it != posted_.end()) {
    target_ = *it;
    posted_.erase(it);
    if (bytes_of(target_->buffer) == header_.bytes) {
      return await(target_->buffer.data_ptr(), header_.bytes, State::Body);
    }
  }
  body_ = at::empty({static_cast<std::int64_t>(header_.bytes)}, at::kByte);
  await(body_.data_ptr(), header_.bytes, State::Body);
}

void Mailbox::deliver() {
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

void Mailbox::step() {
  while (true) {
    if (state_ == State::Idle) {
      if (posted_.empty()) return;
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

std::unique_ptr<Pending> Mailboxes::receive(int source, int tag, const at::Tensor& buffer) {
  const std::lock_guard lock(*mutex_);
  std::shared_ptr<Mailbox>& box = boxes_[source];
  if (box == nullptr) box = std::make_shared<Mailbox>(comm_, source);
  auto receive = std::make_shared<Receive>(Receive{tag, buffer});
  box->post(receive);
  return std::make_unique<Awaited>(box, receive, mutex_);
}

}  // namespace multitree_torch

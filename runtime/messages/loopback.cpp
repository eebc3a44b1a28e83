// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Messages between threads of one process: an inbox per rank, guarded by a mutex.
#include "runtime/messages/loopback_internal.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <random>
#include <thread>
#include <unordered_map>

#include "topologies/error.hpp"

namespace multitree::runtime {
namespace {

constexpr std::size_t kEagerBytes = 8192;

/// A large message waiting in its sender's memory. The mutex orders the receiver's copy against the
/// sender's cancellation: after abort() the buffer is not read any more.
struct Offer {
  std::mutex mutex;
  bool cancelled = false;
  const void* data = nullptr;
  Seat from{};
  Completion* completion = nullptr;  ///< the sender's; touched by its thread only
};

struct Message {
  std::uint64_t key = 0;  ///< sender and tag
  std::size_t bytes = 0;
  std::vector<std::byte> copy;   ///< small messages
  std::shared_ptr<Offer> offer;  ///< large ones
};

struct Inbox {
  std::mutex mutex;
  std::vector<Message> messages;
  std::vector<std::shared_ptr<Offer>> taken;  ///< offers of this rank that a receiver has copied
};

struct Hub {
  explicit Hub(std::uint32_t ranks) : inboxes(ranks) {}
  [[nodiscard]] Inbox& inbox_of(Seat seat) { return inboxes[index(seat)]; }
  std::vector<Inbox> inboxes;
};

/// Hubs of this process that are being joined, by the name that rank 0 hands out.
class Directory {
 public:
  static Directory& instance() {
    static Directory& directory = *new Directory;  // never destroyed: threads may use it
    return directory;
  }
  std::string add(const std::shared_ptr<Hub>& hub) {
    const std::scoped_lock lock(mutex_);
    // The process id tells a fork from its parent, the nonce equal ids in different namespaces.
    std::string name = fmt::format("loopback {} {} {}", ::getpid(), nonce_, next_++);
    hubs_[name] = hub;
    return name;
  }
  std::shared_ptr<Hub> find(const std::string& name) {
    const std::scoped_lock lock(mutex_);
    const auto it = hubs_.find(name);
    return it == hubs_.end() ? nullptr : it->second.lock();
  }
  void remove(const std::string& name) {
    const std::scoped_lock lock(mutex_);
    hubs_.erase(name);
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<Hub>> hubs_;
  std::uint64_t next_ = 0;
  std::uint64_t nonce_ = std::random_device{}();
};

std::uint64_t key_of(Seat from, std::uint64_t tag) {
  return (std::uint64_t{index(from)} << kTagBits) | tag;
}

class Loopback final : public Transport {
 public:
  Loopback(std::shared_ptr<Hub> hub, Seat self) : hub_(std::move(hub)), self_(self) {}
  ~Loopback() override { abort(); }

  void send(Seat peer, std::uint64_t tag, const void* data, std::size_t bytes,
            Completion& completion) override {
    Message message{key_of(self_, tag), bytes, {}, {}};
    completion.state = Completion::State::Pending;
    if (bytes <= kEagerBytes) {
      message.copy.resize(bytes);
      if (bytes != 0) std::memcpy(message.copy.data(), data, bytes);
    } else {
      message.offer = std::make_shared<Offer>();
      message.offer->data = data;
      message.offer->from = self_;
      message.offer->completion = &completion;
      offers_.push_back(message.offer);
    }
    const bool eager = message.offer == nullptr;
    {
      Inbox& inbox = hub_->inbox_of(peer);
      const std::scoped_lock lock(inbox.mutex);
      inbox.messages.push_back(std::move(message));
    }
    if (eager) completion.complete();
  }

  void receive(Seat peer, std::uint64_t tag, void* data, std::size_t bytes,
               Completion& completion) override {
    completion.state = Completion::State::Pending;
    const Posted posted{data, bytes, &completion};
    const std::uint64_t key = key_of(peer, tag);
    const auto it = unexpected_.find(key);
    if (it == unexpected_.end()) {
      posted_[key].push_back(posted);
      return;
    }
    const Message message = std::move(it->second.front());
    it->second.pop_front();
    if (it->second.empty()) unexpected_.erase(it);
    deliver(message, posted);
  }

  [[nodiscard]] bool has_come(Seat peer, std::uint64_t tag) const override {
    return unexpected_.contains(key_of(peer, tag));
  }

  bool progress() override {
    arrived_.clear();
    taken_.clear();
    {
      Inbox& inbox = hub_->inbox_of(self_);
      const std::scoped_lock lock(inbox.mutex);
      arrived_.swap(inbox.messages);
      taken_.swap(inbox.taken);
    }
    for (Message& message : arrived_) match(std::move(message));
    for (const std::shared_ptr<Offer>& offer : taken_) {
      std::erase(offers_, offer);
      offer->completion->complete();
    }
    return !arrived_.empty() || !taken_.empty();
  }

  bool drain(Deadline deadline) override {
    const auto until = std::chrono::steady_clock::now() + deadline;
    while (!offers_.empty()) {
      if (std::chrono::steady_clock::now() >= until) return false;
      if (!progress()) std::this_thread::yield();
    }
    return true;
  }

  void abort() override {
    for (const std::shared_ptr<Offer>& offer : offers_) {
      const std::scoped_lock lock(offer->mutex);
      offer->cancelled = true;
    }
    offers_.clear();
    posted_.clear();
    unexpected_.clear();
  }

  [[nodiscard]] TransportLimits limits() const override { return {.keeps_at_sender = true}; }
  [[nodiscard]] std::string describe() const override { return "loopback (threads)"; }

 private:
  struct Posted {
    void* data;
    std::size_t bytes;
    Completion* completion;
  };

  void match(Message message) {
    const auto it = posted_.find(message.key);
    if (it == posted_.end()) {
      unexpected_[message.key].push_back(std::move(message));
      return;
    }
    const Posted posted = it->second.front();
    it->second.pop_front();
    if (it->second.empty()) posted_.erase(it);
    deliver(message, posted);
  }

  void deliver(const Message& message, const Posted& posted) {
    if (!posted.completion->takes(message.bytes, posted.bytes)) {
      if (message.bytes < posted.bytes && message.offer == nullptr && message.bytes != 0) {
        std::memcpy(posted.data, message.copy.data(), message.bytes);
      }
      posted.completion->fail_length(
          message.bytes,
          fmt::format("message of {} bytes where {} were expected", message.bytes, posted.bytes));
      return;
    }
    if (message.offer == nullptr) {
      if (message.bytes != 0) std::memcpy(posted.data, message.copy.data(), message.bytes);
    } else {
      Offer& offer = *message.offer;
      {
        const std::scoped_lock lock(offer.mutex);
        if (offer.cancelled) return;  // the sender has given up; it says why through the bootstrap
        std::memcpy(posted.data, offer.data, message.bytes);
      }
      Inbox& inbox = hub_->inbox_of(offer.from);
      const std::scoped_lock lock(inbox.mutex);
      inbox.taken.push_back(message.offer);
    }
    posted.completion->complete(message.bytes);
  }

  std::shared_ptr<Hub> hub_;
  Seat self_;
  std::unordered_map<std::uint64_t, std::deque<Posted>> posted_;
  std::unordered_map<std::uint64_t, std::deque<Message>> unexpected_;
  std::vector<std::shared_ptr<Offer>> offers_;
  std::vector<Message> arrived_;
  std::vector<std::shared_ptr<Offer>> taken_;
};

}  // namespace

std::unique_ptr<Transport> make_loopback(Bootstrap& bootstrap, const TransportOptions& options) {
  std::shared_ptr<Hub> hub;
  std::string mine;
  if (bootstrap.seat() == Seat{0}) {
    hub = std::make_shared<Hub>(bootstrap.size());
    mine = Directory::instance().add(hub);
  }
  const std::string name = bootstrap.all_gather(mine, options.deadline)[0];
  if (bootstrap.seat() != Seat{0}) hub = Directory::instance().find(name);
  // Rank 0 takes the name down only when everybody has looked it up; and everybody learns of a rank
  // that did not find it.
  const auto found = bootstrap.all_gather(hub ? "yes" : "no", options.deadline);
  if (bootstrap.seat() == Seat{0}) Directory::instance().remove(name);
  for (const Seat seat : Seats(bootstrap.size())) {
    if (found[index(seat)] != "yes") {
      throw Error(ErrorCode::InvalidArgument,
                  fmt::format("loopback joins threads of one process, but rank {} is in another "
                              "process than rank 0; use ucx",
                              seat));
    }
  }
  return std::make_unique<Loopback>(std::move(hub), bootstrap.seat());
}

}  // namespace multitree::runtime

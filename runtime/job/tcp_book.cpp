// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// An address book that the coordinator keeps, asked over a line of its own.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "runtime/job/patience_internal.hpp"
#include "runtime/job/tcp_job_internal.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime {
namespace {

/// How often a wait looks whether it was cancelled, and how long the coordinator may take to say
/// for whom it waits.
constexpr std::chrono::milliseconds kBookLook{20};
constexpr std::chrono::seconds kMissingPatience{1};

class TcpBook final : public AddressBook {
 public:
  TcpBook(JobLine line, const TcpOptions& options, Deadline deadline)
      : line_(std::move(line)),
        self_(options.seat),
        coordinator_name_(options.coordinator_name),
        cancellation_(options.cancellation),
        deadline_(deadline) {}

  const std::string& of(Seat seat) override {
    if (const auto known = entries_.find(seat); known != entries_.end()) return known->second;
    line_.send(FrameType::LookUp, Writer().number(index(seat)).bytes());
    Patience patience(deadline_);
    while (true) {
      const bool open = line_.fill() == Channel::Status::Open;
      if (const auto frame = line_.next()) return add(seat, *frame);
      if (!open) fail(ErrorCode::Transport, seat, "cannot be asked any more");
      if (cancellation_.requested()) fail(ErrorCode::Transport, seat, "was not asked: aborted");
      if (patience.is_over()) fail(ErrorCode::Timeout, seat, "did not answer");
      line_.wait(std::min(patience.left(), kBookLook));
    }
  }

  /// What the coordinator has said at first.
  void add(std::span<const Seat> seats, const std::string& entries) {
    Reader reader(entries);
    for (const Seat seat : seats) entries_.emplace(seat, reader.text().value_or(""));
  }
  [[nodiscard]] JobLine& line() { return line_; }

 private:
  const std::string& add(Seat seat, const Frame& frame) {
    Reader reader(frame.payload);
    const auto whose = reader.number();
    auto entry = reader.text();
    if (frame.type != FrameType::Entry || whose != index(seat) || !entry) {
      fail(ErrorCode::Transport, seat, "has sent an invalid message");
    }
    return entries_[seat] = std::move(*entry);
  }
  [[noreturn]] void fail(ErrorCode code, Seat seat, std::string_view how) const {
    throw Error(code, fmt::format("rank {}: the address of rank {}: {} {}", self_, seat,
                                  coordinator_name_, how));
  }

  JobLine line_;
  Seat self_;
  std::string coordinator_name_;
  Cancellation cancellation_;
  Deadline deadline_;
  std::map<Seat, std::string> entries_;
};

}  // namespace

std::unique_ptr<AddressBook> Tcp::open_book(const std::string& entry, std::span<const Seat> wanted,
                                            Deadline deadline) {
  check_failure();
  constexpr std::uint64_t kBooks = ~std::uint64_t{0};  // no part is called so
  auto book = std::make_unique<TcpBook>(JobLine(channel_.trunk(), number_of({kBooks, books_++})),
                                        options_, deadline);
  JobLine& line = book->line();
  // A neighbour on both sides is wanted twice, and told of once.
  const std::set<Seat> each(wanted.begin(), wanted.end());
  const std::vector<Seat> asked_for(each.begin(), each.end());
  Writer words;
  words.number(options_.size).number(index(options_.seat)).text(entry);
  for (const Seat seat : asked_for) words.number(index(seat));
  line.send(FrameType::OpenBook, words.bytes());
  Patience patience(deadline);
  bool asked = false;
  while (true) {
    receive();
    const bool open = line.fill() == Channel::Status::Open;
    const auto frame = line.next();
    if (frame && frame->type == FrameType::Book) {
      book->add(asked_for, frame->payload);
      return book;
    }
    if (frame) fail_in_time(deadline, frame->payload);
    check_failure();
    if (!open) refuse(options_.coordinator_name + " keeps no address book");
    if (patience.is_over()) {
      if (std::exchange(asked, true)) fail_in_time(deadline, std::nullopt);
      line.send(FrameType::WhoIsMissing, {});
      patience = Patience(kMissingPatience);
    }
    line.wait(std::min(patience.left(), kBookLook));
  }
}

}  // namespace multitree::runtime

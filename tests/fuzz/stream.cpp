// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The streams of data from one rank over two cables, whatever they are, with receives posted
/// between their pieces.
#include <vector>

#include "runtime/messages/tcp/incoming_internal.hpp"
#include "runtime/messages/tcp/outgoing_internal.hpp"
#include "sockets.hpp"

using namespace multitree;
using namespace multitree::runtime;

namespace {

constexpr std::size_t kReceives = 8, kBytes = 64;

struct Receiver {
  std::array<std::array<char, kBytes>, kReceives> memory{};
  std::array<Completion, kReceives> completions;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Bytes bytes(data, size);
  Receiver receiver;
  fuzz::Ends ends, beside;
  tcp::Outgoing outgoing(std::size_t{64} << bytes.below(16));
  tcp::Incoming incoming(Seat{1}, outgoing);
  tcp::Outgoing further(outgoing);
  tcp::Incoming parts(Seat{1}, further, incoming);
  outgoing.share_by({1, 1});
  // Nobody here has the key: whatever comes then is no record.
  const bool sealed = bytes.below(4) == 0;
  if (sealed) {
    incoming.open_with(std::make_unique<tcp::SealedReader>(fuzz::key()));
    outgoing.seal_with(std::make_unique<tcp::SealedWriter>(fuzz::key()));
  }
  Completion sent;
  const std::array<char, 1024> message{};  // more than goes unasked at any credit
  outgoing.send(1, message.data(), message.size(), sent);
  std::size_t posted = 0;
  std::string why;
  while (!bytes.empty()) {
    if (posted < kReceives && bytes.below(2) == 0) {
      Completion& completion = receiver.completions[posted];
      completion.or_less = bytes.below(2) == 0;
      const std::uint64_t tag = bytes.below(4);
      incoming.receive(tag, receiver.memory[posted].data(), bytes.below(kBytes + 1), completion);
      ++posted;
    }
    fuzz::say(bytes.below(4) == 0 ? beside.far : ends.far, bytes.text());
    if (incoming.read(ends.near.fd(), why) == tcp::Moved::Over) break;
    if (parts.read(beside.near.fd(), why) == tcp::Moved::Over) break;
    if (outgoing.write(ends.near.fd(), why) == tcp::Moved::Over) break;
    if (further.write(beside.near.fd(), why) == tcp::Moved::Over) break;
  }
  parts.fail("the end");
  incoming.fail("the end");
  further.fail("the end");
  outgoing.fail("the end");
  for (std::size_t i = 0; i < posted; ++i) {
    const Completion::State state = receiver.completions[i].state;
    fuzz::expect(state != Completion::State::Idle, "a receive that nobody knows of");
    fuzz::expect(!sealed || state == Completion::State::Failed, "a message that nobody sealed");
  }
  return 0;
}

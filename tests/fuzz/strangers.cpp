// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Bytes from somebody who does not know the key: at the door of a coordinator, in the place of a
/// coordinator, and at the door for data.
#include "runtime/messages/tcp/handshake_internal.hpp"
#include "sockets.hpp"

using namespace multitree;
using namespace multitree::runtime;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return fuzz::read(data, size, [](std::string_view text) {
    for (const Channel::Side side : {Channel::Side::Acceptor, Channel::Side::Caller}) {
      fuzz::Ends ends;
      Channel channel(std::move(ends.near), fuzz::key(), side);
      fuzz::say(ends.far, text);
      ends.far.close();
      static_cast<void>(channel.fill());
      fuzz::expect(!channel.known() && !channel.next(), "a stranger was let in");
    }
    fuzz::Ends ends;
    fuzz::say(ends.far, text);
    tcp::Guest guest(std::move(ends.near));
    const tcp::Guest::Step step = guest.go_on(Seat{0}, tcp::make_secret(), 4);
    fuzz::expect(step != tcp::Guest::Step::Known, "a guest was let in");
  });
}

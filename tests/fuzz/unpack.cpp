// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What ranks pack for each other, unpacked by those who get it.
#include <fmt/format.h>

#include "fuzz.hpp"
#include "runtime/execution/plan_vote_internal.hpp"
#include "runtime/job/assembly_internal.hpp"
#include "runtime/job/blame_internal.hpp"
#include "runtime/job/runs_internal.hpp"
#include "runtime/messages/auto_internal.hpp"
#include "runtime/messages/encryption_internal.hpp"
#include "runtime/messages/network/heartbeat_internal.hpp"
#include "runtime/messages/network/watch_internal.hpp"
#include "runtime/messages/tcp/entrance_internal.hpp"
#include "runtime/tuning.hpp"

using namespace multitree;
using namespace multitree::runtime;

namespace {

/// The other ranks of a job of two have said this.
class Told final : public Bootstrap {
 public:
  explicit Told(std::string blob) : blob_(std::move(blob)) {}
  [[nodiscard]] Seat seat() const override { return Seat{1}; }
  [[nodiscard]] std::uint32_t size() const override { return 2; }
  Gathered gather(const std::string& blob, Deadline /*deadline*/,
                  const Meanwhile& /*meanwhile*/) override {
    return Gathered({blob_, blob});
  }
  std::optional<std::string> failure() override { return std::nullopt; }
  void report_failure(const std::string& /*reason*/) override {}
  void report_dead_links(std::span<const Seat> /*peers*/, std::span<const Seat> /*left*/,
                         const std::string& /*reason*/) override {}
  [[nodiscard]] std::optional<runtime::DeadLink> dead_link() override { return std::nullopt; }
  [[nodiscard]] std::optional<Seat> lost_seat() override { return std::nullopt; }
  void say(const std::string& /*words*/) override {}
  void hear_with(Listener /*listener*/) override {}
  Shrunk shrink(Deadline /*deadline*/, std::span<const Seat> /*without*/) override { return {}; }
  [[nodiscard]] NewPart part(std::uint64_t /*which*/, std::span<const Seat> /*members*/) override {
    return {};
  }
  [[nodiscard]] std::string describe() const override { return "fuzzing"; }

 private:
  std::string blob_;
};

using Unpack = void (*)(const std::string& text);
constexpr Unpack kUnpack[] = {
    [](const std::string& text) {
      if (const auto standing = unpack_standing(text)) {
        fuzz::expect(unpack_standing(pack(*standing)).has_value(), "packed, and not unpacked");
      }
    },
    [](const std::string& text) {
      if (const auto door = unpack_door(text, 1)) static_cast<void>(ways_to(*door));
    },
    [](const std::string& text) {
      fuzz::expect(unpack_runs(text, 3).size() == 3, "not as many as were asked for");
    },
    [](const std::string& text) {
      const tcp::Entrance there = tcp::unpack_entrance(text);
      static_cast<void>(tcp::routes_to(there, Host{}, std::nullopt));
    },
    [](const std::string& text) {
      const Host host = unpack_host(text);
      fuzz::expect(unpack_host(pack(host)) == host, "unpacked as another host");
      static_cast<void>(choose_ways({host, Host{"b", true, {}}, host}, Seat{0}));
    },
    [](const std::string& text) { static_cast<void>(unpack_heartbeat(text)); },
    [](const std::string& text) {
      PlanVote vote(2);
      for (const Seat seat : {Seat{0}, Seat{1}, Seat{0}}) vote.hear(seat, text);
      fuzz::expect(vote.around().size() <= 1, "links that two ranks do not have");
    },
    [](const std::string& text) { static_cast<void>(find_address(text, "tcp")); },
    [](const std::string& text) { static_cast<void>(read_hello(text)); },
    [](const std::string& text) {
      static_cast<void>(agreed_transport(Gathered({text, text})));
    },
    [](const std::string& text) {
      static_cast<void>(agreed_encryption(std::vector<std::string>{text, text}));
    },
    [](const std::string& text) {
      Told job(text);
      const Collective collectives[] = {Collective::AllReduce};
      try {
        static_cast<void>(choose_specs_together(
            job, collectives, [](Collective) { return std::vector<SizedSpec>{}; }, Deadline{1}));
      } catch (const Error&) {
        // In the words of the other rank, whatever they are.
      }
    },
    [](const std::string& text) {
      const auto there = unpack_whereabouts(text);
      if (!there) return;
      fuzz::expect(unpack_whereabouts(pack(*there)).has_value(), "packed, and not unpacked");
      const Sighting ranks[] = {{.call = there}, {}, {.at_barrier = true}};
      static_cast<void>(blame(ranks));
    },
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const Unpack unpack = kUnpack[data[0] % std::size(kUnpack)];
  return fuzz::read(data + 1, size - 1, [&](std::string_view text) { unpack(std::string(text)); });
}

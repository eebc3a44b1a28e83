// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Frames of a neighbour with one bit wrong, or cut off: they are counted, and nothing of them is
/// taken. The same with flits and items in frames whose CRC is right, as of a node that is broken
/// itself: they end the job with words.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "algorithms/registry.hpp"
#include "nic/hardware.hpp"
#include "rtl/sim/data.hpp"
#include "rtl/wire/job.hpp"
#include "rtl/wire/station.hpp"
#include "rtl/wire/worm.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"

namespace multitree::rtl {
namespace {

using Bytes = std::vector<std::byte>;
using namespace std::chrono_literals;

constexpr std::uint32_t kJob = 7;
constexpr std::uint64_t kElements = 64;

/// What both of two ranks in software know, and the wires between them.
struct Pair {
  Pair() { run_schedule(schedule, HardwareType::Fp32, expected); }

  Topology topology = make_topology("mesh:2");
  Schedule schedule = make_schedule("multitree", topology);
  nic::Tables tables = nic::compile_tables(schedule, topology, {.elements = kElements});
  nic::Parameters parameters = nic::as_hardware({});
  Places places{parameters.virtual_channels, parameters.buffer_flits};
  Collective collective{.tables = tables, .parameters = parameters, .step_lengths = {}};
  Buffers inputs = make_inputs(2, kElements, HardwareType::Fp32), expected = inputs;
  MemoryWires wires{std::array<std::uint16_t, 2>{0, 1}};

  Cables* of_last = nullptr;  ///< those of the rank that was started last

  std::unique_ptr<Station> start(std::uint16_t rank, std::uint32_t job = kJob) {
    auto cables = std::make_unique<Cables>(
        make_cables(topology, topology.node_of(Rank{rank}), job, 1500, places));
    of_last = cables.get();
    auto endpoint = make_software_endpoint({topology, collective, Rank{rank}, *cables});
    std::ranges::copy(inputs[rank], endpoint->buffer().begin());
    endpoint->start();
    return std::make_unique<Station>(std::move(endpoint), std::move(cables), wires.port(rank), job);
  }
};

Bytes bytes_of(std::span<const std::byte> span) { return {span.begin(), span.end()}; }

/// Rank 0, which waits for the only frame of rank 1.
struct Waiting : Pair {
  Waiting() {
    one->turn();
    good = bytes_of(wires.port(0)->receive());
    zero->turn();
  }

  std::unique_ptr<Station> zero = start(0), one = start(1);
  Bytes good;

  /// \returns whether rank 0 is as it was
  bool hears(const Bytes& frame) {
    wires.port(1)->send({1, 0, 0}, frame);
    zero->turn();
    const auto buffer = zero->endpoint().buffer();
    return !zero->endpoint().is_done() && std::ranges::equal(buffer, inputs[0]);
  }
};

TEST(BrokenFrames, AreCountedAndNotTaken) {
  Waiting job;
  ASSERT_GT(job.good.size(), kFrameHeader + flit_item());
  std::uint64_t bad = 0;
  for (std::size_t bit = 0; bit < job.good.size() * 8; ++bit) {
    Bytes frame = job.good;
    frame[bit / 8] ^= std::byte{1} << (bit % 8);
    ASSERT_TRUE(job.hears(frame)) << bit;
    ASSERT_EQ(job.zero->bad_frames(), ++bad) << bit;
  }
  for (std::size_t size = 1; size < job.good.size(); ++size) {
    ASSERT_TRUE(job.hears(bytes_of(std::span(job.good).first(size)))) << size;
    ASSERT_EQ(job.zero->bad_frames(), ++bad) << size;
  }
  EXPECT_EQ(job.zero->endpoint().error(), "");
  // Nothing of all that is in the way of the good one.
  EXPECT_FALSE(job.hears(job.good));
  const auto end = Station::Clock::now() + 10s;
  while (!(job.zero->endpoint().is_done() && job.one->endpoint().is_done())) {
    ASSERT_LT(Station::Clock::now(), end);
    job.one->turn();
    job.zero->turn();
  }
  const Buffers got{bytes_of(job.zero->endpoint().buffer()),
                    bytes_of(job.one->endpoint().buffer())};
  EXPECT_EQ(find_difference(job.schedule, HardwareType::Fp32, job.expected, got), "");
}

/// Items of the good frame, its CRC right again.
Bytes with_items(const Bytes& good, std::span<const std::byte> items) {
  Frame frame = *decode(good);
  frame.items = items;
  return encode(frame);
}

TEST(BrokenFrames, FlitsWithAWrongBitAreReported) {
  const Bytes items = bytes_of(decode(Waiting().good)->items);
  ASSERT_EQ(items.size() % flit_item(), 0U);
  for (std::size_t at = 0; at < items.size(); at += flit_item()) {
    for (std::size_t bit = 8; bit < 8 + mt_pkg::kFlitBits; ++bit) {  // behind the virtual channel
      Bytes wrong = items;
      wrong[at + bit / 8] ^= std::byte{1} << (bit % 8);
      Waiting job;
      ASSERT_TRUE(job.hears(with_items(job.good, wrong))) << at << " " << bit;
      ASSERT_EQ(job.zero->endpoint().error(), "corrupt flit at port 0") << at << " " << bit;
    }
  }
}

TEST(BrokenFrames, ItemsThatAreCutOffAreReported) {
  const Bytes items = bytes_of(decode(Waiting().good)->items);
  for (std::size_t size = 0; size < items.size(); ++size) {
    Waiting job;
    const Bytes frame = with_items(job.good, std::span(items).first(size));
    if (size % flit_item() == 0) {
      EXPECT_TRUE(job.hears(frame)) << size;  // it may still get the rest
      continue;
    }
    try {
      job.hears(frame);
      ADD_FAILURE() << "expected an error of " << size << " bytes";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("credits from rank 1"), std::string::npos)
          << error.what();
    }
  }
}

/// Whatever bit of its numbers is wrong, a frame is taken in its turn or not at all.
TEST(BrokenFrames, NumbersWithAWrongBitTakeNothing) {
  for (std::uint32_t bit = 0; bit < 32; ++bit) {
    Waiting job;
    Frame frame = *decode(job.good);
    frame.sequence ^= 1U << bit;
    EXPECT_TRUE(job.hears(encode(frame))) << bit;
    frame = *decode(job.good);
    frame.job ^= 1U << bit;
    EXPECT_TRUE(job.hears(encode(frame))) << bit;
    frame = *decode(job.good);
    frame.ack = 2U << (bit % 30);  // rank 0 has sent one frame
    EXPECT_THROW(job.hears(encode(frame)), Error) << bit;
  }
}

/// Frames of rank 0, in whose thread rank 1 works as well. Once that is done, it sends a flit with
/// a wrong bit.
class Beside final : public FramePort {
 public:
  Beside(Pair& pair, std::uint32_t job)
      : one_(pair.start(1, job)), cable_(pair.of_last->all.front()), port_(pair.wires.port(0)) {}

  std::span<const std::byte> receive() override {
    if (one_->endpoint().is_done() && !is_broken_) {
      LinkFlit flit = make_flit({}, true, false);
      flit.bits[0] ^= 1;
      cable_.put_flit(flit);
      is_broken_ = true;
    }
    one_->turn();
    return port_->receive();
  }
  void send(const Way& way, std::span<const std::byte> frame) override { port_->send(way, frame); }
  void wait(std::chrono::milliseconds) override {}

 private:
  std::unique_ptr<Station> one_;
  Cable& cable_;
  std::unique_ptr<FramePort> port_;
  bool is_broken_ = false;
};

/// A rank that is done still carries what others send each other. When it cannot, it says why at
/// once, long before all others are done or it would have waited long enough for them.
TEST(BrokenFrames, AreReportedByARankThatIsDone) {
  Pair pair;
  const auto bootstraps = runtime::make_in_process_bootstraps(2);
  const WireJob job{.schedule = pair.schedule,
                    .topology = pair.topology,
                    .bytes = kElements * 4,
                    .parameters = pair.parameters,
                    .is_hardware = {false, false},
                    .timeout = 60s};
  const auto end = Station::Clock::now() + 20s;
  std::optional<std::string> heard;
  std::jthread other([&] {
    bootstraps[1]->barrier(10s);  // and it never says that it is done
    while (!(heard = bootstraps[1]->failure()) && Station::Clock::now() < end) {
      std::this_thread::sleep_for(1ms);
    }
  });
  try {
    run_on_wires(job, *bootstraps[0], 1500, [&](const Neighbourhood& around) {
      return std::make_unique<Beside>(pair, around.job);
    });
    ADD_FAILURE() << "expected an error";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()), "rank 0: its interface: corrupt flit at port 0");
    bootstraps[0]->report_failure(error.what());
  }
  other.join();
  ASSERT_TRUE(heard) << "expected it to be told before 20 s";
  EXPECT_NE(heard->find("corrupt flit at port 0"), std::string::npos) << *heard;
}

}  // namespace
}  // namespace multitree::rtl

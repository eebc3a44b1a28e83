// SPDX-License-Identifier: BSD-3-Clause
#include "rtl/sim/axi_slave.hpp"

#include <svdpi.h>

#include <algorithm>
#include <stdexcept>
#include <string>

#include "generated/mt_pkg.hpp"
#include "rtl/sim/memory.hpp"

namespace multitree::rtl {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint32_t kWholePart = (1U << Memory::kPartBytes) - 1;
constexpr std::uint32_t kBesideW = mt_pkg::kAddrW;  // log2 of the bytes of a turn

[[noreturn]] void refuse(const std::string& what) { throw std::logic_error("AXI4: " + what); }

}  // namespace

AxiSlave::AxiSlave(Memory& memory, const AxiTiming& timing)
    : memory_(memory), word_(memory.word_bytes()), timing_(timing), random_(timing.seed) {}

/// Turn and offset of an address, as Memory has them.
std::pair<std::uint32_t, std::uint32_t> AxiSlave::place_of(std::uint64_t addr) const {
  if (addr < kAxiBeside) return {0, static_cast<std::uint32_t>(addr - buffer())};
  const std::uint64_t beside = addr - kAxiBeside;
  return {static_cast<std::uint32_t>(beside >> kBesideW) + 1,
          static_cast<std::uint32_t>(beside & ((std::uint64_t{1} << kBesideW) - 1))};
}

AxiSlave::Burst AxiSlave::burst_of(std::uint64_t addr, std::uint32_t len, std::uint64_t number,
                                   std::uint64_t bad) {
  const std::uint64_t bytes = (std::uint64_t{len} + 1) * word_;
  if (addr % word_ != 0) refuse("an address that is not of a word: " + std::to_string(addr));
  if (addr / kPage != (addr + bytes - 1) / kPage) {
    refuse("a burst across 4 KiB at " + std::to_string(addr));
  }
  if (addr < buffer()) refuse("an address below the buffer: " + std::to_string(addr));
  return {.addr = addr, .words = len + 1, .early = random_() % 2 == 0, .bad = number == bad};
}

AxiWord AxiSlave::get(std::uint64_t addr) {
  const auto [turn, offset] = place_of(addr);
  AxiWord word{};
  for (std::uint32_t b = 0; b < word_; b += Memory::kPartBytes) {
    memory_.read(turn, offset + b, &word[b / 4]);
  }
  return word;
}

void AxiSlave::put(const Burst& burst, std::uint32_t word) {
  if (burst.bad) return;
  const auto [turn, offset] = place_of(burst.addr + word * word_);
  for (std::uint32_t b = 0; b < word_; b += Memory::kPartBytes) {
    memory_.write(turn, offset + b, burst.strobes[word] >> b & kWholePart,
                  &burst.data[word][b / 4]);
  }
}

/// A burst that was not to be written early.
void AxiSlave::put_all(Burst& burst) {
  for (std::uint32_t w = 0; !burst.early && w < burst.words; ++w) put(burst, w);
  burst.early = true;
}

/// What both sides have said goes over.
void AxiSlave::accept(const AxiMaster& master) {
  if (master.awvalid && answer_.awready) {
    writes_.push_back(burst_of(master.awaddr, master.awlen, num_writes_, timing_.bad_write));
    ++num_writes_;
  }
  if (master.wvalid && answer_.wready) {
    beats_.push_back({master.wdata, master.wstrb, master.wlast});
  }
  if (master.arvalid && answer_.arready) {
    Burst burst = burst_of(master.araddr, master.arlen, num_reads_, timing_.bad_read);
    ++num_reads_;
    words_read_ += burst.words;
    burst.due = now_ + timing_.latency + random_() % (timing_.jitter + 1);
    for (std::uint32_t w = 0; burst.early && w < burst.words; ++w) {
      burst.data.push_back(get(burst.addr + w * word_));
    }
    if (master.arid >= kIds) refuse("an id that there is not: " + std::to_string(master.arid));
    reads_[master.arid].push_back(std::move(burst));
  }
  if (master.bready && answer_.bvalid) answer_.bvalid = false;
  if (master.rready && answer_.rvalid) answer_.rvalid = false;
}

/// Words on W belong to bursts in the order of AW.
void AxiSlave::take_words() {
  while (!writes_.empty() && !beats_.empty()) {
    Burst& burst = writes_.front();
    const Beat& beat = beats_.front();
    burst.data.push_back(beat.data);
    burst.strobes.push_back(beat.strobes);
    if (beat.last != (burst.data.size() == burst.words)) refuse("WLAST at the wrong word");
    if (burst.early) {
      for (Burst& before : written_) put_all(before);  // writes of one id keep their order
      put(burst, static_cast<std::uint32_t>(burst.data.size()) - 1);
    }
    if (beat.last) {
      burst.due = now_ + timing_.latency + random_() % (timing_.jitter + 1);
      written_.push_back(std::move(burst));
      writes_.pop_front();
    }
    beats_.pop_front();
  }
}

void AxiSlave::answer_write() {
  if (answer_.bvalid || written_.empty() || written_.front().due > now_ + 1 || !moves()) return;
  Burst& burst = written_.front();
  put_all(burst);
  answer_.bvalid = true;
  answer_.bresp = burst.bad ? kSlaveError : 0;
  written_.pop_front();
}

void AxiSlave::answer_read() {
  if (answer_.rvalid || !moves()) return;
  std::uint32_t due = 0, chosen = kIds;
  for (std::uint32_t id = 0; id < kIds; ++id) {
    if (reads_[id].empty() || reads_[id].front().due > now_ + 1) continue;
    if (random_() % ++due == 0) chosen = id;
  }
  if (chosen == kIds) return;
  Burst& burst = reads_[chosen].front();
  answer_.rvalid = true;
  answer_.rid = chosen;
  answer_.rdata = burst.early ? burst.data[burst.at] : get(burst.addr + burst.at * word_);
  answer_.rresp = burst.bad ? kSlaveError : 0;
  answer_.rlast = ++burst.at == burst.words;
  if (answer_.rlast) reads_[chosen].pop_front();
}

const AxiAnswer& AxiSlave::tick(const AxiMaster& master) {
  accept(master);
  take_words();
  answer_write();
  answer_read();
  // Whom it waits for, if for anybody.
  const bool waits_for_w = timing_.seed % 3 == 1, waits_for_aw = timing_.seed % 3 == 2;
  answer_.arready = moves();
  answer_.awready = moves() && (!waits_for_w || !beats_.empty() || master.wvalid);
  answer_.wready = moves() && (!waits_for_aw || !writes_.empty());
  ++now_;
  return answer_;
}

}  // namespace multitree::rtl

extern "C" void mt_axi_tick(int handle, int port, svBit awvalid, std::int64_t awaddr, int awlen,
                            svBit wvalid, const svBitVecVal* wdata, std::int64_t wstrb, svBit wlast,
                            svBit bready, svBit arvalid, std::int64_t araddr, int arlen, int arid,
                            svBit rready, int* says, svBitVecVal* rdata) {
  using multitree::rtl::AxiAnswer;
  multitree::rtl::AxiMaster master{.awvalid = awvalid != 0,
                                   .wvalid = wvalid != 0,
                                   .wlast = wlast != 0,
                                   .bready = bready != 0,
                                   .arvalid = arvalid != 0,
                                   .rready = rready != 0,
                                   .awaddr = static_cast<std::uint64_t>(awaddr),
                                   .araddr = static_cast<std::uint64_t>(araddr),
                                   .wstrb = static_cast<std::uint64_t>(wstrb),
                                   .awlen = static_cast<std::uint32_t>(awlen),
                                   .arlen = static_cast<std::uint32_t>(arlen),
                                   .arid = static_cast<std::uint32_t>(arid)};
  std::copy_n(wdata, master.wdata.size(), master.wdata.begin());
  const AxiAnswer& a = multitree::rtl::memory_of(static_cast<std::uint32_t>(handle))
                           .axi(static_cast<std::uint32_t>(port))
                           .tick(master);
  std::copy(a.rdata.begin(), a.rdata.end(), rdata);
  // As mt_axi4_model takes it apart.
  *says = static_cast<int>((a.awready ? 1U : 0U) | (a.wready ? 2U : 0U) | (a.arready ? 4U : 0U) |
                           (a.bvalid ? 8U : 0U) | (a.rvalid ? 16U : 0U) | (a.rlast ? 32U : 0U) |
                           a.bresp << 6 | a.rresp << 8 | a.rid << 10);
}

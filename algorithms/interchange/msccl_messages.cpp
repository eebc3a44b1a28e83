// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Symbolic execution of an MSCCL program.
#include "algorithms/interchange/msccl_messages_internal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

namespace multitree::interchange {
namespace {

constexpr std::uint32_t kNone = UINT32_MAX;

/// What a unit of memory holds: `version` of the value of a unit of the collective's data, or a
/// value that was received and is still to be reduced.
struct Symbol {
  std::uint32_t unit = kNone;  ///< kNone: nothing
  std::uint32_t version = AtomicMessage::kInitial;
  std::uint32_t received_from = kNone;  ///< a rank, if it is still to be reduced
  std::uint32_t sent = kNone;           ///< its place among all sends, then
};

/// The receives ("r") whose data a reduction takes up later: they alone change nothing.
using Staged = std::vector<std::vector<std::vector<bool>>>;

class Execution {
 public:
  /// With `staged` empty it is found out; messages are right only with it.
  Execution(const MscclFile& file, Rank root, const Staged* staged)
      : file_(file), program_(file.program), root_(root), staged_(staged) {
    make_memory();
    make_connections();
  }

  void run() {
    for (std::uint32_t g = 0; g < program_.gpus.size(); ++g) {
      for (std::uint32_t b = 0; b < program_.gpus[g].blocks.size(); ++b) {
        runnable_.emplace_back(g, b);
        while (!runnable_.empty()) {
          const auto [gpu, block] = runnable_.back();
          runnable_.pop_back();
          advance(gpu, block);
        }
      }
    }
    check_finished();
    if (staged_ != nullptr) check_outputs();
  }

  [[nodiscard]] Staged found() && { return std::move(found_); }
  [[nodiscard]] MscclMessages result() && { return std::move(result_); }

 private:
  struct Packet {
    StepId from;
    std::vector<Symbol> symbols;
    std::uint32_t number = 0;  // among all sends
  };
  struct Connection {
    std::deque<Packet> packets;
    std::optional<std::pair<std::uint32_t, std::uint32_t>> waiting;  // receiver: gpu, block
  };
  struct Block {
    std::uint32_t next = 0;
    Connection* in = nullptr;
    Connection* out = nullptr;
    std::vector<std::uint32_t> waiting;  // blocks of this gpu that wait for one of its steps
  };

  void make_memory();
  void make_connections();
  void advance(std::uint32_t gpu, std::uint32_t block);
  void execute(const StepId& at, const MscclStep& step, Block& block);
  void check_finished() const;
  void check_outputs();

  Symbol receive(const StepId& at, const MscclStep& step, const Symbol& symbol, std::uint32_t k);
  std::uint32_t add_message(const StepId& at, Op op, const Symbol& from);
  Symbol reduce(const StepId& at, const MscclStep& step, std::uint32_t k);
  void require_current(const StepId& at, const Symbol& symbol) const;

  Symbol& cell(std::uint32_t gpu, Place place, std::uint32_t k) {
    std::vector<Symbol>& buffer = memory_of(gpu, place);
    return buffer[place.offset + k];
  }
  /// Names memory that has two names by one.
  std::vector<Symbol>& memory_of(std::uint32_t gpu, Place& place) {
    const Collective collective = program_.collective;
    const std::uint32_t shard = is_sharded(collective) ? gpu * shard_ : 0;
    const bool shared = program_.in_place && !program_.out_of_place &&
                        (!has_root(collective) || gpu == index(root_));
    if (shared && sends_shard(collective) && place.buffer == Buffer::Input) {
      place = {Buffer::Output, place.offset + shard};
    } else if (shared && !sends_shard(collective) && place.buffer == Buffer::Output) {
      place = {Buffer::Input, place.offset + shard};
    }
    return memory_[gpu][static_cast<std::size_t>(place.buffer)];
  }
  [[nodiscard]] bool starts(std::uint32_t gpu, std::uint32_t unit) const {
    const Rank owner = is_sharded(program_.collective) ? Rank{unit / shard_} : root_;
    return starts_with(program_.collective, Rank{gpu}, owner);
  }
  std::uint32_t& current(std::uint32_t gpu, std::uint32_t unit) {
    return current_[std::size_t{gpu} * program_.units + unit];
  }

  const MscclFile& file_;
  const MscclProgram& program_;
  Rank root_;
  const Staged* staged_;
  Staged found_;
  std::vector<StepId> receives_;
  std::uint32_t shard_ = 0;
  std::vector<std::array<std::vector<Symbol>, 3>> memory_;
  std::vector<std::uint32_t> current_;  // version of each rank and unit; kNothing: none
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, Connection> connections_;
  std::vector<std::vector<Block>> blocks_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> runnable_;
  std::uint32_t sends_ = 0, groups_ = 0;
  MscclMessages result_;
};

void Execution::make_memory() {
  const std::uint32_t gpus = static_cast<std::uint32_t>(program_.gpus.size());
  shard_ = program_.units / gpus;
  memory_.resize(gpus);
  current_.assign(std::size_t{gpus} * program_.units, AtomicMessage::kNothing);
  found_.resize(gpus);
  for (std::uint32_t g = 0; g < gpus; ++g) {
    memory_[g][0].resize(program_.units);
    memory_[g][1].resize(program_.units);
    memory_[g][2].resize(program_.gpus[g].scratch);
    for (std::uint32_t u = 0; u < program_.units; ++u) {
      if (!starts(g, u)) continue;
      const bool gather = sends_shard(program_.collective);
      cell(g, {Buffer::Input, gather ? u - g * shard_ : u}, 0).unit = u;
      current(g, u) = AtomicMessage::kInitial;
    }
    found_[g].resize(program_.gpus[g].blocks.size());
    for (std::size_t b = 0; b < found_[g].size(); ++b) {
      found_[g][b].assign(program_.gpus[g].blocks[b].steps.size(), false);
    }
  }
}

void Execution::make_connections() {
  blocks_.resize(program_.gpus.size());
  for (std::uint32_t g = 0; g < program_.gpus.size(); ++g) {
    blocks_[g].resize(program_.gpus[g].blocks.size());
    for (std::uint32_t b = 0; b < blocks_[g].size(); ++b) {
      const MscclBlock& block = program_.gpus[g].blocks[b];
      if (block.send >= 0) {
        blocks_[g][b].out =
            &connections_[{g, static_cast<std::uint32_t>(block.send), block.channel}];
      }
      if (block.receive >= 0) {
        blocks_[g][b].in =
            &connections_[{static_cast<std::uint32_t>(block.receive), g, block.channel}];
      }
    }
  }
}

/// Runs a thread block until it waits.
void Execution::advance(std::uint32_t gpu, std::uint32_t number) {
  Block& block = blocks_[gpu][number];
  const auto& steps = program_.gpus[gpu].blocks[number].steps;
  while (block.next < steps.size()) {
    const MscclStep& step = steps[block.next];
    if (step.wait_block >= 0) {
      Block& other = blocks_[gpu][static_cast<std::size_t>(step.wait_block)];
      if (other.next <= static_cast<std::uint32_t>(step.wait_step)) {
        other.waiting.push_back(number);
        return;
      }
    }
    if (receives(step.type) && block.in->packets.empty()) {
      block.in->waiting = {gpu, number};
      return;
    }
    execute({gpu, number, block.next}, step, block);
    ++block.next;
    for (const std::uint32_t waiting : block.waiting) runnable_.emplace_back(gpu, waiting);
    block.waiting.clear();
  }
}

void Execution::execute(const StepId& at, const MscclStep& step, Block& block) {
  if (step.type == MscclType::Nop) return;
  ++groups_;
  Packet packet;
  if (receives(step.type)) {
    packet = std::move(block.in->packets.front());
    block.in->packets.pop_front();
    if (packet.symbols.size() != step.count) {
      file_.fail(at, fmt::format("cnt: expected the {} of the send that it meets (gpu {}, thread "
                                 "block {}, step {}), got {}",
                                 packet.symbols.size(), packet.from.gpu, packet.from.block,
                                 packet.from.step, step.count));
    }
  }
  Packet out{at, {}, sends_};
  for (std::uint32_t k = 0; k < step.count; ++k) {
    Symbol symbol;
    if (receives(step.type)) {
      Symbol arrived = packet.symbols[k];
      arrived.sent = packet.number;
      arrived.received_from = packet.from.gpu;
      symbol = receive(at, step, arrived, k);
    } else if (step.type == MscclType::Reduce) {
      symbol = reduce(at, step, k);
    } else {
      symbol = cell(at.gpu, step.src, k);
      if (symbol.unit == kNone) file_.fail(at, "it reads what was never written");
    }
    if (step.type == MscclType::Copy) cell(at.gpu, step.dst, k) = symbol;
    if (!sends(step.type)) continue;
    if (staged_ != nullptr && symbol.received_from != kNone) {
      file_.fail(at, "it sends on what it received and has yet to reduce");
    }
    symbol.received_from = kNone;
    out.symbols.push_back(symbol);
  }
  if (!sends(step.type)) return;
  ++sends_;
  block.out->packets.push_back(std::move(out));
  if (const auto waiting = std::exchange(block.out->waiting, {})) runnable_.push_back(*waiting);
}

/// What the rank holds after receiving; stored unless it is only sent on.
Symbol Execution::receive(const StepId& at, const MscclStep& step, const Symbol& symbol,
                          std::uint32_t k) {
  const bool copies = step.type == MscclType::Receive || step.type == MscclType::ReceiveCopySend;
  Symbol held = symbol;
  const bool stages = step.type == MscclType::Receive &&
                      (staged_ == nullptr || (*staged_)[at.gpu][at.block][at.step]);
  if (stages) {
    if (staged_ == nullptr) {  // The reduction that takes it up finds this instruction by a number.
      held.version = static_cast<std::uint32_t>(receives_.size());
      receives_.push_back(at);
    }
  } else {
    if (!copies) {
      const Symbol& own = cell(at.gpu, step.src, k);
      if (own.unit != symbol.unit) {
        file_.fail(at, fmt::format("it reduces chunk {} into {}", symbol.unit,
                                   own.unit == kNone ? "what was never written"
                                                     : fmt::format("chunk {}", own.unit)));
      }
      require_current(at, own);
    }
    held.version = add_message(at, copies ? Op::Copy : Op::Reduce, symbol);
    held.received_from = kNone;
  }
  if (step.type != MscclType::ReceiveReduceSend) cell(at.gpu, step.dst, k) = held;
  return held;
}

Symbol Execution::reduce(const StepId& at, const MscclStep& step, std::uint32_t k) {
  const Symbol a = cell(at.gpu, step.src, k), b = cell(at.gpu, step.dst, k);
  const bool a_arrived = a.received_from != kNone;
  if (a.unit == kNone || a.unit != b.unit || a_arrived == (b.received_from != kNone)) {
    file_.fail(at, "expected a received value and the rank's own one of the same chunk");
  }
  const Symbol& arrived = a_arrived ? a : b;
  Symbol held = a_arrived ? b : a;
  if (staged_ == nullptr) {
    const StepId& from = receives_[arrived.version];
    found_[from.gpu][from.block][from.step] = true;
  } else {
    require_current(at, held);
    held.version = add_message(at, Op::Reduce, arrived);
  }
  cell(at.gpu, step.dst, k) = held;
  return held;
}

void Execution::require_current(const StepId& at, const Symbol& symbol) const {
  if (staged_ == nullptr) return;
  if (symbol.received_from != kNone ||
      current_[std::size_t{at.gpu} * program_.units + symbol.unit] != symbol.version) {
    file_.fail(at,
               fmt::format("it reduces into a value of chunk {} that is not the rank's last one: "
                           "a schedule has one value for a rank and chunk",
                           symbol.unit));
  }
}

/// A message that changes the rank's value; its number is the new version.
std::uint32_t Execution::add_message(const StepId& at, Op op, const Symbol& from) {
  if (staged_ == nullptr) return AtomicMessage::kInitial;
  std::uint32_t& version = current(at.gpu, from.unit);
  result_.messages.push_back({.op = op,
                              .chunk = from.unit,
                              .src = Rank{from.received_from},
                              .dst = Rank{at.gpu},
                              .reads = from.version,
                              .overwrites = version});
  result_.at.push_back(at);
  result_.group.push_back(groups_);
  result_.sent.push_back(from.sent);
  version = static_cast<std::uint32_t>(result_.messages.size() - 1);
  return version;
}

void Execution::check_finished() const {
  for (std::uint32_t g = 0; g < blocks_.size(); ++g) {
    for (std::uint32_t b = 0; b < blocks_[g].size(); ++b) {
      const auto& steps = program_.gpus[g].blocks[b].steps;
      const std::uint32_t next = blocks_[g][b].next;
      if (next == steps.size()) continue;
      const MscclStep& step = steps[next];
      const bool waits =
          step.wait_block >= 0 && blocks_[g][static_cast<std::size_t>(step.wait_block)].next <=
                                      static_cast<std::uint32_t>(step.wait_step);
      file_.fail({g, b, next},
                 waits ? fmt::format("it waits forever for thread block {}, step {}",
                                     step.wait_block, step.wait_step)
                       : fmt::format("it waits forever for a send of gpu {} on channel {}",
                                     program_.gpus[g].blocks[b].receive,
                                     program_.gpus[g].blocks[b].channel));
    }
  }
  for (const auto& [ends, connection] : connections_) {
    if (connection.packets.empty()) continue;
    file_.fail(connection.packets.front().from,
               fmt::format("gpu {} never receives this send", std::get<1>(ends)));
  }
}

void Execution::check_outputs() {
  for (std::uint32_t g = 0; g < blocks_.size(); ++g) {
    for (std::uint32_t u = 0; u < program_.units; ++u) {
      const Rank owner = is_sharded(program_.collective) ? Rank{u / shard_} : root_;
      if (!ends_with(program_.collective, Rank{g}, owner)) continue;
      const bool scatter = receives_shard(program_.collective);
      const Symbol& symbol = cell(g, {Buffer::Output, scatter ? u - g * shard_ : u}, 0);
      if (symbol.unit != u || symbol.received_from != kNone || symbol.version != current(g, u)) {
        file_.fail_gpu(g, fmt::format("gpu {} does not end with chunk {} in its output", g, u));
      }
    }
  }
}

}  // namespace

Rank msccl_root(const MscclFile& file) {
  const MscclProgram& program = file.program;
  if (!has_root(program.collective) || program.gpus.size() == 1) return Rank{0};
  // Only the root's input is read, or output written; failing that, it alone never receives or
  // sends.
  const bool broadcast = program.collective == Collective::Broadcast;
  std::vector<std::uint32_t> by_buffer, by_direction;
  for (std::uint32_t g = 0; g < program.gpus.size(); ++g) {
    bool uses = false, passes = false;
    for (const MscclBlock& block : program.gpus[g].blocks) {
      for (const MscclStep& step : block.steps) {
        if (step.type == MscclType::Nop) continue;
        passes |= broadcast ? receives(step.type) : sends(step.type);
        const bool reads =
            step.type != MscclType::Receive && step.type != MscclType::ReceiveCopySend;
        const bool writes =
            step.type != MscclType::Send && step.type != MscclType::ReceiveReduceSend;
        uses |= broadcast ? reads && step.src.buffer == Buffer::Input
                          : writes && step.dst.buffer == Buffer::Output;
      }
    }
    if (uses) by_buffer.push_back(g);
    if (!passes) by_direction.push_back(g);
  }
  for (const auto& found : {by_buffer, by_direction}) {
    if (found.size() == 1) return Rank{found.front()};
  }
  file.fail_gpu(0,
                fmt::format("expected one gpu that {}, found {} candidates for the root",
                            broadcast ? "reads its input" : "writes its output", by_buffer.size()));
}

MscclMessages msccl_messages(const MscclFile& file, Rank root) {
  Execution first(file, root, nullptr);
  first.run();
  const Staged staged = std::move(first).found();
  Execution second(file, root, &staged);
  second.run();
  return std::move(second).result();
}

}  // namespace multitree::interchange

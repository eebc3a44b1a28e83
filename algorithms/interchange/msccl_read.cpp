// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// MSCCL's XML, read.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "algorithms/interchange/msccl_file_internal.hpp"
#include "topologies/io/text_internal.hpp"
#include "topologies/io/xml_internal.hpp"

namespace multitree::interchange {
namespace {

constexpr std::int64_t kMaxChunksPerLoop = 1 << 24;
constexpr std::uint64_t kMaxCells = std::uint64_t{1} << 25;  // units of all gpus: 0.5 GB of symbols

class MscclReader {
 public:
  MscclReader(std::string_view text, const std::string& file, std::uint32_t ranks)
      : xml_(text, file), ranks_(ranks), result_{text, file, {}, {}, {}} {}

  MscclFile read() {
    const pugi::xml_node algo = xml_.document().child("algo");
    if (!algo) {
      const pugi::xml_node other = xml_.document().document_element();
      xml_.fail(other, fmt::format("expected the root element <algo>, got <{}>", other.name()));
    }
    read_header(algo);
    result_.program.gpus.resize(ranks_);
    result_.gpu_at.resize(ranks_);
    result_.step_at.resize(ranks_);
    std::vector<bool> seen(ranks_, false);
    for (const pugi::xml_node& gpu : algo.children("gpu")) {
      const auto id = static_cast<std::uint32_t>(xml_.integer(gpu, "id", 0, ranks_ - 1));
      if (seen[id]) xml_.fail(gpu, fmt::format("the gpu {} is repeated", id));
      seen[id] = true;
      read_gpu(gpu, id);
    }
    const auto missing = std::ranges::find(seen, false);
    if (missing != seen.end()) {
      xml_.fail(algo, fmt::format("the gpu {} is missing", missing - seen.begin()));
    }
    return std::move(result_);
  }

 private:
  Collective collective(const pugi::xml_node& algo) const {
    const std::string name = xml_.require(algo, "coll");
    if (name == "reduce_scatter" || name == "reducescatter") return Collective::ReduceScatter;
    for (const Collective one : all_collectives()) {
      if (name == to_string(one) && one != Collective::ReduceScatter && has_program(one))
        return one;
    }
    xml_.fail(algo, fmt::format("coll: expected allreduce, allgather, reduce_scatter, broadcast or "
                                "reduce, got '{}'",
                                name));
  }

  std::uint64_t bytes(const pugi::xml_node& algo, const char* name, std::uint64_t otherwise) const {
    if (!algo.attribute(name)) return otherwise;
    return static_cast<std::uint64_t>(xml_.integer(algo, name, 0, INT64_MAX));
  }

  void read_header(const pugi::xml_node& algo) {
    MscclProgram& program = result_.program;
    program.name = algo.attribute("name").value();
    program.protocol = xml_.require(algo, "proto");
    program.collective = collective(algo);
    program.channels = static_cast<std::uint32_t>(xml_.integer(algo, "nchannels", 0, 1 << 16));
    program.units =
        static_cast<std::uint32_t>(xml_.integer(algo, "nchunksperloop", 1, kMaxChunksPerLoop));
    if (const auto gpus = xml_.integer(algo, "ngpus", 1, INT32_MAX); gpus != ranks_) {
      xml_.fail(algo, fmt::format("ngpus: expected the topology's {} ranks, got {}", ranks_, gpus));
    }
    if (is_sharded(program.collective) && program.units % ranks_ != 0) {
      xml_.fail(algo, fmt::format("nchunksperloop: expected a multiple of the {} gpus, got {}",
                                  ranks_, program.units));
    }
    program.in_place = xml_.integer(algo, "inplace", 0, 1) == 1;
    program.out_of_place = algo.attribute("outofplace")
                               ? xml_.integer(algo, "outofplace", 0, 1) == 1
                               : !program.in_place;
    program.min_bytes = bytes(algo, "minBytes", 0);
    program.max_bytes = bytes(algo, "maxBytes", std::uint64_t{1} << 40);
  }

  void read_gpu(const pugi::xml_node& element, std::uint32_t id) {
    MscclGpu& gpu = result_.program.gpus[id];
    result_.gpu_at[id] = static_cast<std::uint32_t>(element.offset_debug());
    const auto size = [&](const char* name) {
      return static_cast<std::uint32_t>(xml_.integer(element, name, 0, kMaxChunksPerLoop));
    };
    gpu.input = size("i_chunks");
    gpu.output = size("o_chunks");
    gpu.scratch = size("s_chunks");
    cells_ += std::uint64_t{2} * result_.program.units + gpu.scratch;
    if (cells_ > kMaxCells) {
      xml_.fail(element, fmt::format("expected at most {} chunks on all gpus together, got {}",
                                     kMaxCells, cells_));
    }
    std::vector<pugi::xml_node> blocks(static_cast<std::size_t>(
        std::ranges::distance(element.children("tb").begin(), element.children("tb").end())));
    for (const pugi::xml_node& block : element.children("tb")) {
      const auto number = static_cast<std::size_t>(
          xml_.integer(block, "id", 0, static_cast<std::int64_t>(blocks.size()) - 1));
      if (blocks[number]) xml_.fail(block, fmt::format("the thread block {} is repeated", number));
      blocks[number] = block;
    }
    gpu.blocks.resize(blocks.size());
    result_.step_at[id].resize(blocks.size());
    std::set<std::tuple<bool, std::int32_t, std::uint32_t>> ends;
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      MscclBlock& block = gpu.blocks[b];
      read_block(blocks[b], id, block, result_.step_at[id][b]);
      for (const bool send : {true, false}) {
        const std::int32_t peer = send ? block.send : block.receive;
        if (peer >= 0 && !ends.emplace(send, peer, block.channel).second) {
          xml_.fail(blocks[b], fmt::format("gpu {} on channel {} is already the {} peer of another "
                                           "thread block",
                                           peer, block.channel, send ? "send" : "recv"));
        }
      }
    }
    check_waits(id);
  }

  void read_block(const pugi::xml_node& element, std::uint32_t gpu, MscclBlock& block,
                  std::vector<std::uint32_t>& at) {
    for (const auto& [name, peer] : {std::pair("send", &block.send), {"recv", &block.receive}}) {
      *peer = static_cast<std::int32_t>(xml_.integer(element, name, -1, ranks_ - 1));
      if (*peer == static_cast<std::int32_t>(gpu)) {
        xml_.fail(element, fmt::format("{}: expected another gpu, got {} itself", name, gpu));
      }
    }
    block.channel = static_cast<std::uint32_t>(xml_.integer(element, "chan", 0, 1 << 16));
    for (const pugi::xml_node& step : element.children("step")) {
      const auto number = static_cast<std::int64_t>(block.steps.size());
      if (const auto s = xml_.integer(step, "s", 0, INT32_MAX); s != number) {
        xml_.fail(step, fmt::format("s: expected {}, the next step, got {}", number, s));
      }
      block.steps.push_back(read_step(step, gpu, block));
      at.push_back(static_cast<std::uint32_t>(step.offset_debug()));
    }
  }

  MscclStep read_step(const pugi::xml_node& element, std::uint32_t gpu,
                      const MscclBlock& block) const {
    MscclStep step;
    const std::string name = xml_.require(element, "type");
    const auto found = std::ranges::find(kMscclTypeNames, name);
    if (found == kMscclTypeNames.end()) {
      xml_.fail(element, fmt::format("type: expected one of {}, got '{}'",
                                     fmt::join(kMscclTypeNames, ", "), name));
    }
    step.type = static_cast<MscclType>(found - kMscclTypeNames.begin());
    step.wait_block = static_cast<std::int32_t>(xml_.integer(element, "depid", -1, INT32_MAX));
    step.wait_step = static_cast<std::int32_t>(xml_.integer(element, "deps", -1, INT32_MAX));
    step.waited_for = xml_.integer(element, "hasdep", 0, 1) == 1;
    if (step.type == MscclType::Nop) return step;
    step.count = static_cast<std::uint32_t>(xml_.integer(element, "cnt", 1, kMaxChunksPerLoop));
    // An instruction also names places that are the peer's business (where a send's data goes,
    // where a receive's comes from): only what it uses itself is read.
    if (uses_source(step.type)) step.src = read_place(element, "srcbuf", "srcoff", gpu, step.count);
    if (uses_target(step.type)) step.dst = read_place(element, "dstbuf", "dstoff", gpu, step.count);
    if (sends(step.type) && block.send < 0) {
      xml_.fail(element, fmt::format("'{}' in a thread block without a send peer", name));
    }
    if (receives(step.type) && block.receive < 0) {
      xml_.fail(element, fmt::format("'{}' in a thread block without a recv peer", name));
    }
    return step;
  }

  static bool uses_source(MscclType type) {
    return type != MscclType::Receive && type != MscclType::ReceiveCopySend;
  }
  static bool uses_target(MscclType type) {
    return type != MscclType::Send && type != MscclType::ReceiveReduceSend;
  }

  Place read_place(const pugi::xml_node& element, const char* buffer, const char* offset,
                   std::uint32_t gpu, std::uint32_t count) const {
    const std::string name = xml_.require(element, buffer);
    const auto letter = std::string_view("ios").find(name);
    if (name.size() != 1 || letter == std::string_view::npos) {
      xml_.fail(element, fmt::format("{}: expected i, o or s, got '{}'", buffer, name));
    }
    const Place place{static_cast<Buffer>(letter), static_cast<std::uint32_t>(xml_.integer(
                                                       element, offset, 0, kMaxChunksPerLoop))};
    const std::uint32_t size = size_of(place.buffer, gpu);
    if (place.offset + count > size) {
      xml_.fail(element, fmt::format("expected chunks of '{}' below {}, got {} to {}", name, size,
                                     place.offset, place.offset + count - 1));
    }
    return place;
  }

  /// Of the buffers that the caller gives, the collective says how large they are.
  [[nodiscard]] std::uint32_t size_of(Buffer buffer, std::uint32_t gpu) const {
    const MscclProgram& program = result_.program;
    const bool shard = (buffer == Buffer::Input && sends_shard(program.collective)) ||
                       (buffer == Buffer::Output && receives_shard(program.collective));
    if (buffer == Buffer::Scratch) return program.gpus[gpu].scratch;
    return shard ? program.units / ranks_ : program.units;
  }

  void check_waits(std::uint32_t id) const {
    const auto& blocks = result_.program.gpus[id].blocks;
    for (std::uint32_t b = 0; b < blocks.size(); ++b) {
      for (std::uint32_t s = 0; s < blocks[b].steps.size(); ++s) {
        const MscclStep& step = blocks[b].steps[s];
        if (step.wait_block < 0) continue;
        const auto block = static_cast<std::size_t>(step.wait_block);
        const auto number = static_cast<std::size_t>(step.wait_step);
        if (block >= blocks.size() || step.wait_step < 0 || number >= blocks[block].steps.size()) {
          result_.fail({id, b, s},
                       fmt::format("depid, deps: expected a step of this gpu, got thread "
                                   "block {}, step {}",
                                   step.wait_block, step.wait_step));
        }
        if (!blocks[block].steps[number].waited_for) {
          result_.fail({id, b, s}, fmt::format("it waits for thread block {}, step {}, which has "
                                               "hasdep=\"0\" and tells nobody",
                                               block, number));
        }
      }
    }
  }

  XmlText xml_;
  std::uint32_t ranks_;
  std::uint64_t cells_ = 0;
  MscclFile result_;
};

}  // namespace

void MscclFile::fail(const StepId& at, const std::string& what) const {
  fail_at(file, line_at(text, step_at[at.gpu][at.block][at.step]), what);
}

void MscclFile::fail_gpu(std::uint32_t gpu, const std::string& what) const {
  fail_at(file, line_at(text, gpu_at[gpu]), what);
}

MscclFile read_msccl(std::string_view text, const std::string& file, std::uint32_t ranks) {
  return MscclReader(text, file, ranks).read();
}

}  // namespace multitree::interchange

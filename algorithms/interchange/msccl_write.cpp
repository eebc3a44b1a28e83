// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// MSCCL's XML, and what its runtimes have room for.
#include <fmt/compile.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "algorithms/interchange/msccl_program_internal.hpp"
#include "topologies/error.hpp"

namespace multitree {
namespace interchange {
namespace {

/// The sizes of the arrays that a runtime reads a program into.
struct Limits {
  std::size_t steps, blocks;
  std::size_t blocks_per_channel = 32;  // with a send peer, and with a receive peer
  std::uint32_t count = 71, offset = INT16_MAX, channels = 32;
  std::int32_t waited_block = INT8_MAX;
};

Limits limits_of(MscclLimits limits) {
  return limits == MscclLimits::Executor ? Limits{.steps = 64, .blocks = 1024}
                                         : Limits{.steps = 256, .blocks = 216};
}

void check(std::string_view what, std::uint64_t found, std::uint64_t most, const std::string& where,
           std::string_view advice) {
  if (found <= most) return;
  throw Error(ErrorCode::Unsupported,
              fmt::format("msccl: expected {} of at most {}, got {} ({}): {}, or write it anyway "
                          "with the limits none",
                          what, most, found, where, advice));
}

void check_block(const MscclBlock& block, const Limits& limits, const std::string& where) {
  check("a number of steps in a thread block", block.steps.size(), limits.steps, where,
        "use more channels or fewer chunks");
  for (const MscclStep& step : block.steps) {
    check("units in a step", step.count, limits.count, where,
          "choose an algorithm with chunks of equal weight");
    if (step.type == MscclType::Nop) continue;
    check("a chunk offset", std::max(step.src.offset, step.dst.offset) + step.count - 1,
          limits.offset, where, "use fewer chunks");
  }
}

/// How many thread blocks of a channel have a peer to send to, or one to receive from.
void check_peers(const MscclGpu& gpu, const Limits& limits, const std::string& where) {
  for (const auto peer : {&MscclBlock::send, &MscclBlock::receive}) {
    std::vector<std::size_t> peers(limits.channels, 0);
    for (const MscclBlock& block : gpu.blocks) {
      if (block.*peer >= 0) ++peers[std::min(block.channel, limits.channels - 1)];
    }
    check("a number of peers on a channel", *std::ranges::max_element(peers),
          limits.blocks_per_channel, where, "use more channels");
  }
}

char letter(Buffer buffer) { return "ios"[static_cast<std::size_t>(buffer)]; }

std::string_view collective_name(Collective collective, MscclLimits limits) {
  if (collective != Collective::ReduceScatter) return to_string(collective);
  return limits == MscclLimits::Executor ? "reducescatter" : "reduce_scatter";
}

std::string escaped(std::string_view text) {
  static constexpr std::array<std::pair<char, std::string_view>, 4> kNamed = {
      {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}}};
  std::string result;
  for (const char c : text) {
    const auto named = std::ranges::find(kNamed, c, &std::pair<char, std::string_view>::first);
    if (named != kNamed.end()) {
      result += named->second;
    } else {
      result += static_cast<unsigned char>(c) < 0x20 ? fmt::format("&#{};", static_cast<int>(c))
                                                     : std::string(1, c);
    }
  }
  return result;
}

void write_step(const MscclStep& step, std::size_t number, fmt::memory_buffer& out) {
  const bool nop = step.type == MscclType::Nop;
  fmt::format_to(
      std::back_inserter(out),
      FMT_COMPILE("      <step s=\"{}\" type=\"{}\" srcbuf=\"{}\" srcoff=\"{}\" dstbuf=\"{}\" "
                  "dstoff=\"{}\" cnt=\"{}\" depid=\"{}\" deps=\"{}\" hasdep=\"{}\"/>\n"),
      number, kMscclTypeNames[static_cast<std::size_t>(step.type)],
      nop ? 'i' : letter(step.src.buffer), nop ? -1 : static_cast<std::int64_t>(step.src.offset),
      nop ? 'o' : letter(step.dst.buffer), nop ? -1 : static_cast<std::int64_t>(step.dst.offset),
      step.count, step.wait_block, step.wait_step, step.waited_for ? 1 : 0);
}

}  // namespace

void check_limits(const MscclProgram& program, MscclLimits which) {
  if (which == MscclLimits::None) return;
  const Limits limits = limits_of(which);
  for (std::size_t g = 0; g < program.gpus.size(); ++g) {
    const MscclGpu& gpu = program.gpus[g];
    const std::string where = fmt::format("gpu {}", g);
    check("a number of thread blocks of a gpu", gpu.blocks.size(), limits.blocks, where,
          "use fewer channels or an algorithm with fewer neighbours");
    check_peers(gpu, limits, where);
    for (std::size_t b = 0; b < gpu.blocks.size(); ++b) {
      check_block(gpu.blocks[b], limits, fmt::format("gpu {}, thread block {}", g, b));
      for (const MscclStep& step : gpu.blocks[b].steps) {
        if (step.wait_block < 0) continue;
        check("a thread block that is waited for", static_cast<std::uint64_t>(step.wait_block),
              static_cast<std::uint64_t>(limits.waited_block), where, "use fewer channels");
      }
    }
  }
}

std::string to_xml(const MscclProgram& program, MscclLimits limits) {
  fmt::memory_buffer out;
  const auto to = std::back_inserter(out);
  fmt::format_to(to,
                 "<algo name=\"{}\" proto=\"{}\" nchannels=\"{}\" nchunksperloop=\"{}\" "
                 "ngpus=\"{}\" coll=\"{}\" inplace=\"{:d}\" outofplace=\"{:d}\" minBytes=\"{}\" "
                 "maxBytes=\"{}\">\n",
                 escaped(program.name), program.protocol, program.channels, program.units,
                 program.gpus.size(), collective_name(program.collective, limits), program.in_place,
                 program.out_of_place, program.min_bytes, program.max_bytes);
  for (std::size_t g = 0; g < program.gpus.size(); ++g) {
    const MscclGpu& gpu = program.gpus[g];
    fmt::format_to(to, "  <gpu id=\"{}\" i_chunks=\"{}\" o_chunks=\"{}\" s_chunks=\"{}\">\n", g,
                   gpu.input, gpu.output, gpu.scratch);
    for (std::size_t b = 0; b < gpu.blocks.size(); ++b) {
      const MscclBlock& block = gpu.blocks[b];
      fmt::format_to(to, "    <tb id=\"{}\" send=\"{}\" recv=\"{}\" chan=\"{}\">\n", b, block.send,
                     block.receive, block.channel);
      for (std::size_t s = 0; s < block.steps.size(); ++s) write_step(block.steps[s], s, out);
      fmt::format_to(to, "    </tb>\n");
    }
    fmt::format_to(to, "  </gpu>\n");
  }
  fmt::format_to(to, "</algo>\n");
  return fmt::to_string(out);
}

}  // namespace interchange

std::string write_msccl_xml(const Schedule& schedule, const MscclOptions& options) {
  expect_no_switches_at_work(schedule, "MSCCL programs");
  const interchange::MscclProgram program = interchange::msccl_program(schedule, options);
  interchange::check_limits(program, options.limits);
  return interchange::to_xml(program, options.limits);
}

}  // namespace multitree

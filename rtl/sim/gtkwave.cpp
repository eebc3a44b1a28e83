// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Save files of GTKWave: text, a signal a line, with lines of flags before it.
#include <fmt/format.h>

#include <cctype>
#include <iterator>

#include "rtl/sim/network.hpp"
#include "rtl/sim/waves.hpp"

namespace multitree::rtl {
namespace {

constexpr std::string_view kDecimal = "@24", kHexadecimal = "@22", kBinary = "@28";
constexpr std::string_view kOpenGroup = "@800200", kEndGroup = "@1000200", kClosedGroup = "@c00200",
                           kEndClosedGroup = "@1401200";

class Writer {
 public:
  void rank(const WaveRank& rank) {
    const std::string top = rank.scope + ".";
    const std::string name = fmt::format("rank {} ({})", rank.rank, rank.scope);
    put(fmt::format("{}\n-{}", kOpenGroup, name));
    signal(kBinary, top + "trace_running_o");
    signal(kDecimal, top + "trace_step_o[15:0]");
    signal(kHexadecimal, top + "mt_sim_node.u_node.u_ni.u_csr.error_q[12:0]");
    signal(kBinary, top + "irq_o");
    for (std::uint32_t p = 0; p < rank.ports; ++p) {
      const std::string port = fmt::format("port {}", p);
      put(fmt::format("{}\n-{}", kClosedGroup, port));
      for (const std::string_view what :
           {"trace_begun_o", "trace_sent_o", "link_valid_o", "link_valid_i", "link_credit_valid_i",
            "trace_issued_o", "trace_taken_o"}) {
        // Bits count from the left.
        put(fmt::format("{}\n({}){}{}[{}:0]", kBinary, Network::kPorts - 1 - p, top, what,
                        Network::kPorts - 1));
      }
      put(fmt::format("{}\n-{}", kEndClosedGroup, port));
    }
    put(fmt::format("{}\n-{}", kEndGroup, name));
  }

  std::string take() { return std::move(text_); }
  void put(std::string_view line) { fmt::format_to(std::back_inserter(text_), "{}\n", line); }

 private:
  void signal(std::string_view flags, const std::string& name) {
    put(fmt::format("{}\n{}", flags, name));
  }

  std::string text_;
};

}  // namespace

std::string scope_name(const std::string& node) {
  std::string name;
  for (const char c : node) {
    name.push_back(std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_');
  }
  return name;
}

std::string gtkwave_save(const std::string& waves, const std::vector<WaveRank>& ranks) {
  Writer writer;
  writer.put(
      fmt::format("[dumpfile] \"{}\"\n[timestart] 0\n[sst_width] 200\n[signals_width] 250", waves));
  for (const WaveRank& rank : ranks) writer.rank(rank);
  return writer.take();
}

}  // namespace multitree::rtl

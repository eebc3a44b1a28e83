// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The text of a network's module.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <string_view>
#include <vector>

#include "generated/mt_pkg.hpp"
#include "nic/top/signals_internal.hpp"
#include "nic/top/top.hpp"

namespace multitree::nic {
namespace {

constexpr std::size_t kColumns = 100;

std::string identifier(std::string_view text) {
  std::string name;
  for (const char c : text) {
    const bool fits = std::isalnum(static_cast<unsigned char>(c)) != 0;
    if (fits) {
      name.push_back(c);
    } else if (!name.empty() && name.back() != '_') {
      name.push_back('_');
    }
  }
  while (!name.empty() && name.back() == '_') name.pop_back();
  return name;
}

/// Items with commas, in lines.
std::string list(const std::vector<std::string>& items, std::string_view indent) {
  std::string text, line(indent);
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::string item = items[i] + (i + 1 < items.size() ? "," : "");
    if (line.size() + item.size() > kColumns) {
      text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
      line = indent;
    }
    line += item + " ";
  }
  return text + line.substr(0, line.find_last_not_of(' ') + 1);
}

/// What all ranks have together: "[R*M*A-1:0]".
std::string range_of_all(const Signal& signal) {
  std::string range = signal.is_of_port ? "[R*M" : "[R";
  if (!signal.width.empty()) range += fmt::format("*{}", signal.width);
  return range + "-1:0]";
}

/// What of it is rank r's: "[3*M*A +: M*A]".
std::string range_of(const Signal& signal, std::uint32_t rank) {
  std::string one(signal.is_of_port ? "M" : "");
  if (!signal.width.empty()) one += (one.empty() ? "" : "*") + std::string(signal.width);
  return one.empty() ? fmt::format("[{}]", rank) : fmt::format("[{}*{} +: {}]", rank, one, one);
}

class Writer {
 public:
  Writer(const Topology& topology, const Wiring& wiring, std::uint32_t helpers)
      : topology_(topology), wiring_(wiring), helpers_(helpers) {}

  std::string write(const std::string& command) {
    header(command);
    ports();
    width();
    registers();
    for (std::uint32_t n = 0; n < topology_.num_nodes(); ++n) node_signals(n);
    for (std::uint32_t l = 0; l < topology_.num_links(); ++l) link(l);
    for (std::uint32_t n = 0; n < topology_.num_nodes(); ++n) {
      const auto rank = topology_.node(NodeId{n}).rank;
      if (rank) {
        rank_instance(n, index(*rank));
      } else {
        switch_instance(n);
      }
    }
    results();
    return std::move(text_);
  }

 private:
  template <typename... Args>
  void put(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
  }

  void header(const std::string& command) {
    const std::uint32_t ranks = topology_.num_ranks();
    std::uint32_t least = 0, most = 0;
    for (const Wiring::Ends& link : wiring_.links) {
      least = least == 0 ? link.latency : std::min(least, link.latency);
      most = std::max(most, link.latency);
    }
    put("// Made by: {}\n"
        "// Ranks {}{}, switches {}, links {} of {} cycles, flits of {} bits. Its files: files.f; "
        "what the ports "
        "are:\n"
        "// rtl/net/mt_net_rank.sv, and for the registers rtl/net/mt_net_axil.sv.\n"
        "module {} #(\n"
        "  // Cycles of the reduction unit; 1: its sums by a C function.\n"
        "  parameter int unsigned ReduceLatency = 2,\n"
        "  parameter int unsigned FpImpl = 0,\n"
        "  // 1: interfaces with performance counters.\n"
        "  parameter int unsigned EnCounters = 1,\n"
        "  // Words of a port that wait for memory: to be sent, to be added.\n"
        "  parameter int unsigned SendWords = mt_pkg::SendWords,\n"
        "  parameter int unsigned AddWords = mt_pkg::AddWords,\n"
        "  // 1: links may lose, and send again what is lost (rtl/net/mt_link.sv).\n"
        "  parameter int unsigned Retry = 0,\n"
        "  // 1: links at link_clk_i; 0: at clk_i, as all else (rtl/net/mt_node.sv).\n"
        "  parameter int unsigned EnLinkClock = 0,\n"
        "  // 1: memory of rank r is that of C++ with the number memory_i + r.\n"
        "  parameter int unsigned Simulate = 0,\n"
        "  localparam int unsigned R = {},  // ranks\n"
        "  localparam int unsigned M = {},  // ports of each: the most\n"
        "  localparam int unsigned V = 2,\n",
        command, ranks,
        helpers_ == 0 ? "" : fmt::format(" (the last {} are switches that add and copy)", helpers_),
        topology_.num_nodes() - ranks, topology_.num_links(),
        least == most ? fmt::format("{}", most) : fmt::format("{} to {}", least, most),
        wiring_.flit_bits, top_name(topology_), ranks, wiring_.most_ports);
    put("  localparam int unsigned F = mt_pkg::FlitW,\n"
        "  localparam int unsigned A = mt_pkg::AddrW,\n"
        "  localparam int unsigned D = mt_pkg::DataW,\n"
        "  localparam int unsigned K = mt_pkg::KeepW,\n"
        "  localparam int unsigned S = mt_pkg::CountW + mt_pkg::AddrW,\n"
        "  localparam int unsigned RegW = 12 + (R > 1 ? $clog2(R) : 1) + 1\n");
  }

  void ports() {
    put(") (\n"
        "  input  logic clk_i,\n"
        "  input  logic rst_ni,\n"
        "  // With EnLinkClock; both resets come together.\n"
        "  input  logic link_clk_i,\n"
        "  input  logic link_rst_ni,\n"
        "  input  logic [31:0] memory_i,\n\n"
        "  // Registers: register, rank, all ranks.\n");
    for (const Signal& s : kRegisters) {
      port(s, s.width.empty() ? "" : fmt::format("[{}-1:0] ", s.width), "s_axil_");
    }
    put("\n  // All ranks are done; any has failed.\n"
        "  output logic done_o,\n"
        "  output logic failed_o,\n\n"
        "  // Memory, AXI4-Stream; port p of rank r in bits (r*M + p)*W +: W, as all that "
        "follows.\n");
    for (const Signal& s : kMemory) port(s, range_of_all(s) + " ");
    put("\n  // What happens, for comparison with the C++ model; flits as they come out of "
        "nodes.\n");
    for (const Signal& s : kTraces) port(s, range_of_all(s) + " ");
    const std::uint32_t links = std::max(topology_.num_links(), 1U);
    put("  output logic [{}:0] trace_link_valid_o,\n"
        "  output logic [{}*V-1:0] trace_link_vc_o\n);\n\n",
        links - 1, links);
  }

  void port(const Signal& s, const std::string& range, std::string_view prefix = "") {
    put("  {} logic {}{}{}_{},\n", s.is_input ? "input " : "output", range, prefix, s.name,
        s.is_input ? "i" : "o");
  }

  void width() {
    put("  if (mt_pkg::DataW != {0}) begin : gen_check\n"
        "    $error(\"{1}: expected MT_FLIT_BITS to be {0}, for which its links were counted\");\n"
        "  end\n\n",
        wiring_.flit_bits, top_name(topology_));
  }

  void registers() {
    const bool has_switches = topology_.has_switches();
    const std::string_view load = has_switches ? "load" : "unused_load";
    const std::string_view places = has_switches ? "places" : "unused_places";
    put("  logic link_clk, link_rst_n;\n"
        "  assign link_clk = EnLinkClock != 0 ? link_clk_i : clk_i;\n"
        "  assign link_rst_n = EnLinkClock != 0 ? link_rst_ni : rst_ni;\n\n"
        "  logic [R-1:0] wvalid, wready, bvalid, arvalid, arready, rvalid, done, failed;\n"
        "  logic [11:0] awaddr, araddr;\n"
        "  logic [31:0] wdata;\n"
        "  logic [3:0] wstrb;\n"
        "  logic [R*32-1:0] rdata;\n"
        "  logic [R*2-1:0] bresp, rresp;\n"
        "  logic {};\n"
        "  logic [9:0] {};\n"
        "  mt_net_axil #(.NumRanks(R)) u_axil (\n",
        load, places);
    std::vector<std::string> pins = {".clk_i", ".rst_ni"};
    for (const Signal& s : kRegisters) {
      pins.push_back(fmt::format(".s_axil_{}_{}", s.name, s.is_input ? "i" : "o"));
    }
    for (const std::string_view name :
         {"wvalid", "awaddr", "wdata", "wstrb", "arvalid", "araddr"}) {
      pins.push_back(fmt::format(".m_{}_o({})", name, name));
    }
    for (const std::string_view name :
         {"wready", "bvalid", "bresp", "arready", "rvalid", "rdata", "rresp"}) {
      pins.push_back(fmt::format(".m_{}_i({})", name, name));
    }
    pins.push_back(fmt::format(".load_o({})", load));
    pins.push_back(fmt::format(".places_o({})", places));
    put("{});\n\n", list(pins, "    "));
  }

  /// What comes out of a node: flits, and credits for its inputs.
  void node_signals(std::uint32_t n) {
    const Node& node = topology_.node(NodeId{n});
    const std::uint32_t ports = wiring_.ports[n];
    put("  // {}: {}\n"
        "  logic [{}:0] n{}_valid, n{}_credit;\n"
        "  logic [{}*V-1:0] n{}_vc, n{}_credit_vc;\n"
        "  logic [{}*F-1:0] n{}_flit;\n",
        n, node.name, ports - 1, n, n, ports, n, n, ports, n);
    const std::size_t out = topology_.out_links(NodeId{n}).size();
    const std::size_t in = topology_.in_links(NodeId{n}).size();
    if (out == ports && in == ports) return;
    put("  logic unused_n{0};\n"
        "  assign unused_n{0} = &{{1'b0, n{0}_valid, n{0}_vc, n{0}_flit, n{0}_credit, "
        "n{0}_credit_vc}};\n",
        n);
  }

  void link(std::uint32_t l) {
    const Link& link = topology_.link(LinkId{l});
    const Wiring::Ends& ends = wiring_.links[l];
    const std::uint32_t src = index(link.src), dst = index(link.dst);
    put("\n  // {} -> {}\n"
        "  logic l{}_valid, l{}_credit, l{}_ready, l{}_dead;\n"
        "  logic [V-1:0] l{}_vc, l{}_credit_vc;\n"
        "  logic [F-1:0] l{}_flit;\n"
        "  mt_link #(.Latency({}), .Retry(Retry)) u_link_{} (\n",
        topology_.node(link.src).name, topology_.node(link.dst).name, l, l, l, l, l, l, l,
        ends.latency, l);
    put("    .clk_i(link_clk), .rst_ni(link_rst_n),\n"
        "    .valid_i(n{0}_valid[{1}]), .vc_i(n{0}_vc[{1}*V +: V]), .flit_i(n{0}_flit[{1}*F +: "
        "F]),\n"
        "    .ready_o(l{2}_ready), .valid_o(l{2}_valid), .vc_o(l{2}_vc), .flit_o(l{2}_flit),\n",
        src, ends.out, l);
    put("    .credit_valid_i(n{0}_credit[{1}]), .credit_vc_i(n{0}_credit_vc[{1}*V +: V]),\n"
        "    .credit_valid_o(l{2}_credit), .credit_vc_o(l{2}_credit_vc), .dead_o(l{2}_dead));\n",
        dst, ends.in, l);
  }

  /// What comes to a node by some links, the last port first: "{l3_vc, l0_vc}".
  [[nodiscard]] static std::string gather(std::span<const LinkId> links, std::uint32_t ports,
                                          std::string_view what, std::string_view width) {
    std::vector<std::string> items;
    if (links.size() < ports) {
      const std::size_t missing = ports - links.size();
      items.push_back(width.empty() ? fmt::format("{{{}{{1'b0}}}}", missing)
                                    : fmt::format("{{{}*{}{{1'b0}}}}", missing, width));
    }
    for (std::size_t i = links.size(); i-- > 0;) {
      items.push_back(fmt::format("l{}_{}", index(links[i]), what));
    }
    return fmt::format("{{{}}}", fmt::join(items, ", "));
  }

  /// Pins of the links of a node.
  [[nodiscard]] std::vector<std::string> link_pins(std::uint32_t n, std::string_view prefix) const {
    const auto in = topology_.in_links(NodeId{n}), out = topology_.out_links(NodeId{n});
    const std::uint32_t ports = wiring_.ports[n];
    std::vector<std::string> pins;
    const auto add = [&](std::string_view pin, const std::string& value) {
      pins.push_back(fmt::format(".{}{}({})", prefix, pin, value));
    };
    add("valid_i", gather(in, ports, "valid", ""));
    add("vc_i", gather(in, ports, "vc", "V"));
    add("flit_i", gather(in, ports, "flit", "F"));
    add("credit_valid_o", fmt::format("n{}_credit", n));
    add("credit_vc_o", fmt::format("n{}_credit_vc", n));
    for (const std::string_view what : {"valid", "vc", "flit"}) {
      add(fmt::format("{}_o", what), fmt::format("n{}_{}", n, what));
    }
    add("credit_valid_i", gather(out, ports, "credit", ""));
    add("credit_vc_i", gather(out, ports, "credit_vc", "V"));
    pins.push_back(fmt::format(".link_ready_i({})", gather(out, ports, "ready", "")));
    return pins;
  }

  [[nodiscard]] std::string dead_pin(std::uint32_t n) const {
    return fmt::format(".link_dead_i({})",
                       gather(topology_.out_links(NodeId{n}), wiring_.ports[n], "dead", ""));
  }

  void rank_instance(std::uint32_t n, std::uint32_t rank) {
    put("\n  mt_net_rank #(\n"
        "    .NumPorts({}), .MaxPorts(M), .ReduceLatency(ReduceLatency), .FpImpl(FpImpl),\n"
        "    .EnCounters(EnCounters), .EnRetry(Retry), .SendWords(SendWords), "
        ".AddWords(AddWords),\n"
        "    .EnLinkClock(EnLinkClock), .Simulate(Simulate){}\n"
        "  ) u_rank_{} (\n",
        wiring_.ports[n], rank >= topology_.num_ranks() - helpers_ ? ", .DirectPorts(1)" : "",
        rank);
    std::vector<std::string> pins = {
        ".clk_i", ".rst_ni", ".link_clk_i(link_clk)", ".link_rst_ni(link_rst_n)",
        rank == 0 ? ".handle_i(memory_i)" : fmt::format(".handle_i(memory_i + 32'd{})", rank)};
    for (const std::string_view pin : {"wvalid_i", "wready_o", "bvalid_o", "arvalid_i", "arready_o",
                                       "rvalid_o", "done_o", "failed_o"}) {
      pins.push_back(fmt::format(".{}({}[{}])", pin, pin.substr(0, pin.size() - 2), rank));
    }
    for (const std::string_view name : {"awaddr", "wdata", "wstrb", "araddr"}) {
      pins.push_back(fmt::format(".{}_i({})", name, name));
    }
    for (const auto& [name, bits] : {std::pair("rdata", 32), std::pair("bresp", 2), {"rresp", 2}}) {
      pins.push_back(fmt::format(".{0}_o({0}[{1}*{2} +: {2}])", name, rank, bits));
    }
    std::ranges::copy(link_pins(n, "link_"), std::back_inserter(pins));
    pins.push_back(dead_pin(n));
    const auto add = [&](const Signal& s) {
      const std::string pin = fmt::format("{}_{}", s.name, s.is_input ? "i" : "o");
      pins.push_back(fmt::format(".{}({}{})", pin, pin, range_of(s, rank)));
    };
    std::ranges::for_each(kMemory, add);
    std::ranges::for_each(kTraces, add);
    put("{});\n", list(pins, "    "));
  }

  void switch_instance(std::uint32_t n) {
    put("\n  logic [{0}:0] n{1}_over, n{1}_dead;\n"
        "  mt_switch #(\n"
        "    .NumLinks({2}), .EnRetry(Retry), .EnLinkClock(EnLinkClock)\n"
        "  ) u_switch_{1} (\n",
        wiring_.ports[n] - 1, n, wiring_.ports[n]);
    std::vector<std::string> pins = {
        ".clk_i",        ".rst_ni",          ".link_clk_i(link_clk)", ".link_rst_ni(link_rst_n)",
        ".load_i(load)", ".places_i(places)"};
    std::ranges::copy(link_pins(n, ""), std::back_inserter(pins));
    pins.push_back(dead_pin(n));
    pins.push_back(fmt::format(".over_o(n{}_over)", n));
    pins.push_back(fmt::format(".dead_o(n{}_dead)", n));
    put("{});\n", list(pins, "    "));
  }

  void results() {
    std::vector<std::string> over, valid, vc;
    for (std::uint32_t n = 0; n < topology_.num_nodes(); ++n) {
      if (!topology_.node(NodeId{n}).is_switch()) continue;
      over.push_back(fmt::format("n{}_over", n));
      over.push_back(fmt::format("n{}_dead", n));
    }
    for (std::uint32_t l = topology_.num_links(); l-- > 0;) {
      const std::uint32_t src = index(topology_.link(LinkId{l}).src), out = wiring_.links[l].out;
      valid.push_back(fmt::format("n{}_valid[{}]", src, out));
      vc.push_back(fmt::format("n{0}_vc[{1}*V +: V]", src, out));
    }
    put("\n  assign done_o = done == '1;\n");
    if (over.empty()) {
      put("  assign failed_o = failed != '0;\n");
    } else {
      put("  logic over_q;  // credits without places, or a dead link, at any switch\n"
          "  always_ff @(posedge clk_i) begin\n"
          "    if (!rst_ni) over_q <= 1'b0;\n"
          "    else if ({{\n{}}} != '0) over_q <= 1'b1;\n"
          "  end\n"
          "  assign failed_o = failed != '0 || over_q;\n",
          list(over, "      "));
    }
    if (valid.empty()) {
      put("  assign trace_link_valid_o = '0;\n  assign trace_link_vc_o = '0;\n");
    } else {
      put("  assign trace_link_valid_o = {{\n{}}};\n  assign trace_link_vc_o = {{\n{}}};\n",
          list(valid, "    "), list(vc, "    "));
    }
    put("\nendmodule\n");
  }

  const Topology& topology_;
  const Wiring& wiring_;
  std::uint32_t helpers_;
  std::string text_;
};

}  // namespace

std::string top_name(const Topology& topology) { return "mt_net_" + identifier(topology.name()); }

std::string systemverilog_top(const Topology& topology, const Wiring& wiring,
                              const std::string& command, std::uint32_t helpers) {
  return Writer(topology, wiring, helpers).write(command);
}

std::string top_file_list(const std::string& rtl, const std::string& top, std::uint32_t flit_bits) {
  const std::string width =
      flit_bits == mt_pkg::kDataW ? "" : fmt::format("+define+MT_FLIT_BITS={}\n", flit_bits);
  return width + fmt::format(
                     "+incdir+{0}/include\n"
                     "-F {0}/rtl.f\n"
                     "// For simulation alone, with Simulate 1.\n"
                     "{0}/sim/mt_memory_model.sv\n"
                     "{1}\n",
                     rtl, top);
}

}  // namespace multitree::nic

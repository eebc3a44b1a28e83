// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// `multitree nic top`: a network as one module of hardware.
#include <fmt/format.h>

#include <filesystem>

#include "generated/mt_pkg.hpp"
#include "nic/program/switches.hpp"
#include "nic/table/with_interfaces.hpp"
#include "nic/top/top.hpp"
#include "tools/command.hpp"
#include "topologies/io/files.hpp"

namespace multitree::tools {
namespace {

constexpr std::uint32_t kMostCycles = 1U << 24;  // as nic::cycles_of()

constexpr std::uint32_t kUsualBytes = mt_pkg::kDataW / 8;

struct TopFlags {
  NetworkFlags network;
  std::uint32_t latency = 0, flit_bytes = kUsualBytes;
  std::string rtl = "rtl", output;
};

int write_top(const TopFlags& flags) {
  const Topology given = load_whole_network(flags.network);
  for_flag("--topology", [&] { nic::expect_hardware_switches(given); });
  const Topology topology = nic::with_interfaces(given);
  const std::uint32_t helpers = topology.num_ranks() - given.num_ranks();
  const nic::Wiring wiring = for_flag("--topology", [&] {
    return nic::wire(topology, {.flit_bytes = flags.flit_bytes}, flags.latency);
  });
  std::string command = fmt::format("multitree nic top -t '{}'", topology.name());
  if (flags.latency != 0) command += fmt::format(" --latency {}", flags.latency);
  if (flags.flit_bytes != kUsualBytes) {
    command += fmt::format(" --flit-bytes {}", flags.flit_bytes);
  }
  std::error_code error;
  std::filesystem::create_directories(flags.output, error);
  if (error) {
    throw Error(ErrorCode::Io,
                fmt::format("{}: cannot make this directory: {}", flags.output, error.message()));
  }
  const std::string top = fmt::format("{}/{}.sv", flags.output, nic::top_name(topology));
  const std::string text = nic::systemverilog_top(topology, wiring, command, helpers);
  const std::string files = nic::top_file_list(flags.rtl, top, wiring.flit_bits);
  write_files({{top, text}, {flags.output + "/files.f", files}});
  print(fmt::format("{}\n", top));
  return kOk;
}

}  // namespace

Command add_nic_top_command(CLI::App& nic) {
  auto flags = std::make_shared<TopFlags>();
  CLI::App* app = nic.add_subcommand("top", "Write a network's hardware as one module");
  add_network_flags(*app, flags->network);
  app->add_option("--latency", flags->latency,
                  "Cycles of every link (default: those of the network, at 1 GHz)")
      ->check(number_from(1, kMostCycles));
  app->add_option(
         "--flit-bytes", flags->flit_bytes,
         "Bytes that a link carries in a cycle: 16, 32 or 64; more than 16 for networks of "
         "faster links")
      ->check(one_of({"16", "32", "64"}))
      ->capture_default_str();
  app->add_option("--rtl", flags->rtl, "Where rtl/ is, for the list of files")
      ->capture_default_str();
  app->add_option("-o,--output", flags->output,
                  "Directory, made if need be: mt_net_<network>.sv, files.f")
      ->required();
  return {app, [flags] { return write_top(*flags); }};
}

}  // namespace multitree::tools

// SPDX-License-Identifier: BSD-3-Clause
// Waves of a small collective: the file is one that GTKWave can read, and says what happened.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "algorithms/registry.hpp"
#include "rtl/sim/cosim.hpp"
#include "topologies/error.hpp"
#include "topologies/io/files.hpp"
#include "topologies/registry.hpp"

namespace multitree::rtl {
namespace {

constexpr std::uint64_t kBytes = 2 << 10;
constexpr std::uint8_t kHeaderBlock = 0;   // an FST file begins with this type of block,
constexpr std::size_t kHeaderBytes = 329;  // and how long it is

/// Signals by name, and how often each changes after its first value.
struct Waves {
  std::set<std::string> names;                 // "n0.trace_step_o[15:0]"
  std::map<std::string, std::uint64_t> rises;  // of single bits
};

/// What fst2vcd makes of a file.
Waves read_waves(const std::string& vcd) {
  Waves waves;
  std::map<std::string, std::vector<std::string>> by_code;
  std::map<std::string, char> values;
  std::vector<std::string> scopes;
  std::istringstream lines(read_file(vcd));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string word, kind, width, code, name, range;
    words >> word;
    if (word == "$scope") {
      words >> kind >> name;
      scopes.push_back(name);
    } else if (word == "$upscope") {
      scopes.pop_back();
    } else if (word == "$var") {
      words >> kind >> width >> code >> name >> range;
      std::string full;
      for (const std::string& scope : scopes) full += scope + ".";
      full += name + (range == "$end" ? "" : range);
      waves.names.insert(full);
      by_code[code].push_back(full);
    } else if (!word.empty() && (word[0] == '0' || word[0] == '1')) {
      char& value = values[word.substr(1)];
      if (value == '0' && word[0] == '1') {
        for (const std::string& full : by_code[word.substr(1)]) ++waves.rises[full];
      }
      value = word[0];
    }
  }
  return waves;
}

struct Directory {
  Directory() : path(testing::TempDir() + "multitree-waves-" + std::to_string(getpid())) {
    std::filesystem::create_directories(path);
  }
  ~Directory() { std::filesystem::remove_all(path); }
  std::string path;
};

CosimResult run(const std::string& wave, std::vector<Rank> ranks) {
  const Topology topology = make_topology("mesh:1x3");
  const Schedule schedule = make_schedule("multitree", topology, multitree::Collective::AllReduce);
  return cosimulate(schedule, topology, kBytes, {},
                    {.adders = Adders::Function, .wave = wave, .wave_ranks = std::move(ranks)});
}

TEST(Waves, AreThoseOfTheCollective) {
  const Directory directory;
  const std::string fst = directory.path + "/out.fst", vcd = directory.path + "/out.vcd";
  const CosimResult result = run(fst, {});
  EXPECT_TRUE(result.agrees()) << result.difference << result.wrong;

  const std::string bytes = read_file(fst);
  ASSERT_GT(bytes.size(), std::size_t{10} << 10);
  EXPECT_EQ(static_cast<std::uint8_t>(bytes[0]), kHeaderBlock);
  std::uint64_t length = 0;
  for (std::size_t i = 1; i <= 8; ++i) length = length << 8 | static_cast<unsigned char>(bytes[i]);
  EXPECT_EQ(length, kHeaderBytes);
  const std::string save = read_file(directory.path + "/out.gtkw");
  EXPECT_NE(save.find("[dumpfile] \"out.fst\""), std::string::npos);

  if (std::system("command -v fst2vcd >/dev/null") != 0) {
    GTEST_SKIP() << "fst2vcd not found (package gtkwave): what is in the file is not checked";
  }
  ASSERT_EQ(std::system(fmt::format("fst2vcd -f {} -o {}", fst, vcd).c_str()), 0);
  const Waves waves = read_waves(vcd);
  for (std::uint32_t r = 0; r < 3; ++r) {
    const std::string clock = fmt::format("n{}.clk_i", r);
    EXPECT_GE(waves.rises.at(clock), result.hardware.cycles) << clock;
    EXPECT_LE(waves.rises.at(clock), result.hardware.cycles + 20) << clock;
    EXPECT_EQ(waves.rises.at(fmt::format("n{}.trace_done_o", r)), 1U);
  }
  // What GTKWave is told to show exists.
  std::istringstream lines(save);
  std::size_t shown = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line[0] == '@' || line[0] == '-' || line[0] == '[') continue;
    const std::string name = line[0] == '(' ? line.substr(line.find(')') + 1) : line;
    EXPECT_TRUE(waves.names.contains(name)) << name;
    ++shown;
  }
  EXPECT_EQ(shown, 3 * 4 + (1 + 2 + 1) * 7U);
}

TEST(Waves, OfChosenRanks) {
  const Directory directory;
  const std::string fst = directory.path + "/one.fst", vcd = directory.path + "/one.vcd";
  EXPECT_TRUE(run(fst, {Rank{1}}).agrees());
  EXPECT_GT(std::filesystem::file_size(fst), 1024U);
  if (std::system("command -v fst2vcd >/dev/null") != 0) {
    GTEST_SKIP() << "fst2vcd not found (package gtkwave): what is in the file is not checked";
  }
  ASSERT_EQ(std::system(fmt::format("fst2vcd -f {} -o {}", fst, vcd).c_str()), 0);
  const Waves waves = read_waves(vcd);
  EXPECT_TRUE(waves.names.contains("n1.clk_i"));
  EXPECT_FALSE(waves.names.contains("n0.clk_i"));
}

TEST(Waves, NeedADirectory) {
  EXPECT_THROW(run("/nowhere/at/all.fst", {}), Error);
  EXPECT_TRUE(run("", {}).agrees());
}

}  // namespace
}  // namespace multitree::rtl

// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Whole files, their failures, and what counts as a topology file.
#include "topologies/io/files.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>

#include "tests/topologies/error_matcher.hpp"
#include "topologies/io/io.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
namespace fs = std::filesystem;

class Files : public testing::Test {
 protected:
  Files() {
    std::string pattern = (fs::temp_directory_path() / "multitree-files-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~Files() override { fs::remove_all(folder_); }

  [[nodiscard]] std::string path(const std::string& name) const {
    return (folder_ / name).string();
  }
  [[nodiscard]] auto count() const {
    return std::distance(fs::directory_iterator(folder_), fs::directory_iterator());
  }

  fs::path folder_;
};

TEST_F(Files, HoldAnyBytes) {
  const std::string content("a\0b\r\n\xff", 6);
  write_file(path("f"), content);
  EXPECT_EQ(read_file(path("f")), content);
  write_file(path("f"), "");
  EXPECT_EQ(read_file(path("f")), "");
  const std::string large(5'000'000, 'x');
  write_file(path("f"), large);
  EXPECT_EQ(read_file(path("f")), large);
  EXPECT_EQ(count(), 1);  // no temporary is left
}

TEST_F(Files, OfTextsLoseAByteOrderMark) {
  for (const std::string text : {"a\n", "", "\xef\xbb", "a\xef\xbb\xbf"}) {
    write_file(path("f"), "\xef\xbb\xbf" + text);
    EXPECT_EQ(read_text_file(path("f")), text);
    write_file(path("f"), text);
    EXPECT_EQ(read_text_file(path("f")), text);
  }
}

TEST_F(Files, KeepTheirMode) {
  write_file(path("f"), "1");
  ASSERT_EQ(::chmod(path("f").c_str(), 0640), 0);
  write_file(path("f"), "2");
  struct stat status {};
  ASSERT_EQ(::stat(path("f").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640U);
}

TEST_F(Files, SayWhatIsWrong) {
  const auto read_error = [&](const std::string& name) {
    return error_of(ErrorCode::Io, [&] { (void)read_file(path(name)); });
  };
  EXPECT_EQ(read_error("none"), path("none") + ": cannot open: No such file or directory");
  EXPECT_EQ(read_error("."), path(".") + ": cannot read: Is a directory");
  EXPECT_THAT(error_of(ErrorCode::Io, [&] { write_file(path("no/f"), "x"); }),
              HasSubstr("No such file or directory"));
  fs::create_directory(path("folder"));
  EXPECT_THAT(error_of(ErrorCode::Io, [&] { write_file(path("folder"), "x"); }),
              HasSubstr("Is a directory"));
  EXPECT_EQ(count(), 1);
}

TEST_F(Files, WriteThroughDevices) {
  EXPECT_NO_THROW(write_file("/dev/null", "x"));
  EXPECT_THAT(error_of(ErrorCode::Io, [] { write_file("/dev/full", "x"); }),
              HasSubstr("/dev/full: cannot write: No space left on device"));
}

/// Also beside others; a file that took a device's place would be there for good.
TEST_F(Files, WriteThroughPipesBesideFiles) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  const int end = ::open(path("pipe").c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(end, 0);
  write_files({{path("f"), "1"}, {path("pipe"), "23"}});
  std::array<char, 8> got{};
  EXPECT_EQ(::read(end, got.data(), got.size()), 2);
  EXPECT_EQ(std::string(got.data()), "23");
  EXPECT_TRUE(fs::is_fifo(path("pipe")));
  EXPECT_EQ(read_file(path("f")), "1");
  ::close(end);
}

TEST_F(Files, AreLoadedByExtension) {
  const Topology topology = make_topology("torus:2x3");
  write_file(path("t.json"), write_topology_json(topology));
  write_file(path("t.dot"), write_topology_dot(topology));
  write_file(path("t.gv"), write_topology_dot(topology));
  write_file(path("t.graphml"), write_topology_graphml(topology));
  write_file(path("t.xml"), write_topology_graphml(topology));
  for (const char* name : {"t.json", "t.dot", "t.gv", "t.graphml", "t.xml"}) {
    EXPECT_EQ(load_topology(path(name)), topology) << name;
  }
  EXPECT_EQ(load_topology("torus:2x3"), topology);
  // A point in a value makes no file.
  EXPECT_EQ(load_topology("ring:3?bw=12.5GB/s").num_ranks(), 3U);
}

TEST_F(Files, XmlIsWhatItsRootElementSays) {
  const Topology topology = make_topology("ring:3");
  write_file(path("t.xml"), "<!-- <system> -->" + write_topology_graphml(topology));
  EXPECT_EQ(load_topology(path("t.xml")), topology);
  write_file(
      path("t.xml"),
      "<?xml version=\"1.0\"?>\n<!-- <graphml> -->\n<system version=\"1\"><cpu numaid=\"0\" "
      "arch=\"arm64\"><pci busid=\"0\" class=\"0x03\"><gpu dev=\"0\"/></pci></cpu></system>");
  EXPECT_EQ(load_topology(path("t.xml")).num_ranks(), 1U);
  const auto error = [&](const std::string& text) {
    write_file(path("t.xml"), text);
    return error_of(ErrorCode::InvalidInput, [&] { (void)load_topology(path("t.xml")); });
  };
  EXPECT_EQ(
      error("\n<svg/>"),
      path("t.xml") + ":2: expected the root element <graphml> or NCCL's <system>, got <svg>");
  EXPECT_EQ(error("<!-- "), path("t.xml") + ":1: Error parsing comment");
  EXPECT_EQ(error("text"), path("t.xml") + ":1: No document element found");
}

TEST_F(Files, OfUnknownKindsAreRefused) {
  write_file(path("t.toml"), "x");
  EXPECT_THAT(error_of(ErrorCode::InvalidArgument, [&] { (void)load_topology(path("t.toml")); }),
              HasSubstr("expected a file ending in .json"));
  EXPECT_THAT(error_of(ErrorCode::Io, [&] { (void)load_topology(path("none.json")); }),
              HasSubstr("No such file"));
  write_file(path("bad.json"), "{\n}");
  EXPECT_THAT(error_of(ErrorCode::InvalidInput, [&] { (void)load_topology(path("bad.json")); }),
              StartsWith(path("bad.json") +
                         ":1: expected the schema 'multitree/topology/1', found no member"));
}

}  // namespace
}  // namespace multitree

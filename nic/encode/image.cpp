// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Writing and reading of images.
#include "nic/encode/image.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <boost/crc.hpp>
#include <cctype>
#include <iterator>

#include "topologies/error.hpp"

namespace multitree::nic {
namespace {

constexpr std::string_view kMagic("MTTABLE\0", 8);
constexpr std::uint16_t kVersion = 1;
constexpr std::uint32_t kMostRanks = 1U << 24;

using Bits = unsigned __int128;  // of an entry: the widths add up to at most 128, see pack()

template <typename T>
void append(std::string& out, T value) {
  for (std::size_t byte = 0; byte < sizeof(T); ++byte) {
    out.push_back(static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * byte)));
  }
}

std::uint32_t checksum(std::string_view bytes) {
  boost::crc_32_type crc;
  crc.process_bytes(bytes.data(), bytes.size());
  return crc.checksum();
}

void check_width(const Layout& layout) {
  if (layout.bits() <= 128) return;
  throw Error(ErrorCode::Unsupported,
              fmt::format("tables: expected entries of at most 128 bits, got {}", layout.bits()));
}

Bits pack(const Entry& entry, const Layout& layout) {
  Bits bits = 0;
  for (std::size_t f = 0; f < kFields; ++f) {
    const auto field = static_cast<Field>(f);
    bits |= Bits{value_of(entry, field)} << layout.offset(field);
  }
  return bits;
}

std::uint64_t unpack(Bits bits, const Layout& layout, Field field) {
  const std::uint32_t width = layout.width[static_cast<std::size_t>(field)];
  const Bits mask = (Bits{1} << width) - 1;
  return static_cast<std::uint64_t>((bits >> layout.offset(field)) & mask);
}

/// Reads numbers one after the other and says where it stopped.
class Reader {
 public:
  Reader(std::string_view bytes, const std::string& path) : bytes_(bytes), path_(path) {}

  template <typename T>
  T number(std::string_view what) {
    need(sizeof(T), what);
    std::uint64_t value = 0;
    for (std::size_t byte = 0; byte < sizeof(T); ++byte) {
      value |= std::uint64_t{static_cast<unsigned char>(bytes_[at_ + byte])} << (8 * byte);
    }
    at_ += sizeof(T);
    return static_cast<T>(value);
  }
  Bits bits(std::size_t count, std::string_view what) {
    need(count, what);
    Bits value = 0;
    for (std::size_t byte = 0; byte < count; ++byte) {
      value |= Bits{static_cast<unsigned char>(bytes_[at_ + byte])} << (8 * byte);
    }
    at_ += count;
    return value;
  }
  void need(std::size_t count, std::string_view what) const {
    if (bytes_.size() - at_ < count) fail(fmt::format("expected {}, got the end", what));
  }
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorCode::InvalidInput, fmt::format("{}: byte {}: {}", path_, at_, what));
  }
  [[nodiscard]] std::size_t left() const { return bytes_.size() - at_; }
  void skip(std::size_t count) { at_ += count; }

 private:
  std::string_view bytes_;
  const std::string& path_;
  std::size_t at_ = 0;
};

Entry read_entry(Reader& in, const Layout& layout, const Tables& tables) {
  const Bits bits = in.bits(layout.bytes(), "an entry");
  const auto at = [&](Field field) { return unpack(bits, layout, field); };
  const auto small = [&](Field field) { return static_cast<std::uint32_t>(at(field)); };
  const Entry entry{
      .op = static_cast<Opcode>(at(Field::Op)),
      .step = small(Field::Step),
      .flow = small(Field::Flow),
      .piece = small(Field::Piece),
      .peer = Rank{small(Field::Peer)},
      .port = small(Field::Port),
      .wait = small(Field::Wait),
      .turn = small(Field::Turn),
      .after = small(Field::After),
      .start = at(Field::Start),
      .size = at(Field::Size),
  };
  if (at(Field::Op) > 2) in.fail("expected op 0 (nop), 1 (reduce) or 2 (gather), got 3");
  if (value_of(entry, Field::Parity) != at(Field::Parity)) in.fail("an entry has the wrong parity");
  if (entry.step >= tables.steps || index(entry.peer) >= tables.ranks ||
      entry.start > tables.elements || entry.size > tables.elements - entry.start) {
    in.fail("an entry has a step, a peer or elements that are out of range");
  }
  return entry;
}

Layout read_layout(Reader& in) {
  constexpr std::array<std::uint8_t, kFields> kMost = {2,  32, 32, 32, 32, 32,
                                                       32, 32, 32, 64, 64, 1};
  Layout layout;
  for (std::size_t f = 0; f < kFields; ++f) {
    layout.width[f] = in.number<std::uint8_t>("a width");
    if (layout.width[f] == 0 || layout.width[f] > kMost[f]) {
      in.fail(fmt::format("expected 1 to {} bits for {}, got {}", kMost[f], kFieldNames[f],
                          layout.width[f]));
    }
  }
  if (layout.bits() > 128) {
    in.fail(fmt::format("expected entries of at most 128 bits, got {}", layout.bits()));
  }
  return layout;
}

std::string upper(std::string_view name) {
  std::string result;
  std::ranges::transform(name, std::back_inserter(result),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return result;
}

std::size_t longest(const Tables& tables) {
  std::size_t most = 0;
  for (const auto& entries : tables.of_rank) most = std::max(most, entries.size());
  return most;
}

}  // namespace

std::string write_image(const Tables& tables) {
  const Layout layout = layout_of(tables);
  check_width(layout);
  std::string out(kMagic);
  append(out, kVersion);
  append(out, static_cast<std::uint8_t>(tables.collective));
  append(out, static_cast<std::uint8_t>(tables.relative ? 1 : 0));
  append(out, index(tables.root));
  append(out, tables.ranks);
  append(out, tables.steps);
  append(out, tables.elements);
  for (const std::uint8_t width : layout.width) append(out, width);
  for (const auto& entries : tables.of_rank)
    append(out, static_cast<std::uint32_t>(entries.size()));
  for (const auto& entries : tables.of_rank) {
    for (const Entry& entry : entries) {
      const Bits bits = pack(entry, layout);
      for (std::uint32_t byte = 0; byte < layout.bytes(); ++byte) {
        out.push_back(static_cast<char>(static_cast<unsigned char>(bits >> (8 * byte))));
      }
    }
  }
  append(out, checksum(out));
  return out;
}

Tables read_image(std::string_view image, const std::string& path) {
  Reader in(image, path);
  in.need(kMagic.size(), "the word MTTABLE");
  if (!image.starts_with(kMagic)) in.fail("expected the word MTTABLE, got something else");
  in.skip(kMagic.size());
  const auto version = in.number<std::uint16_t>("a version");
  if (version != kVersion) in.fail(fmt::format("expected version 1, got {}", version));
  if (in.left() < sizeof(std::uint32_t)) in.fail("expected a checksum, got the end");
  const std::string_view covered = image.substr(0, image.size() - sizeof(std::uint32_t));
  const std::uint32_t stored =
      Reader(image.substr(covered.size()), path).number<std::uint32_t>("a checksum");
  if (stored != checksum(covered)) {
    in.fail(fmt::format("expected the checksum {:08x} of a whole image, got {:08x}", stored,
                        checksum(covered)));
  }
  Tables tables;
  const auto collective = in.number<std::uint8_t>("a collective");
  if (collective >= all_collectives().size()) in.fail("expected a collective below 5");
  tables.collective = static_cast<Collective>(collective);
  const auto form = in.number<std::uint8_t>("a form");
  if (form > 1) in.fail(fmt::format("expected form 0 (absolute) or 1 (relative), got {}", form));
  tables.relative = form == 1;
  tables.root = Rank{in.number<std::uint32_t>("a root")};
  tables.ranks = in.number<std::uint32_t>("a number of ranks");
  if (tables.ranks == 0 || tables.ranks > kMostRanks) {
    in.fail(fmt::format("expected 1 to {} ranks, got {}", kMostRanks, tables.ranks));
  }
  tables.steps = in.number<std::uint32_t>("a number of steps");
  tables.elements = in.number<std::uint64_t>("a number of elements");
  const Layout layout = read_layout(in);
  const std::uint32_t number = tables.relative ? 1 : tables.ranks;
  in.need(std::size_t{4} * number, "the sizes of the tables");
  std::vector<std::uint32_t> counts(number);
  for (std::uint32_t& count : counts) count = in.number<std::uint32_t>("a size");
  tables.of_rank.resize(number);
  for (std::uint32_t r = 0; r < number; ++r) {
    in.need(std::size_t{counts[r]} * layout.bytes(), fmt::format("the table of rank {}", r));
    tables.of_rank[r].reserve(counts[r]);
    for (std::uint32_t i = 0; i < counts[r]; ++i) {
      tables.of_rank[r].push_back(read_entry(in, layout, tables));
    }
  }
  if (in.left() != sizeof(std::uint32_t)) in.fail("expected the checksum, got more tables");
  return tables;
}

std::string memory_file(const Tables& tables, Rank rank) {
  const Layout layout = layout_of(tables);
  check_width(layout);
  const std::uint32_t digits = (layout.bits() + 3) / 4;
  std::string text;
  for (const Entry& entry : tables.of_rank[index(rank)]) {
    const Bits bits = pack(entry, layout);
    for (std::uint32_t d = digits; d-- > 0;) {
      text.push_back("0123456789abcdef"[static_cast<unsigned>(bits >> (4 * d)) & 15U]);
    }
    text.push_back('\n');
  }
  return text;
}

std::string systemverilog_package(const Tables& tables) {
  const Layout layout = layout_of(tables);
  check_width(layout);
  std::string text =
      "// Generated by multitree nic tables from the same description as the image.\n"
      "package multitree_table_pkg;\n";
  const auto add = [&](std::string_view name, std::uint64_t value) {
    fmt::format_to(std::back_inserter(text), "  localparam int unsigned {} = {};\n", name, value);
  };
  add("RANKS", tables.ranks);
  add("STEPS", tables.steps);
  add("DEPTH", longest(tables));
  add("ENTRY_W", layout.bits());
  for (std::size_t f = 0; f < kFields; ++f) {
    add(upper(kFieldNames[f]) + "_W", layout.width[f]);
    add(upper(kFieldNames[f]) + "_LSB", layout.offset(static_cast<Field>(f)));
  }
  add("OP_NOP", static_cast<std::uint64_t>(Opcode::Nop));
  add("OP_REDUCE", static_cast<std::uint64_t>(Opcode::Reduce));
  add("OP_GATHER", static_cast<std::uint64_t>(Opcode::Gather));
  return text + "endpackage\n";
}

}  // namespace multitree::nic

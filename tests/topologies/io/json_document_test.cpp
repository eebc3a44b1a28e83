// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// JSON values and the lines of what is wrong with them.
#include "topologies/io/json_document.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/topologies/error_matcher.hpp"

namespace multitree {
namespace {

using testing::StartsWith;
using Pointer = nlohmann::json::json_pointer;

std::string error_in(const std::string& text) {
  return error_of(ErrorCode::InvalidInput, [&] { JsonDocument(text, "f.json"); });
}

TEST(JsonDocument, BuildsWhatThePlainParserBuilds) {
  const std::string text = R"({"a": [1, -2, 3.5, true, false, null, "x\u00e9\n", {}, [[]]],
                               "b": {"a": {"c": 18446744073709551615}}, "": 1e3})";
  EXPECT_EQ(JsonDocument(text, "f").root(), nlohmann::json::parse(text));
  EXPECT_EQ(JsonDocument("7", "f").root(), 7);
  EXPECT_EQ(JsonDocument(" \n[ ] ", "f").root(), nlohmann::json::array());
}

struct BadText {
  std::string text;
  std::string message;
};

void PrintTo(const BadText& bad, std::ostream* out) {
  *out << slug(bad.message) << '_' << bad.text.size();
}

class BadJson : public testing::TestWithParam<BadText> {};

TEST_P(BadJson, IsRefusedWithItsLine) {
  EXPECT_THAT(error_in(GetParam().text), StartsWith(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Texts, BadJson,
    testing::Values(
        BadText{"", "f.json:1: the file is empty"}, BadText{"\n \n", "f.json:1: the file is empty"},
        BadText{"{\n\"a\": 1,\n\"b\": }\n", "f.json:3: syntax error while parsing value"},
        BadText{"{\"a\": 1", "f.json:1: syntax error while parsing object"},
        BadText{"[1,\n2", "f.json:2: syntax error while parsing array"},
        BadText{"[1]\n\n]", "f.json:3: syntax error while parsing value"},
        BadText{"{\"a\": 1,\n\"b\": {\"a\": 2,\n\"a\": 3}}", "f.json:3: the key 'a' is repeated"},
        BadText{"[1,\n1e999]", "f.json:2: number overflow"},
        BadText{"[12,\nNaN]", "f.json:2: syntax error"},
        BadText{"[\n\"\xC3\x28\"]", "f.json:2: a byte that is no UTF-8 text: 0xc3"},
        BadText{"[\n\"\xED\xA0\x80\"]", "f.json:2: a byte that is no UTF-8 text: 0xed"},
        BadText{"[\n\"ab\n", "f.json:2: syntax error while parsing value"},
        BadText{std::string("{\"a\":\n\0}", 8), "f.json:2: a byte that is no UTF-8 text: 0x00"},
        BadText{"[\n" + std::string(70, '[') + std::string(71, ']'),
                "f.json:2: nested deeper than 64 levels"},
        BadText{std::string(2'000'000, '['), "f.json:1: nested deeper than 64"}));

TEST(JsonDocument, FindsTheLineOfAnyValue) {
  const std::string text = R"({
  "a": [
    10, 11,
    {"b": [1,
           2
    ], "0": 7},
    12
  ],
  "long/er~": {

    "a": {"a":
      "end"}
  }
}
)";
  const JsonDocument document(text, "f.json");
  const auto line_of = [&](const char* path) {
    const std::string message =
        error_of(ErrorCode::InvalidInput, [&] { document.fail(Pointer(path), "x"); });
    return std::stoi(message.substr(message.find(':') + 1));
  };
  EXPECT_EQ(line_of(""), 1);
  EXPECT_EQ(line_of("/a"), 2);
  EXPECT_EQ(line_of("/a/0"), 3);
  EXPECT_EQ(line_of("/a/1"), 3);
  EXPECT_EQ(line_of("/a/2"), 4);
  EXPECT_EQ(line_of("/a/2/b/0"), 4);
  EXPECT_EQ(line_of("/a/2/b/1"), 5);
  EXPECT_EQ(line_of("/a/2/0"), 6);
  EXPECT_EQ(line_of("/a/3"), 7);
  EXPECT_EQ(line_of("/long~1er~0"), 9);
  EXPECT_EQ(line_of("/long~1er~0/a"), 11);
  EXPECT_EQ(line_of("/long~1er~0/a/a"), 12);
}

TEST(JsonValue, ChecksTypesAndRanges) {
  const std::string text =
      "{\"n\": -3,\n\"s\": \"text\",\n\"l\": [1, 2.5, 300],\n\"o\": {\"k\": 0}}";
  const JsonDocument document(text, "f.json");
  const JsonValue root(document);
  const auto error = [](auto action) { return error_of(ErrorCode::InvalidInput, action); };

  EXPECT_EQ(root.at("s").string(), "text");
  EXPECT_EQ(root.at("l").size(), 3U);
  EXPECT_EQ(root.at("l").at(std::size_t{0}).integer(0, 1), 1U);
  EXPECT_TRUE(root.has("o"));
  EXPECT_FALSE(root.has("x"));
  EXPECT_FALSE(root.at("l").has("x"));

  EXPECT_EQ(error([&] { (void)root.at("n").integer(0, 9); }),
            "f.json:1: 'n': expected an integer from 0 to 9, got -3");
  EXPECT_EQ(error([&] { (void)root.at("l").at(1).integer(0, 9); }),
            "f.json:3: 'l[1]': expected an integer from 0 to 9, got 2.5");
  EXPECT_EQ(error([&] { (void)root.at("l").at(2).integer(0, 9); }),
            "f.json:3: 'l[2]': expected an integer from 0 to 9, got 300");
  EXPECT_EQ(error([&] { (void)root.at("s").integer(0, 9); }),
            "f.json:2: 's': expected an integer from 0 to 9, got \"text\"");
  EXPECT_EQ(error([&] { (void)root.at("l").at(3); }),
            "f.json:3: 'l': expected at least 4 elements, got an array of 3");
  EXPECT_EQ(error([&] { (void)root.at("l").string(); }),
            "f.json:3: 'l': expected a string, got an array of 3");
  EXPECT_EQ(error([&] { (void)root.at("s").size(); }),
            "f.json:2: 's': expected an array, got \"text\"");
  EXPECT_EQ(error([&] { (void)root.at("s").at("k"); }),
            "f.json:2: 's': expected an object, got \"text\"");
  EXPECT_EQ(error([&] { (void)root.at("o").at("z"); }), "f.json:4: the member 'z' is missing");
  EXPECT_EQ(error([&] {
              root.at("o").check_keys({"a", "b"});
            }),
            "f.json:4: unknown key 'k'; known here: a, b");
  EXPECT_NO_THROW(root.at("o").check_keys({"a", "k"}));
}

}  // namespace
}  // namespace multitree

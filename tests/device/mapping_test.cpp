// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Devices that say that they map each other, and then do not: messages take their place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "device_support.hpp"
#include "fake_device.hpp"

namespace multitree::runtime::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::uint32_t kMappers = 3;

/// What goes wrong at which ranks, and what remains of it.
struct Case {
  const char* name;
  Reach reach;
  std::uint32_t first, last;  ///< the ranks
  std::uint64_t maps;         ///< that succeed there
  bool shares;                ///< whether handles can be made there
  const char* words;          ///< of those ranks' communicators
};

/// A try is two mappings at each rank, and so are the places for one kernel.
constexpr std::array kCases{
    Case{"OneRankMapsNobody", Reach::Mapped, 1, 1, 0, true, "2 staged"},
    Case{"OneRankMapsOneOther", Reach::Mapped, 1, 1, 1, true, "1 staged, 1 mapped"},
    Case{"NobodyMaps", Reach::Mapped, 0, 2, 0, true, "2 staged"},
    Case{"NobodyMapsForOneKernel", Reach::Walked, 0, 2, 0, true, "2 staged"},
    Case{"OneRankIsNotMapped", Reach::Mapped, 0, 0, 100, false, "2 mapped"},
    Case{"OneRankIsNotMappedForOneKernel", Reach::Walked, 0, 0, 100, false, "2 mapped"},
    Case{"NobodyIsMapped", Reach::Walked, 0, 2, 100, false, "2 staged"},
    Case{"LaterMappingsFail", Reach::Mapped, 2, 2, 2, true, "2 mapped"},
    Case{"AllLaterMappingsFail", Reach::Mapped, 0, 2, 2, true, "2 mapped"},
    Case{"SomeLaterMappingsFail", Reach::Mapped, 0, 2, 3, true, "2 mapped"},
    Case{"MappingsForOneKernelFail", Reach::Walked, 1, 1, 2, true, "2 mapped"},
    Case{"HalfOfThemForOneKernelFail", Reach::Walked, 1, 1, 3, true, "2 mapped"},
    Case{"MappingsAfterOneKernelFail", Reach::Walked, 1, 1, 4, true, "one kernel"},
};

class FailingMappings : public ::testing::TestWithParam<Case> {};

TEST_P(FailingMappings, AreReplacedByMessages) {
  const Case& is = GetParam();
  run_ranks(kMappers, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
    const std::uint32_t self = index(bootstrap->seat());
    const bool affected = self >= is.first && self <= is.last;
    FakeOptions options = fake_options(is.reach, 50 + self, bootstrap->seat());
    if (affected) {
      options.maps = is.maps;
      options.fails_to_share = !is.shares;
    }
    const auto fake = make_fake_device(options);
    Communicator communicator(bootstrap, ring_schedules(kMappers), walking(fake, 512));
    if (affected) {
      EXPECT_THAT(communicator.describe(), HasSubstr(is.words));
    }
    if (is.reach == Reach::Walked && is.maps != 4) {
      EXPECT_THAT(communicator.describe(), Not(HasSubstr("one kernel")));
    }
    const OwnedStream stream(*fake);
    for (const Collective collective : all_collectives()) {
      for (const std::size_t count : {1U, 777U, 5000U}) {
        for (const bool in_place : {false, true}) {
          check_on_device(communicator, *fake, stream.get(), collective, Rank{0}, count,
                          DataType::Float32, ReduceOp::Sum, in_place, count == 777);
        }
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(All, FailingMappings, ::testing::ValuesIn(kCases),
                         [](const auto& made) { return made.param.name; });

}  // namespace
}  // namespace multitree::runtime::test

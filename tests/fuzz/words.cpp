// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Words of flags and variables that are read by functions of their own.
#include <cstring>

#include "algorithms/collective.hpp"
#include "fuzz.hpp"
#include "nic/simulate.hpp"
#include "runtime/job/wire_internal.hpp"
#include "runtime/kernels/data_type.hpp"
#include "topologies/group.hpp"
#include "topologies/units.hpp"
#include "training/learners/steps.hpp"

using namespace multitree;

namespace {

using Reader = void (*)(std::string_view);
constexpr Reader kReaders[] = {
    [](std::string_view text) { static_cast<void>(parse_bytes(text)); },
    [](std::string_view text) { static_cast<void>(parse_bandwidth(text)); },
    [](std::string_view text) { static_cast<void>(parse_time(text)); },
    [](std::string_view text) { static_cast<void>(parse_ranks(text, 100)); },
    [](std::string_view text) { static_cast<void>(parse_collective(text)); },
    [](std::string_view text) { static_cast<void>(nic::parse_model(text)); },
    [](std::string_view text) { static_cast<void>(runtime::parse_address(text, "words")); },
    [](std::string_view text) { static_cast<void>(runtime::parse_data_type(text)); },
    [](std::string_view text) { static_cast<void>(runtime::parse_reduce_op(text)); },
    [](std::string_view text) { static_cast<void>(runtime::parse_wire(text)); },
    [](std::string_view text) { static_cast<void>(runtime::parse_summing(text)); },
    [](std::string_view text) { static_cast<void>(training::parse_optimizer(text)); },
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // No argument of a program holds a NUL.
  if (size == 0 || std::memchr(data + 1, 0, size - 1) != nullptr) return 0;
  const auto read = kReaders[data[0] % std::size(kReaders)];
  return fuzz::read(data + 1, size - 1, read);
}

// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What a communicator holds, and how a call becomes a started collective.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "runtime/communicator.hpp"
#include "runtime/device/collectives_internal.hpp"
#include "runtime/host/group_internal.hpp"
#include "runtime/operation_internal.hpp"

namespace multitree::runtime {

/// A schedule made ready for this rank, and the largest vector that it is for.
struct SizedLoaded {
  std::shared_ptr<const LoadedSchedule> loaded;
  std::uint64_t max_bytes = std::numeric_limits<std::uint64_t>::max();
};

struct Communicator::Impl {
  std::shared_ptr<Engine> engine;
  std::unique_ptr<device::Collectives> device;  ///< null without one
  CommunicatorOptions options;
  std::string description;
  /// By Collective, and ascending by size as in SizedSchedules; empty if none.
  std::array<std::vector<SizedLoaded>, 5> schedules;
  std::map<std::tuple<Collective, std::size_t, std::size_t>, std::shared_ptr<const LoadedProgram>>
      programs;  ///< by collective, elements, element size
  std::uint64_t sequence = 0;
  std::uint64_t finished_before = 0;
  std::unique_ptr<host::Group> group;                        ///< null: by messages
  std::vector<std::shared_ptr<host::Mapping>> plain_memory;  ///< allocate() without it
  int exceptions = std::uncaught_exceptions();

  void load(SizedSchedules plan, const Bootstrap& bootstrap);
  /// Collective: which ranks have a device.
  device::Identities find_devices(Bootstrap& job);
  void join_host(Bootstrap& job, bool wanted);
  void open_device(Bootstrap& job, const device::Identities& identities);
  /// Ends what is outstanding on the device; what was not finished is given up.
  void close_device(bool finish, const std::string& reason);
  void fill_in_for_one_rank();
  [[nodiscard]] std::vector<std::uint32_t> peers() const;
  void validate(const Call& call) const;
  /// Whether it goes over the device. \throws Error(Unsupported) where nothing does
  [[nodiscard]] bool on_device(const Call& call) const;
  [[nodiscard]] const std::shared_ptr<const LoadedSchedule>& schedule_for(const Call& call) const;
  std::shared_ptr<const LoadedProgram> program_for(const Call& call);
  [[nodiscard]] std::uint32_t root_of(Collective collective) const;
  /// `program`: where it is known already.
  Request start(const Call& call, std::shared_ptr<const LoadedProgram> program = nullptr);
  Request start(const Call& call, Stream stream);
  /// `in_order`: the stream waits for the end; otherwise the caller does.
  Request start_on_device(const Call& call, std::shared_ptr<const LoadedProgram> program,
                          Stream stream, bool in_order);
  /// Starts and waits.
  void run(const Call& call);
};

}  // namespace multitree::runtime

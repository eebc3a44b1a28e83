// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What a communicator holds: its engine, and the paths that its calls take.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/communicator.hpp"
#include "runtime/device/device_path_internal.hpp"
#include "runtime/exchange/exchanges_internal.hpp"
#include "runtime/execution/path_internal.hpp"
#include "runtime/execution/replanner_internal.hpp"
#include "runtime/flight/recorder_internal.hpp"
#include "runtime/host/group_internal.hpp"

namespace multitree::runtime {

struct Communicator::Impl {
  std::shared_ptr<Engine> engine;
  CommunicatorOptions options;
  ProgressChoice progress;
  bool looks_through = false;  ///< inputs are looked through before they are sent
  std::string description;
  std::shared_ptr<flight::FlightRecorder> record;  ///< null: nobody wants one
  std::unique_ptr<device::DevicePath> device;      ///< null without a device
  std::unique_ptr<HostMemoryPath> host;
  std::unique_ptr<Exchanges> exchanges;
  std::uint64_t sequence = 0;
  std::vector<std::uint64_t> maxima;  ///< numbers of calls that are parts of others (ExactSum)
  std::uint64_t finished_before = 0;
  int exceptions = std::uncaught_exceptions();

  /// Notes the call that `sequence` is the number of, where that is wanted.
  void note(const Call& call) const;
  /// The same of one whose request says when it has ended.
  [[nodiscard]] Request noted(const Call& call) const;
  [[nodiscard]] Request noted(const ExchangeCall& call) const;

  /// Of a call on host memory that is to be made next. \throws Error(InvalidArgument) naming what
  /// is not finite in its input, after telling the others; as check_buffers(), moves_of()
  void look_through(const Call& call);
  void look_through(const ExchangeCall& call);
  [[noreturn]] void tell_of_input(const CommonCall& call, const std::string& what);

  /// Collective: which ranks have a device.
  device::Identities find_devices(Bootstrap& job);
  /// Collective: the ranks as those of one host, if they are; null otherwise.
  [[nodiscard]] std::unique_ptr<host::Group> join_host(Bootstrap& job, bool wanted) const;
  /// Null: schedules stay.
  [[nodiscard]] std::unique_ptr<Replanner> make_replanner(
      const Planned& planned, std::shared_ptr<const Remaking> remaking) const;
  void open_device(Bootstrap& job, const device::Identities& identities, Planned planned);
  /// Ends what is outstanding on the device; what was not finished is given up.
  void close_device(bool finish, const std::string& reason);
  void check_usable() const;
  /// What Exchanges::check() leaves. \throws Error(Unsupported) for memory of the device
  void check(const ExchangeCall& call) const;
  /// \throws Error(Unsupported) unless it may travel, and be summed, as it asks to.
  static void check_wire(const Call& call, bool on_device);
  static void check_summing(const Call& call, bool on_device);
  /// How many of the calls with lower numbers than this are not the user's.
  [[nodiscard]] std::uint64_t own_calls_before(std::uint64_t number) const;
  /// The one that takes a call. \throws Error: none does
  Path& path_of(const Call& call);
  /// `program`: what the path has prepared.
  std::unique_ptr<Operation> start(const Call& call, Path& path,
                                   std::shared_ptr<const LoadedProgram> program);
};

/// Whether inputs are looked through. \throws Error(InvalidArgument): the environment variable says
/// neither
bool checks_finite(const std::optional<bool>& choice);

/// As make_transport(), but where a rank has died meanwhile, the error says so.
std::unique_ptr<Transport> open_transport(const std::string& name, Bootstrap& job,
                                          const TransportOptions& options);

}  // namespace multitree::runtime

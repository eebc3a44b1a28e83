// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The meeting point of a job: a thread that keeps one control connection to every rank.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/job/doors_internal.hpp"
#include "runtime/job/origin_internal.hpp"
#include "runtime/job/wire_internal.hpp"

namespace multitree::runtime {

/// What a rank knows of the job that it belongs to: told to whoever it meets again.
struct Standing {
  Origin self{};
  std::uint32_t epoch = 0;  ///< how often the job was shrunk
  Members members;
  std::vector<LinkBetween<Origin>> dead_links = {};  ///< as told when it was shrunk last
  /// Who was in it before the last shrinks, as long as it is not known that all members have been
  /// told of them: somebody may go by what was before.
  std::vector<Members> unsettled = {};
};
std::string pack(const Standing& standing);
/// Standing::unsettled, as part of more.
void write(const std::vector<Members>& unsettled, Writer& writer);
/// Empty if there is none.
std::optional<std::vector<Members>> read_unsettled(Reader& reader);
/// Empty if `text` is none.
std::optional<Standing> unpack_standing(const std::string& text);

/// Accepts `ranks` ranks that know `token`, gathers their blobs, and tells everybody at once when a
/// connection ends without a goodbye. Whoever does not belong is refused and changes nothing.
///
/// Where the ranks host it themselves, every one of them has one. One is in charge, the others
/// stand by: when the one in charge is lost, the survivors meet at the lowest rank that they can
/// reach, and its coordinator is in charge of those that are left. docs/runtime.md has the rule by
/// which two halves of a job never both go on.
///
/// Jobs that were parted from the first meet here as well, each by its number: their ranks share
/// connections, and whoever knows the token of the first may begin one.
///
/// Of those who have not shown that they know the token a number is heard at a time, and the oldest
/// makes room for the next.
class Coordinator {
 public:
  Coordinator(Socket listener, std::uint32_t ranks, const std::string& token,
              bool in_charge = true);
  /// Says goodbye; gives the ranks a moment to have read everything.
  ~Coordinator();
  Coordinator(const Coordinator&) = delete;
  Coordinator& operator=(const Coordinator&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_; }
  /// The address that it listens at; kAnyAddress: all of this host.
  [[nodiscard]] const std::string& address() const { return address_; }

  /// From any thread: whoever started this rank saw it end. Of a rank that had come its connection
  /// tells as much; of one that had not, the others would wait in vain.
  void died(Origin rank, const std::string& how);

  // From the rank that hosts it:
  /// It is in a part of the job, which meets here or stands by.
  void open_part(JobNumber job, std::uint32_t ranks, bool in_charge);
  /// Who is in the job by now. `doors`: by origin; from here on ranks may come again, and a job
  /// goes on only where no other part of it can.
  void stand_by(Standing standing, std::vector<Door> doors, JobNumber job = kFirstJob);
  /// The rank that hosts it was left out: unless it is in charge, nobody is to meet here.
  void retire(JobNumber job = kFirstJob);
  /// The rank that hosts it has left the job: says goodbye to those who are there.
  void leave(JobNumber job);

 private:
  class Server;
  std::uint16_t port_;
  std::string address_;
  std::unique_ptr<Server> server_;
};

}  // namespace multitree::runtime

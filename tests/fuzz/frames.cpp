// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What ranks that know the key may say to a coordinator, in any order: three connections, jobs of
/// their own, address books, shrinking. As Coordinator::Server, without its thread and its sockets.
#include <map>
#include <memory>
#include <vector>

#include "runtime/job/assembly_internal.hpp"
#include "runtime/job/ledger_internal.hpp"
#include "sockets.hpp"

using namespace multitree;
using namespace multitree::runtime;

namespace {

class Meeting {
 public:
  /// One that stands by knows the doors of all; nobody listens behind these.
  explicit Meeting(bool in_charge) {
    Assembly& first = assemblies_.try_emplace(kFirstJob, kRanks, in_charge).first->second;
    if (!in_charge)
      first.stand_by({Origin{}, 0, all_members(kRanks), {}}, std::vector<Door>(kRanks));
  }

  void hear(std::size_t who, FrameType type, const std::string& payload, JobNumber job) {
    Caller& caller = callers_[who];
    caller.channel.send(type, payload, job);
    caller.trunk->fill();
    for (const auto& [number, has_line, first] : caller.trunk->news()) {
      if (!has_line) begin(caller.trunk, number, first);
      serve(*caller.trunk, number);
    }
    // What is answered is read, so that sockets do not fill.
    caller.channel.fill();
    while (caller.channel.next()) {
    }
  }
  void sweep() {
    for (auto& [job, assembly] : assemblies_) assembly.serve();
  }

 private:
  static constexpr std::uint32_t kRanks = 3;

  struct Caller {
    Caller() : Caller(fuzz::Ends()) {}
    explicit Caller(fuzz::Ends ends)
        : channel(std::move(ends.near), fuzz::key()),
          trunk(std::make_shared<Trunk>(std::move(ends.far), fuzz::key(), Trunk::Welcomes::Jobs)) {
      for (int word = 0; word < 3; ++word) {
        trunk->fill();
        channel.fill();
      }
      fuzz::expect(trunk->known() && channel.known(), "two with the same key do not meet");
    }
    Channel channel;
    std::shared_ptr<Trunk> trunk;
  };

  void begin(const std::shared_ptr<Trunk>& trunk, JobNumber job, FrameType first) {
    const auto it = assemblies_.find(job);
    if (it == assemblies_.end() && first == FrameType::Hello) {
      JobLine line(trunk, job);
      const auto frame = line.next();
      const auto hello = read_hello(frame->payload);
      const bool begins = hello && hello->size <= kMostRanks;
      Assembly& home = begins ? assemblies_.try_emplace(job, hello->size, true).first->second
                              : assemblies_.at(kFirstJob);
      return home.add(std::move(line), *frame);
    }
    if (first == FrameType::OpenBook && it == assemblies_.end()) {
      return ledgers_[job].add(JobLine(trunk, job));
    }
    Assembly& home = it == assemblies_.end() ? assemblies_.at(kFirstJob) : it->second;
    home.add(JobLine(trunk, job));
  }
  void serve(const Trunk& trunk, JobNumber job) {
    if (const auto ledger = ledgers_.find(job); ledger != ledgers_.end()) {
      ledger->second.serve(trunk);
      if (ledger->second.over()) ledgers_.erase(ledger);
      return;
    }
    const auto it = assemblies_.find(job);
    if (it == assemblies_.end()) return assemblies_.at(kFirstJob).serve(trunk, job);
    it->second.serve(trunk, job);
    if (job != kFirstJob && it->second.over()) assemblies_.erase(it);
  }

  std::array<Caller, kRanks> callers_;
  std::map<JobNumber, Assembly> assemblies_;
  std::map<JobNumber, Ledger> ledgers_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Bytes bytes(data, size);
  Meeting meeting(bytes.below(2) == 0);
  while (!bytes.empty()) {
    const std::size_t who = bytes.below(3);
    const auto type = static_cast<FrameType>(bytes.byte());
    const JobNumber job{bytes.below(4)};
    meeting.hear(who, type, bytes.text(), job);
    if (who == 0) meeting.sweep();
  }
  return 0;
}

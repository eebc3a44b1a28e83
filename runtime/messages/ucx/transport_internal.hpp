// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Tagged messages over UCX: one endpoint a peer, on the rail of the wire to it where there is one.
#pragma once

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/messages/network/watch_internal.hpp"
#include "runtime/messages/transport.hpp"
#include "runtime/messages/ucx/connections_internal.hpp"
#include "runtime/messages/ucx/library_internal.hpp"

namespace multitree::runtime {

class Ucx final : public Transport {
 public:
  Ucx(Bootstrap& bootstrap, const TransportOptions& options);
  ~Ucx() override { close(true); }

  void send(Seat peer, std::uint64_t tag, const void* data, std::size_t bytes,
            Completion& completion) override;
  void receive(Seat peer, std::uint64_t tag, void* data, std::size_t bytes,
               Completion& completion) override;
  [[nodiscard]] bool has_come(Seat peer, std::uint64_t tag) const override;
  [[nodiscard]] bool takes_device_memory() const override {
    return ucx_ != nullptr && std::ranges::all_of(ucx_->rails, &Rail::cuda);
  }
  void send_device(Seat peer, std::uint64_t tag, const void* data, std::size_t bytes,
                   Completion& completion) override;
  void receive_device(Seat peer, std::uint64_t tag, void* data, std::size_t bytes,
                      Completion& completion) override;
  bool progress() override;
  void flush(Seat peer, Completion& completion) override { ucx_->flush(met(peer), completion); }
  bool drain(Deadline deadline) override;
  void abort() override { close(false); }
  bool sleep(std::chrono::milliseconds time) override {
    return ucx_ != nullptr && ucx_->sleep(time);
  }
  Arrivals await_arrivals(std::vector<int>& descriptors) override;
  [[nodiscard]] std::optional<SilentLinks> silent_links() const override;
  [[nodiscard]] TransportLimits limits() const override;
  [[nodiscard]] std::string describe() const override;

 private:
  /// Longest wait between two looks.
  static constexpr std::chrono::milliseconds kNap{5};
  void open_rails(const Host& own);
  /// `mine`: worker addresses by the wire they are for; the empty name is for all else.
  void connect_all(Bootstrap& bootstrap, Addresses mine, Deadline deadline);
  /// Of one that is no neighbour. \throws Error
  [[nodiscard]] std::string address_of_stranger(Seat seat);
  void greet(Bootstrap& bootstrap, Deadline deadline);
  /// Whoever is no neighbour is met when something is first sent or awaited. \throws
  /// Error(Transport)
  Peer& met(Seat seat);
  void make_room();
  Posted& post(Seat peer, bool receive, std::size_t bytes, Completion& completion);
  void send_from(ucs_memory_type_t memory, Seat peer, std::uint64_t tag, const void* data,
                 std::size_t bytes, Completion& completion);
  void receive_into(ucs_memory_type_t memory, Seat peer, std::uint64_t tag, void* data,
                    std::size_t bytes, Completion& completion);
  void settle(Posted& posted);
  void report_failed_peers();
  void close(bool orderly);

  Seat self_;
  LinkWatch links_;
  std::unique_ptr<Connections> ucx_ = std::make_unique<Connections>();  ///< null once closed
  std::vector<Posted*> free_, batch_;
  Rail* rail_for_all_ = nullptr;  ///< to those who are no neighbours
  std::unique_ptr<AddressBook> book_;
};

}  // namespace multitree::runtime

// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Collectives on device memory, by messages.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/device/collectives_internal.hpp"
#include "runtime/execution/message_path_internal.hpp"

namespace multitree::runtime::device {

class DevicePath final : public Path {
 public:
  /// `sends_messages`: whether the communicator does. Else device memory is refused.
  DevicePath(Planned planned, std::unique_ptr<Collectives> collectives, bool sends_messages,
             Deadline timeout)
      : planned_(std::move(planned)),
        collectives_(std::move(collectives)),
        sends_messages_(sends_messages),
        timeout_(timeout) {}

  /// \throws Error(Unsupported) for device memory where no messages are sent,
  /// Error(InvalidArgument) as Collectives::takes().
  [[nodiscard]] bool takes(const Call& call) const override;
  std::shared_ptr<const LoadedProgram> prepare(const Call& call) override {
    return planned_.prepare(call);
  }
  std::unique_ptr<Operation> start(const Call& call, std::shared_ptr<const LoadedProgram> program,
                                   std::uint64_t sequence) override;
  [[nodiscard]] std::string algorithm(Collective collective, std::uint64_t bytes) const override {
    return planned_.programs().algorithm(collective, bytes);
  }

  /// Before start_in_order(). \throws Error(Unsupported), Error(InvalidArgument): as
  /// Collectives::check_streamed()
  void check_streamed(const Call& call) const;
  /// How start_in_order() does that, as a rule. \throws Error(Cuda)
  [[nodiscard]] StreamOrder order_on(Stream stream) const {
    return sends_messages_ ? collectives_->order_on(stream) : StreamOrder::Waits;
  }
  /// In the order of a stream; returns at once where the stream can be held until the end.
  std::unique_ptr<Operation> start_in_order(const Call& call,
                                            std::shared_ptr<const LoadedProgram> program,
                                            std::uint64_t sequence, Stream stream);

  /// Ends what is outstanding, with `finish` as far as it can be finished.
  void close(bool finish, const std::string& reason);
  /// After close(), where not all ranks have come to it: a peer's kernel may still use our memory.
  void keep() { collectives_->keep(); }
  [[nodiscard]] std::string describe() const {
    return collectives_->describe(planned_.programs().peers());
  }

 private:
  Planned planned_;
  std::unique_ptr<Collectives> collectives_;
  bool sends_messages_;
  Deadline timeout_;
};

}  // namespace multitree::runtime::device

// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Messages between two ranks over TCP: what NCCL needs of every network plugin beside its
/// collectives. A connection is one way, used by one thread at a time, and moves only in test().
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/nccl/abi_internal.hpp"

namespace multitree::nccl {

/// A file descriptor that is closed with its owner.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept : number_(other.number_) { other.number_ = -1; }
  Descriptor& operator=(Descriptor&& other) noexcept;
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int number() const { return number_; }

 private:
  int number_;
};

class Connection;

/// A message under way, a request of NCCL's.
struct Message {
  Connection* connection = nullptr;  ///< null: this place is free
  char* data = nullptr;
  std::uint64_t size = 0;   ///< of the buffer; once its length is known, of the message
  std::uint64_t moved = 0;  ///< bytes, with the length that travels before the data
  std::uint64_t length = 0;
  [[nodiscard]] bool done() const { return moved == sizeof length + size && length == size; }
};

class Connection {
 public:
  enum class Way { Out, In };
  Connection(Descriptor socket, Way way) : socket_(std::move(socket)), way_(way) {}
  /// Null if as many as a connection takes are under way. A receive takes a message of `size` bytes
  /// or less.
  Message* post(void* data, std::size_t size);
  /// Moves what can be moved, then says whether this message is complete; if so its place is free
  /// again.
  Result test(Message& message, int* done, int* size);

 private:
  Result progress();
  Result move(Message& message, bool& blocked);
  Result take_length(Message& message) const;

  static constexpr std::size_t kPlaces = 64;
  Descriptor socket_;
  Way way_;
  std::array<Message, kPlaces> messages_;
  std::uint64_t posted_ = 0, moved_ = 0;
  Result state_ = kSuccess;  ///< a failure is final
};

/// Where a peer connects to. Whoever does not know the secret of its handle is turned away.
class Listener {
 public:
  /// \throws std::runtime_error
  explicit Listener(void* handle);
  /// The peer's connection; null as long as it has not come. Never waits.
  std::unique_ptr<Connection> accept();

 private:
  using Secret = std::array<unsigned char, 16>;
  struct Stranger {
    Descriptor socket;
    Secret said{};
    std::size_t heard = 0;
  };
  struct Handle;
  friend std::unique_ptr<Connection> connect_to(const void* handle);

  Descriptor socket_;
  Secret secret_{};
  std::vector<Stranger> strangers_;
};

/// To the listener of a handle, within some seconds, whether it has called accept() or not.
/// \throws std::runtime_error
std::unique_ptr<Connection> connect_to(const void* handle);

}  // namespace multitree::nccl

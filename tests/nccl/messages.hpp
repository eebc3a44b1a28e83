// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Messages around a ring of ranks, as NCCL's own transport makes them.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>
#include <string>
#include <vector>

#include "tests/nccl/processes.hpp"
#include "tests/nccl/tables.hpp"

namespace multitree::nccl {

template <int kVersion>
class MessagesTest {
 public:
  MessagesTest(const Tables<kVersion>& tables, Shared& shared, int ranks, int rank)
      : tables_(tables), shared_(shared), ranks_(ranks), rank_(rank) {}

  void run() {
    connect_around();
    for (const std::size_t bytes : {0UL, 1UL, 4096UL, 3'000'001UL}) pass_on(bytes, bytes);
    pass_on(10, 100);
    many_at_once();
    all_places_taken();
    too_long();
    close();
    connect_around();
    pass_on(5, 5);
    peer_closes();
  }

 private:
  using Bytes = std::vector<unsigned char>;

  static unsigned char value(int rank, std::size_t i) {
    return static_cast<unsigned char>(static_cast<std::size_t>(rank) * 31 + i * 7 + i / 251);
  }
  static Bytes pattern(int rank, std::size_t bytes) {
    Bytes data(bytes);
    for (std::size_t i = 0; i < bytes; ++i) data[i] = value(rank, i);
    return data;
  }
  [[nodiscard]] int before() const { return (rank_ + ranks_ - 1) % ranks_; }

  void connect_around() {
    void* listener = nullptr;
    expect(tables_.listen(shared_.handles[static_cast<std::size_t>(rank_)].data(), &listener),
           kSuccess, "listen");
    shared_.barrier(ranks_);
    const auto next = static_cast<std::size_t>((rank_ + 1) % ranks_);
    // Somebody who does not know the secret comes first, somebody silent after him, and neither is
    // in the way.
    const int intruder = knock(shared_.handles[next], Bytes(16, 0));
    const int silent = knock(shared_.handles[next], {});
    wait_until("connect", [&] {
      expect(tables_.connect(shared_.handles[next].data(), &out_), kSuccess, "connect");
      return out_ != nullptr;
    });
    wait_until("accept", [&] {
      expect(tables_.accept(listener, &in_), kSuccess, "accept");
      return in_ != nullptr;
    });
    shared_.barrier(ranks_);
    ::close(intruder);
    ::close(silent);
    expect(tables_.messages().close_listen(listener), kSuccess, "closeListen");
    void* registration = nullptr;
    expect(tables_.messages().register_memory(out_, this, 1, kHostMemory, &registration), kSuccess,
           "regMr");
    expect(tables_.messages().deregister(out_, registration), kSuccess, "deregMr");
    expect(tables_.messages().register_memory(out_, this, 1, 2, &registration), kInvalidArgument,
           "regMr of a GPU");
  }

  static int knock(const std::array<char, kHandleBytes>& handle, const Bytes& words) {
    sockaddr_in address{};
    std::memcpy(&address, handle.data(), sizeof address);
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
        ::send(socket, words.data(), words.size(), MSG_NOSIGNAL) !=
            static_cast<ssize_t>(words.size())) {
      throw std::runtime_error("a stranger could not even knock");
    }
    return socket;
  }

  void* post_send(const Bytes& data) {
    void* request = nullptr;
    expect(tables_.send(out_, data.data(), data.size(), &request), kSuccess, "isend");
    return request;
  }
  void* post_receive(Bytes& data) {
    void* request = nullptr;
    expect(tables_.receive(in_, data.data(), data.size(), &request), kSuccess, "irecv");
    return request;
  }

  /// Tests all of them until all are complete. \returns their sizes
  std::vector<int> finish(std::vector<void*> requests) {
    std::vector<int> sizes(requests.size(), -1);
    std::size_t open = requests.size();
    wait_until("messages", [&] {
      for (std::size_t i = requests.size(); i-- > 0;) {  // in an order that is not theirs
        int done = 0;
        if (requests[i] == nullptr) continue;
        expect(tables_.test_message(requests[i], &done, &sizes[i]), kSuccess, "test");
        if (done == 0) continue;
        requests[i] = nullptr;
        --open;
      }
      return open == 0;
    });
    return sizes;
  }

  static void check(const Bytes& found, int sender, std::size_t bytes) {
    for (std::size_t i = 0; i < found.size(); ++i) {
      const int expected = i < bytes ? value(sender, i) : 0xee;
      if (found[i] != expected) expect(found[i], expected, ("byte " + std::to_string(i)).c_str());
    }
  }

  /// `room`: bytes of the receiver's buffer, of which those behind the message stay as they were.
  void pass_on(std::size_t bytes, std::size_t room) {
    const Bytes mine = pattern(rank_, bytes);
    Bytes theirs(room, 0xee);
    const std::vector<int> sizes = finish({post_receive(theirs), post_send(mine)});
    expect(sizes[0], static_cast<int>(bytes), "bytes received");
    expect(sizes[1], static_cast<int>(bytes), "bytes sent");
    check(theirs, before(), bytes);
  }

  void many_at_once() {
    constexpr std::size_t kMany = 32;
    std::vector<Bytes> out, in;
    std::vector<void*> requests;
    for (std::size_t i = 0; i < kMany; ++i) {
      out.push_back(pattern(rank_, 1000 * i));
      in.emplace_back(1000 * i, 0xee);
    }
    for (std::size_t i = 0; i < kMany; ++i) requests.push_back(post_receive(in[i]));
    for (std::size_t i = 0; i < kMany; ++i) requests.push_back(post_send(out[i]));
    finish(requests);
    for (std::size_t i = 0; i < kMany; ++i) check(in[i], before(), 1000 * i);
  }

  /// NCCL asks again where there is no room for a request.
  void all_places_taken() {
    const Bytes mine = pattern(rank_, 8);
    std::vector<Bytes> in(1000, Bytes(8, 0xee));
    std::vector<void*> requests;
    for (Bytes& room : in) {
      void* const request = post_receive(room);
      if (request == nullptr) break;
      requests.push_back(request);
    }
    const std::size_t taken = requests.size();
    expect(taken >= 32 && taken < in.size() ? 1 : 0, 1, "a bound on requests of at least 32");
    for (std::size_t i = 0; i < taken; ++i) requests.push_back(post_send(mine));
    finish(requests);
    for (std::size_t i = 0; i < taken; ++i) check(in[i], before(), 8);
    pass_on(8, 8);
  }

  /// Breaks the connections.
  void too_long() {
    const Bytes mine = pattern(rank_, 100);
    Bytes room(99, 0xee);
    finish({post_send(mine)});
    void* const in = post_receive(room);
    expect(failure_of(in), kInvalidUsage, "a message that is too long");
    expect(failure_of(in), kInvalidUsage, "the same again");
    expect(room[0], 0xee, "the buffer that is too short");
    shared_.barrier(ranks_);
  }

  void peer_closes() {
    Bytes room(10);
    void* const in = post_receive(room);
    expect(tables_.messages().close_send(out_), kSuccess, "closeSend");
    expect(failure_of(in), kRemoteError, "a peer that has closed");
    expect(tables_.messages().close_receive(in_), kSuccess, "closeRecv");
  }

  int failure_of(void* request) {
    int result = kSuccess;
    wait_until("a failure", [&] {
      int done = 0, size = 0;
      result = tables_.test_message(request, &done, &size);
      expect(done, 0, "a failed message's done");
      return result != kSuccess;
    });
    return result;
  }

  void close() {
    expect(tables_.messages().close_send(out_), kSuccess, "closeSend");
    expect(tables_.messages().close_receive(in_), kSuccess, "closeRecv");
    in_ = out_ = nullptr;
    shared_.barrier(ranks_);
  }

  const Tables<kVersion>& tables_;
  Shared& shared_;
  int ranks_, rank_;
  void* out_ = nullptr;
  void* in_ = nullptr;
};

}  // namespace multitree::nccl

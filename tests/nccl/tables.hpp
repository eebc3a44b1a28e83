// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The plugin's tables as NCCL finds them, every version behind the same calls.
#pragma once

#include <dlfcn.h>

#include <stdexcept>
#include <string>
#include <type_traits>

#include "runtime/nccl/abi_internal.hpp"

namespace multitree::nccl {

/// The layouts of a version.
template <int kVersion>
struct Layout;
template <>
struct Layout<8> {
  using Net = Net8;
  using CollNet = CollNet8;
  using P = Properties8;
  using Size = int;
};
template <>
struct Layout<9> {
  using Net = Net9;
  using CollNet = CollNet9;
  using P = Properties9;
  using Size = std::size_t;
};
template <>
struct Layout<10> {
  using Net = Net10;
  using CollNet = CollNet9;
  using P = Properties9;
  using Size = std::size_t;
};
template <>
struct Layout<11> {
  using Net = Net11<Properties11>;
  using CollNet = CollNet11<Properties11>;
  using P = Properties11;
  using Size = std::size_t;
};
template <>
struct Layout<12> {
  using Net = Net11<Properties12>;
  using CollNet = CollNet11<Properties12>;
  using P = Properties12;
  using Size = std::size_t;
};

/// Throws where a function of the plugin does not answer as expected.
inline void expect(int result, int expected, const char* what) {
  if (result == expected) return;
  throw std::runtime_error(std::string(what) + ": expected result " + std::to_string(expected) +
                           ", found " + std::to_string(result));
}

/// The tables of a version, called as that version's NCCL calls them.
template <int kVersion>
class Tables {
 public:
  using L = Layout<kVersion>;
  using Size = typename L::Size;

  explicit Tables(void* library)
      : net_(find<typename L::Net>(library, "ncclNetPlugin_v")),
        coll_(find<typename L::CollNet>(library, "ncclCollNetPlugin_v")) {}

  int init(Logger log) const {
    if constexpr (kVersion >= 11) {
      if (const int result = net_.init(&net_context_, 1, nullptr, log, nullptr)) return result;
      return coll_.init(&coll_context_, 1, log);
    } else if constexpr (kVersion == 10) {
      if (const int result = net_.begin.init(log, nullptr)) return result;
      return coll_.begin.init(log);
    } else {
      if (const int result = net_.begin.init(log)) return result;
      return coll_.begin.init(log);
    }
  }
  int devices(int* of_net, int* of_coll) const {
    expect(beginning(net_).devices(of_net), kSuccess, "devices of Net");
    return beginning(coll_).devices(of_coll);
  }
  template <typename P>
  int net_properties(int device, P* p) const {
    return beginning(net_).properties(device, p);
  }
  template <typename P>
  int coll_properties(int device, P* p) const {
    return beginning(coll_).properties(device, p);
  }
  int listen(void* handle, void** listener) const {
    if constexpr (kVersion >= 11)
      return net_.listen(net_context_, 0, handle, listener);
    else
      return net_.begin.listen(0, handle, listener);
  }
  int connect(void* handle, void** connection) const {
    void* offload = nullptr;
    int config = -1;
    if constexpr (kVersion >= 11) {
      return net_.connect(net_context_, 0, handle, connection, &offload);
    } else if constexpr (kVersion == 10) {
      return net_.connect(0, &config, handle, connection, &offload);
    } else {
      return net_.connect(0, handle, connection, &offload);
    }
  }
  int accept(void* listener, void** connection) const {
    void* offload = nullptr;
    return net_.accept(listener, connection, &offload);
  }
  int send(void* connection, const void* data, std::size_t size, void** request) const {
    void* const from = const_cast<void*>(data);
    if constexpr (kVersion >= 10) {
      return net_.messages.send(connection, from, size, 0, nullptr, nullptr, request);
    } else {
      return net_.messages.send(connection, from, static_cast<Size>(size), 0, nullptr, request);
    }
  }
  int receive(void* connection, void* data, std::size_t size, void** request) const {
    auto bytes = static_cast<Size>(size);
    int tag = 0;
    void* none = nullptr;
    if constexpr (kVersion >= 10) {
      return net_.messages.receive(connection, 1, &data, &bytes, &tag, &none, &none, request);
    } else {
      return net_.messages.receive(connection, 1, &data, &bytes, &tag, &none, request);
    }
  }
  int test_message(void* request, int* done, int* size) const {
    return net_.messages.test(request, done, size);
  }
  [[nodiscard]] const auto& messages() const { return net_.messages; }

  int listen_collective(void* handle, void** listener) const {
    if constexpr (kVersion >= 11)
      return coll_.listen(coll_context_, 0, handle, listener);
    else
      return coll_.begin.listen(0, handle, listener);
  }
  int all_reduce(void* comm, const void* send, void* receive, std::size_t count, int type, int op,
                 void** request) const {
    return coll_.collectives.all_reduce(comm, const_cast<void*>(send), receive,
                                        static_cast<Size>(count), type, op, nullptr, nullptr,
                                        request);
  }
  [[nodiscard]] const auto& collectives() const { return coll_.collectives; }
  int finalize() const {
    if constexpr (kVersion >= 11) {
      if (const int result = net_.finalize(net_context_)) return result;
      return coll_.finalize(coll_context_);
    }
    return kSuccess;
  }

 private:
  template <typename Table>
  static const Table& find(void* library, const char* name) {
    const void* const table = dlsym(library, (name + std::to_string(kVersion)).c_str());
    if (table == nullptr) throw std::runtime_error("no " + (name + std::to_string(kVersion)));
    return *static_cast<const Table*>(table);
  }
  template <typename Table>
  static const auto& beginning(const Table& table) {
    if constexpr (kVersion >= 11)
      return table;
    else
      return table.begin;
  }

  const typename L::Net& net_;
  const typename L::CollNet& coll_;
  mutable void* net_context_ = nullptr;
  mutable void* coll_context_ = nullptr;
};

}  // namespace multitree::nccl

// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Drives the plugin as NCCL does, on host memory, in processes of their own. Usage: nccl_plugin
/// LIBRARY MODE VERSION RANKS, where MODE is "collectives", "messages" or "killed".
#include <csignal>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include "tests/nccl/collectives.hpp"
#include "tests/nccl/messages.hpp"

namespace multitree::nccl {
namespace {

int warnings = 0;

__attribute__((format(printf, 5, 6))) void log(int level, unsigned long, const char*, int,
                                               const char* format, ...) {
  if (level == kWarn) ++warnings;
  std::va_list arguments;
  va_start(arguments, format);
  std::vfprintf(stderr, format, arguments);
  std::fputc('\n', stderr);
  va_end(arguments);
}

template <int kVersion>
Tables<kVersion> load(const char* path) {
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error(dlerror());
  Tables<kVersion> tables(library);
  expect(tables.init(log), kSuccess, "init");
  return tables;
}

/// What both kinds say of their device; writes behind the structure are found as well.
template <typename P, typename Call>
void check_properties(Call call) {
  struct Guarded {
    P properties;
    std::array<unsigned char, 64> behind;
  } guarded;
  std::memset(&guarded, 0x5a, sizeof guarded);
  expect(call(0, &guarded.properties), kSuccess, "getProperties");
  for (const unsigned char byte : guarded.behind)
    expect(byte, 0x5a, "what lies behind the properties");
  const auto& common = [&]() -> const auto& {
    if constexpr (requires { guarded.properties.common; })
      return guarded.properties.common;
    else
      return guarded.properties;
  }
  ();
  expect(std::strcmp(common.name, "multitree"), 0, "the device's name");
  expect(common.pointers, kHostMemory, "kinds of memory");
  expect(common.most_receives, 1, "buffers of a receive");
  expect(common.speed > 0 ? 1 : 0, 1, "a speed");
  if constexpr (requires { common.made_of; }) {
    expect(common.made_of.count, 1, "devices that it is made of");
    expect(common.most_collective_bytes > 0 ? 1 : 0, 1, "bytes of a collective");
  }
  expect(call(1, &guarded.properties), kInvalidArgument, "getProperties of no device");
}

template <int kVersion>
void check_devices(const Tables<kVersion>& tables) {
  using P = typename Layout<kVersion>::P;
  int of_net = 0, of_coll = 0;
  expect(tables.devices(&of_net, &of_coll), kSuccess, "devices");
  expect(of_net, 1, "devices of Net");
  expect(of_coll, 1, "devices of CollNet");
  check_properties<P>([&](int device, P* p) { return tables.net_properties(device, p); });
  check_properties<P>([&](int device, P* p) { return tables.coll_properties(device, p); });
}

template <int kVersion>
void rank_collectives(const char* path, Shared& shared, int ranks, int rank) {
  const Tables<kVersion> tables = load<kVersion>(path);
  check_devices(tables);
  CollectivesTest<kVersion> test(tables, shared, ranks, rank);
  test.run();
  expect(tables.finalize(), kSuccess, "finalize");
}

template <int kVersion>
void rank_messages(const char* path, Shared& shared, int ranks, int rank) {
  const Tables<kVersion> tables = load<kVersion>(path);
  MessagesTest<kVersion> test(tables, shared, ranks, rank);
  test.run();
  expect(warnings > 0 ? 1 : 0, 1, "words for what went wrong");
}

/// The last rank dies in a collective; the others are told.
template <int kVersion>
void rank_killed(const char* path, Shared& shared, int ranks, int rank) {
  const Tables<kVersion> tables = load<kVersion>(path);
  CollectivesTest<kVersion> test(tables, shared, ranks, rank);
  test.survive_a_death();
  expect(warnings > 0 ? 1 : 0, 1, "words for the death");
}

template <int kVersion>
int run(const char* path, const std::string& mode, int ranks) {
  const std::map<std::string, void (*)(const char*, Shared&, int, int)> modes{
      {"collectives", rank_collectives<kVersion>},
      {"messages", rank_messages<kVersion>},
      {"killed", rank_killed<kVersion>}};
  const auto body = modes.at(mode);
  return run_processes(ranks, [&](Shared& shared, int rank) {
    ::alarm(100);
    body(path, shared, ranks, rank);
  });
}

}  // namespace
}  // namespace multitree::nccl

int main(int count, char** arguments) {
  using namespace multitree::nccl;  // NOLINT(google-build-using-namespace)
  const std::map<std::string, int (*)(const char*, const std::string&, int)> versions{
      {"8", run<8>}, {"9", run<9>}, {"10", run<10>}, {"11", run<11>}, {"12", run<12>}};
  const int ranks = count == 5 ? std::atoi(arguments[4]) : 0;
  if (ranks < 2 || ranks > Shared::kMost || versions.count(arguments[3]) == 0) {
    std::fprintf(stderr, "usage: nccl_plugin LIBRARY collectives|messages|killed 8..12 2..%d\n",
                 Shared::kMost);
    return 2;
  }
  const int failures = versions.at(arguments[3])(arguments[1], arguments[2], ranks);
  const int expected = std::string(arguments[2]) == "killed" ? 1 : 0;
  if (failures != expected)
    std::fprintf(stderr, "expected %d ranks to fail, found %d\n", expected, failures);
  return failures == expected ? 0 : 1;
}

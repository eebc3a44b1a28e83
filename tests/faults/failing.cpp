// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Counts calls, writes down where they come from, and says which fails.
///
/// Loaded before all others (LD_PRELOAD). What it is to do is in the environment:
///
///     FAILING_CALLS=memory,socket  classes that are counted together
///     FAILING_RANK=1 | launcher    the process: MULTITREE_RANK, or the one without
///     FAILING_AT=17                the call that fails, counted from main() on; 0: none
///     FAILING_ON=1                 all behind it fail as well
///     FAILING_SIGNAL=15            instead the process gets this signal before that call
///     FAILING_LOG=FILE             where each process that is counted adds lines: with FAILING_AT
///                                  the call that failed; without, the first call of each place
///
/// A line is "NUMBER CALL FRAME...", a frame "MODULE+OFFSET" (hexadecimal) of own code.
#include "tests/faults/failing.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <unwind.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace failing {
namespace {

constexpr std::size_t kFrames = 12, kPlaceFrames = 6, kModules = 16, kPlaces = 1 << 15;

struct Module {
  std::uintptr_t base = 0, begin = 0, end = 0;
  std::array<char, 64> name{};
  bool allocates_only = false;
};

struct State {
  std::uint32_t kinds = 0;
  std::uint64_t at = 0;
  bool on = false;
  int signal = 0;
  const char* log = nullptr;
  std::array<Module, kModules> modules{};
  std::size_t module_count = 0;
  std::atomic<std::uint64_t> count{0};
  std::atomic<bool> armed{false};
  std::array<std::atomic<std::uint64_t>, kPlaces> places{};  ///< hashes that have been seen
};
State state;
/// Calls that counting makes are not counted.
thread_local bool busy __attribute__((tls_model("initial-exec"))) = false;

constexpr std::array<const char*, 10> kNames = {"memory",  "mapping", "open", "socket", "transfer",
                                                "process", "file",    "ask",  "signal", "short"};

/// Whose calls are counted: the program's, or the library's where there is one; and of the C++
/// library those that it makes for them.
int add_module(dl_phdr_info* info, std::size_t, void*) {
  const char* path = info->dlpi_name[0] == '\0' ? "program" : info->dlpi_name;
  const char* slash = std::strrchr(path, '/');
  const char* name = slash == nullptr ? path : slash + 1;
  const bool own = std::strcmp(name, "program") == 0 || std::strncmp(name, "libmultitree", 12) == 0;
  const bool serves =
      std::strncmp(name, "libstdc++", 9) == 0 || std::strncmp(name, "libfmt", 6) == 0;
  if ((!own && !serves) || state.module_count == kModules) return 0;
  Module& module = state.modules[state.module_count++];
  std::snprintf(module.name.data(), module.name.size(), "%s", name);
  module.base = info->dlpi_addr;
  module.begin = ~std::uintptr_t{0};
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& header = info->dlpi_phdr[i];
    if (header.p_type != PT_LOAD || (header.p_flags & PF_X) == 0) continue;
    const std::uintptr_t begin = info->dlpi_addr + header.p_vaddr;
    if (begin < module.begin) module.begin = begin;
    if (begin + header.p_memsz > module.end) module.end = begin + header.p_memsz;
  }
  return 0;
}

const Module* module_of(std::uintptr_t address) {
  for (std::size_t m = 0; m < state.module_count; ++m) {
    const Module& module = state.modules[m];
    if (module.begin <= address && address < module.end) return &module;
  }
  return nullptr;
}

struct Trace {
  std::array<std::uintptr_t, kFrames> frames{};
  std::size_t count = 0;
};

_Unwind_Reason_Code add_frame(_Unwind_Context* context, void* argument) {
  auto& trace = *static_cast<Trace*>(argument);
  const std::uintptr_t address = _Unwind_GetIP(context);
  if (module_of(address) == nullptr) return _URC_NO_REASON;
  trace.frames[trace.count++] = address;
  return trace.count == kFrames ? _URC_END_OF_STACK : _URC_NO_REASON;
}

/// Whether it is the first call of this kind from there.
bool is_new(const Trace& trace, const char* call) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  const auto mix = [&](std::uint64_t value) { hash = (hash ^ value) * 0x100000001b3ULL; };
  for (const char* c = call; *c != '\0'; ++c) mix(static_cast<unsigned char>(*c));
  for (std::size_t f = 0; f < trace.count && f < kPlaceFrames; ++f) {
    mix(trace.frames[f] - module_of(trace.frames[f])->base);
  }
  hash |= 1;
  for (std::size_t i = 0; i < kPlaces; ++i) {
    auto& place = state.places[(hash + i) % kPlaces];
    std::uint64_t found = 0;
    if (place.compare_exchange_strong(found, hash)) return true;
    if (found == hash) return false;
  }
  return false;
}

/// By system calls alone, which nobody counts.
void write_down(std::uint64_t number, const char* call, const Trace& trace) {
  if (state.log == nullptr) return;
  std::array<char, 2048> line{};
  auto length = static_cast<std::size_t>(std::snprintf(
      line.data(), line.size(), "%llu %s", static_cast<unsigned long long>(number), call));
  for (std::size_t f = 0; f < trace.count; ++f) {
    const Module& module = *module_of(trace.frames[f]);
    length += static_cast<std::size_t>(
        std::snprintf(line.data() + length, line.size() - length, " %s+%llx", module.name.data(),
                      static_cast<unsigned long long>(trace.frames[f] - module.base)));
  }
  line[length++] = '\n';
  const long file =
      ::syscall(SYS_openat, AT_FDCWD, state.log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return;
  ::syscall(SYS_write, file, line.data(), length);
  ::syscall(SYS_close, file);
}

std::uint32_t kinds_of(const char* text) {
  std::uint32_t kinds = 0;
  for (std::size_t k = 0; k < kNames.size(); ++k) {
    if (std::strstr(text, kNames[k]) != nullptr) kinds |= 1U << k;
  }
  return kinds;
}

__attribute__((constructor)) void begin() {
  const char* const calls = std::getenv("FAILING_CALLS");
  const char* const wanted = std::getenv("FAILING_RANK");
  if (calls == nullptr || wanted == nullptr) return;
  const char* const rank = std::getenv("MULTITREE_RANK");
  if (std::strcmp(wanted, rank == nullptr ? "launcher" : rank) != 0) return;
  const char* const at = std::getenv("FAILING_AT");
  state.at = at == nullptr ? 0 : std::strtoull(at, nullptr, 10);
  state.on = std::getenv("FAILING_ON") != nullptr;
  state.log = std::getenv("FAILING_LOG");
  const char* const signal = std::getenv("FAILING_SIGNAL");
  state.signal = signal == nullptr ? 0 : std::atoi(signal);
  ::dl_iterate_phdr(add_module, nullptr);
  // The unwinder allocates when it is first used.
  Trace trace;
  _Unwind_Backtrace(add_frame, &trace);
  state.kinds = kinds_of(calls);
}

int (*real_main)(int, char**, char**) = nullptr;

/// What is made before main() cannot fail in words.
int counted_main(int argc, char** argv, char** envp) {
  state.armed = true;
  return real_main(argc, argv, envp);
}

}  // namespace

bool fails(Kind kind, const void* caller, const char* call) {
  if ((state.kinds & kind) == 0 || !state.armed.load(std::memory_order_relaxed) || busy)
    return false;
  if (module_of(reinterpret_cast<std::uintptr_t>(caller)) == nullptr) return false;
  const std::uint64_t number = ++state.count;
  const bool chosen = state.at != 0 && (state.on ? number >= state.at : number == state.at);
  if (state.at != 0 && !chosen) return false;
  busy = true;
  const int before = errno;
  Trace trace;
  _Unwind_Backtrace(add_frame, &trace);
  if (state.at == number || (state.at == 0 && is_new(trace, call))) write_down(number, call, trace);
  if (chosen && state.signal != 0) ::kill(::getpid(), state.signal);
  errno = before;
  busy = false;
  return chosen && state.signal == 0;
}

}  // namespace failing

// NOLINTNEXTLINE(bugprone-reserved-identifier): the C library's
extern "C" __attribute__((visibility("default"))) int __libc_start_main(
    int (*main)(int, char**, char**), int argc, char** argv, void (*init)(), void (*fini)(),
    void (*rtld_fini)(), void* stack_end) {
  using Start =
      int (*)(int (*)(int, char**, char**), int, char**, void (*)(), void (*)(), void (*)(), void*);
  failing::real_main = main;
  const auto real = reinterpret_cast<Start>(::dlsym(RTLD_NEXT, "__libc_start_main"));
  return real(failing::counted_main, argc, argv, init, fini, rtld_fini, stack_end);
}

// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The first frame of the stack that is not this library's.
#include "runtime/execution/call_place_internal.hpp"

#include <cxxabi.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/auxv.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>

// It comes with g++; other compilers link it without having its header.
#if defined(MULTITREE_HAVE_BACKTRACE) && __has_include(<backtrace.h>)
#define MULTITREE_READS_DEBUGGING
#include <backtrace.h>
#else
#include <execinfo.h>
#endif

namespace multitree::runtime {
namespace {

/// Functions below which the user's are: of this library where it is part of the program, and of
/// the interfaces that it serves.
constexpr std::array kOwnFunctions{"_ZN9multitree7runtime",
                                   "_ZNK9multitree7runtime",
                                   "_ZZN9multitree7runtime",
                                   "mt",
                                   "MPI_",
                                   "PMPI_"};
/// Of threads that nobody but a library has started.
constexpr std::array kNobodysFiles{"libc.so", "libstdc++.so", "libpthread.so"};

struct Object {
  std::string_view file;
  const void* base = nullptr;
};

Object object_of(std::uintptr_t address) {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(address), &info) == 0) return {};
  const std::string_view path = info.dli_fname == nullptr ? "" : info.dli_fname;
  return {path.substr(path.find_last_of('/') + 1), info.dli_fbase};
}

template <typename Names>
bool begins_with_one_of(std::string_view text, const Names& names) {
  for (const std::string_view name : names) {
    if (text.starts_with(name)) return true;
  }
  return false;
}

/// "f(g (*)(int)) const" is "f".
std::string_view without_parameters(std::string_view function) {
  int open = 0;
  for (std::size_t at = function.rfind(')'); at < function.size(); --at) {
    open += function[at] == ')' ? 1 : function[at] == '(' ? -1 : 0;
    if (open == 0) return function.substr(0, at);
  }
  return function;
}

/// A function of C++ as its source names it, without parameters; "" where that is too long for a
/// line of words, as of lambdas that templates carry.
std::string readable(std::string_view function) {
  constexpr std::size_t kLongest = 100;
  if (!function.starts_with("_Z")) return std::string(function);
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> whole(
      abi::__cxa_demangle(std::string(function).c_str(), nullptr, nullptr, &status), &std::free);
  if (whole == nullptr) return {};
  const std::string_view words = whole.get();
  return words.size() <= kLongest ? std::string(without_parameters(words)) : std::string();
}

struct Search {
  Object library;
  bool apart = false;  ///< the library is a file of its own
  std::string found;
};

/// 0: the next frame, please.
int look_at(void* state, std::uintptr_t address, const char* file, int line, const char* name) {
  Search& search = *static_cast<Search*>(state);
  const Object object = object_of(address);
  if (object.base == nullptr) return 1;
  if (search.apart && object.base == search.library.base) return 0;
  if (begins_with_one_of(object.file, kNobodysFiles)) return 1;
  const std::string_view function = name == nullptr ? "" : name;
  if (begins_with_one_of(function, kOwnFunctions)) return 0;
  if (file != nullptr) {
    const std::string_view path = file;
    search.found = fmt::format("{}:{}", path.substr(path.find_last_of('/') + 1), line);
  } else if (const std::string words = readable(function); !words.empty()) {
    search.found = fmt::format("{} in {}", words, object.file);
  } else {
    search.found = fmt::format("{}+{:#x}", object.file,
                               address - reinterpret_cast<std::uintptr_t>(object.base));
  }
  return 1;
}

#ifdef MULTITREE_READS_DEBUGGING
/// What cannot be read is left out.
void ignore(void*, const char*, int) {}

/// One for the process: what was read of the program's file is kept.
backtrace_state* program() {
  static backtrace_state* const state = ::backtrace_create_state(nullptr, 1, ignore, nullptr);
  return state;
}

/// Code without debugging information, as this library's may be in a program that has some, still
/// has a name in the table of symbols.
int look_up_and_at(void* state, std::uintptr_t address, const char* file, int line,
                   const char* name) {
  const auto note = [](void* found, std::uintptr_t, const char* symbol, std::uintptr_t,
                       std::uintptr_t) { *static_cast<const char**>(found) = symbol; };
  if (name == nullptr) ::backtrace_syminfo(program(), address, note, ignore, &name);
  return look_at(state, address, file, line, name);
}

void walk(Search& search) {
  if (program() != nullptr) ::backtrace_full(program(), 0, look_up_and_at, ignore, &search);
}
#else
/// Without lines, and with the names alone that the dynamic linker knows.
void walk(Search& search) {
  std::array<void*, 64> addresses{};
  const int frames = ::backtrace(addresses.data(), static_cast<int>(addresses.size()));
  for (int i = 0; i < frames; ++i) {
    Dl_info info{};
    ::dladdr(addresses[i], &info);
    const auto address = reinterpret_cast<std::uintptr_t>(addresses[i]);
    if (look_at(&search, address, nullptr, 0, info.dli_sname) != 0) return;
  }
}
#endif

std::string ask(const PlaceTeller& teller) {
  std::array<char, 256> words{};
  if (teller.function(words.data(), words.size(), teller.state) == 0) return {};
  return {words.data(), ::strnlen(words.data(), words.size())};
}

}  // namespace

PlaceTeller& place_teller() {
  thread_local PlaceTeller teller;
  return teller;
}

std::string call_place() {
  if (place_teller().function != nullptr) return ask(place_teller());
  Search search;
  search.library = object_of(reinterpret_cast<std::uintptr_t>(&call_place));
  search.apart = search.library.base != object_of(::getauxval(AT_ENTRY)).base;
  walk(search);
  return search.found;
}

}  // namespace multitree::runtime

// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Targets without libFuzzer, for every build: what is in their corpus, and for a moment what
/// random changes make of it, always the same ones. usage: fuzz_replay TARGET MILLISECONDS PATH...
///
/// A path is a file, a folder of files, or @LIST, a file of names with commas between them. What
/// ends the program was given to the target last; it is written to crash-TARGET in the current
/// folder.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "topologies/io/files.hpp"

#define FUZZ_TARGET(name) extern "C" int fuzz_##name(const std::uint8_t* data, std::size_t size);
#include "fuzz_targets.inc"
#undef FUZZ_TARGET

namespace multitree::fuzz {
namespace {

using Target = int (*)(const std::uint8_t* data, std::size_t size);
constexpr std::pair<std::string_view, Target> kTargets[] = {
#define FUZZ_TARGET(name) {#name, fuzz_##name},
#include "fuzz_targets.inc"
#undef FUZZ_TARGET
};

/// What an input may take, whatever is in it.
constexpr unsigned kSeconds = 10;
constexpr rlim_t kBytes = rlim_t{1} << 30;
/// Changed inputs get no longer than this.
constexpr std::size_t kLongest = 1 << 16;

std::string crash_file;
std::string_view current;

/// Nothing here but what a signal handler may call.
[[noreturn]] void report(int signal) {
  constexpr std::string_view kLate = "took more than 10 s: ", kEnded = "ended by a signal: ";
  const std::string_view what = signal == SIGALRM ? kLate : kEnded;
  const int file = ::open(crash_file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  bool written = ::write(file, current.data(), current.size()) >= 0;
  for (const std::string_view part : {what, std::string_view(crash_file), std::string_view("\n")}) {
    written = ::write(STDERR_FILENO, part.data(), part.size()) >= 0 && written;
  }
  ::_exit(written ? 1 : 2);
}

void watch(const std::string& target) {
  crash_file = (std::filesystem::current_path() / ("crash-" + target)).string();
  for (const int signal : {SIGALRM, SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) {
    ::signal(signal, report);
  }
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  const rlimit most{kBytes, kBytes};
  ::setrlimit(RLIMIT_DATA, &most);
#endif
}

void run(Target target, std::string_view input) {
  // Where sanitizers see every byte behind the end.
  const std::vector<std::uint8_t> bytes(input.begin(), input.end());
  current = input;
  ::alarm(kSeconds);
  try {
    target(bytes.data(), bytes.size());
  } catch (const std::exception& error) {
    fmt::print(stderr, "finding: not an Error of ours: {}\n", error.what());
    std::abort();
  }
  ::alarm(0);
}

std::vector<std::string> split(const std::string& names) {
  std::vector<std::string> files;
  for (std::size_t begin = 0; begin < names.size();) {
    const std::size_t end = std::min(names.find(',', begin), names.size());
    files.push_back(names.substr(begin, end - begin));
    begin = end + 1;
  }
  return files;
}

/// In an order that is the same everywhere.
std::vector<std::string> inputs_of(std::span<char* const> paths) {
  std::vector<std::string> files;
  for (const std::string path : paths) {
    if (path.starts_with('@')) {
      std::ranges::copy(split(read_file(path.substr(1))), std::back_inserter(files));
    } else if (std::filesystem::is_directory(path)) {
      for (const auto& entry : std::filesystem::directory_iterator(path)) {
        files.push_back(entry.path().string());
      }
    } else {
      files.push_back(path);
    }
  }
  std::ranges::sort(files);
  std::vector<std::string> inputs;
  for (const std::string& file : files) inputs.push_back(read_file(file));
  return inputs;
}

/// One or a few changes, as libFuzzer's are.
class Changes {
 public:
  explicit Changes(const std::vector<std::string>& inputs) : inputs_(inputs) {}

  std::string next() {
    std::string text = any();
    if (text.size() > kLongest) text.resize(kLongest);
    for (std::size_t left = 1 + below(4); left > 0; --left) change(text);
    return text;
  }

 private:
  std::size_t below(std::size_t end) { return static_cast<std::size_t>(random_() % end); }
  const std::string& any() { return inputs_[below(inputs_.size())]; }

  void change(std::string& text) {
    constexpr std::string_view kWords[] = {
        "0", "-1", "4294967296", "99999999999999999999", "1e999", "\xff", "nan", "\"", "[", "\n"};
    const std::size_t at = below(text.size() + 1),
                      length = below(std::min(text.size(), at + 16) + 1);
    switch (below(6)) {
      case 0:
        if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
        break;
      case 1:
        if (at < text.size()) text[at] = static_cast<char>(below(256));
        break;
      case 2:
        text.erase(at, length);
        break;
      case 3:
        text.insert(at, text.substr(below(text.size() + 1), length));
        break;
      case 4: {
        const std::string& other = any();
        text.insert(at, other.substr(below(other.size() + 1), length));
        break;
      }
      default:
        text.insert(at, kWords[below(std::size(kWords))]);
    }
  }

  const std::vector<std::string>& inputs_;
  std::mt19937_64 random_{1};
};

int replay(std::string_view name, std::chrono::milliseconds time, std::span<char* const> paths) {
  const auto target =
      std::ranges::find(kTargets, name, &std::pair<std::string_view, Target>::first);
  if (target == std::end(kTargets)) {
    fmt::print(stderr, "fuzz_replay: expected a target, found '{}'\n", name);
    return 2;
  }
  watch(std::string(name));
  std::vector<std::string> inputs = inputs_of(paths);
  inputs.emplace_back();
  for (const std::string& input : inputs) run(target->second, input);
  Changes changes(inputs);
  std::size_t changed = 0;
  for (const auto end = std::chrono::steady_clock::now() + time;
       std::chrono::steady_clock::now() < end; ++changed) {
    const std::string input = changes.next();
    run(target->second, input);
  }
  fmt::print("{}: {} inputs of the corpus, {} changed ones\n", name, inputs.size(), changed);
  return 0;
}

}  // namespace
}  // namespace multitree::fuzz

int main(int argc, char** argv) {
  const std::span<char* const> arguments(argv, static_cast<std::size_t>(argc));
  if (arguments.size() < 4) {
    fmt::print(stderr, "usage: fuzz_replay TARGET MILLISECONDS PATH...\n");
    return 2;
  }
  return multitree::fuzz::replay(arguments[1], std::chrono::milliseconds(std::atoi(arguments[2])),
                                 arguments.subspan(3));
}

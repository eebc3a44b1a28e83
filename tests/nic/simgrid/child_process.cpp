// SPDX-License-Identifier: BSD-3-Clause
#include "tests/nic/simgrid/child_process.hpp"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <system_error>

namespace multitree::test {
namespace {

[[noreturn]] void serve(const std::function<double()>& function, int out) {
  int status = 1;
  try {
    const double value = function();
    if (write(out, &value, sizeof value) == sizeof value) status = 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
  }
  _exit(status);  // not exit(): the parent's destructors and buffers are not the child's
}

[[noreturn]] void throw_errno(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

}  // namespace

double run_in_child(const std::function<double()>& function) {
  int ends[2];
  if (pipe(ends) != 0) throw_errno("pipe");
  const pid_t child = fork();
  if (child < 0) throw_errno("fork");
  if (child == 0) serve(function, ends[1]);
  close(ends[1]);
  double value = 0;
  const bool complete = read(ends[0], &value, sizeof value) == sizeof value;
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (!complete || status != 0) {
    throw std::runtime_error(
        fmt::format("expected a result of the child process, got wait status {:#x}", status));
  }
  return value;
}

}  // namespace multitree::test

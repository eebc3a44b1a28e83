// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// From main() to exit codes.
#include "tools/program.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <exception>
#include <new>

#include "tools/command.hpp"

namespace multitree::tools {
namespace {

/// Keeps sockets and files from taking the number of a standard stream that is closed. Opened the
/// wrong way round, it still fails when used.
void occupy_standard_streams() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(fd, F_GETFD) == -1) (void)open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

}  // namespace

int usage_error(std::string_view program, std::string_view command, const CLI::ParseError& error) {
  print_error(fmt::format("{}: {}; see '{} --help'\n", program, one_line(error.what()), command));
  return kUsage;
}

int run_program(std::string_view name, const std::function<int()>& body) {
  occupy_standard_streams();
  try {
    return body();
  } catch (const Error& error) {
    print_error(fmt::format("{}: {}\n", name, one_line(error.what())));
    return exit_code_of(error.code());
  } catch (const std::bad_alloc&) {
    print_error(fmt::format("{}: out of memory\n", name));
    return kInput;
  } catch (const std::exception& error) {
    print_error(fmt::format("{}: internal error, please report it: {}\n", name, error.what()));
    return kTransport;
  }
}

}  // namespace multitree::tools

// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// From main() to exit codes.
#include "tools/program.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <new>
#include <string>
#include <system_error>
#include <vector>

#include "tools/command.hpp"
#include "tools/usage_words.hpp"

namespace multitree::tools {
namespace {

/// Keeps sockets and files from taking the number of a standard stream that is closed. Opened the
/// wrong way round, it still fails when used.
void occupy_standard_streams() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(fd, F_GETFD) == -1) (void)open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

/// What a format can be, a line each, where a command lacks one.
std::string formats_to_give(const CLI::App& command, const CLI::ParseError& error) {
  const CLI::Option* format = command.get_option_no_throw("format");
  const bool lacks = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr &&
                     format != nullptr && format->get_required() && format->count() == 0;
  if (!lacks) return "";
  std::string lines = "  " + format->get_description() + "\n";
  for (std::size_t at = lines.find('\n'); at + 1 < lines.size(); at = lines.find('\n', at + 1)) {
    lines.insert(at + 1, "  ");
  }
  return lines;
}

std::terminate_handler usual_end = nullptr;

/// By nothing that allocates.
[[noreturn]] void end_with(std::string_view words) {
  static_cast<void>(::write(STDERR_FILENO, words.data(), words.size()) > 0);
  ::_exit(kInput);
}

/// Where an exception may not pass: destructors of JSON allocate, and so do functions of CLI11.
/// Without memory that is told as anywhere else; whoever is talking to this process finds it gone.
[[noreturn]] void end_in_words() {
  try {
    if (std::current_exception()) throw;
    // One that is on its way cannot be looked at; nothing else is thrown there.
    if (std::uncaught_exceptions() > 0) end_with("multitree: out of memory, most likely\n");
  } catch (const std::bad_alloc&) {
    end_with("multitree: out of memory\n");
  } catch (...) {  // a bug: as it would have ended
  }
  usual_end();
  std::abort();
}

}  // namespace

int usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App* command = &app;
  std::string path = app.get_name();
  for (auto called = command->get_subcommands(); !called.empty();
       called = command->get_subcommands()) {
    command = called.front();
    path += " " + command->get_name();
  }
  print_error(fmt::format("{}: {}; see '{} --help'\n{}", app.get_name(),
                          one_line(usage_words(*command, error)), path,
                          formats_to_give(*command, error)));
  return kUsage;
}

int run_program(std::string_view name, const std::function<int()>& body) {
  occupy_standard_streams();
  usual_end = std::set_terminate(end_in_words);
  try {
    return body();
  } catch (const Error& error) {
    print_error(fmt::format("{}: {}\n", name, one_line(error.what())));
    return exit_code_of(error.code());
  } catch (const std::bad_alloc&) {
    print_error(fmt::format("{}: out of memory\n", name));
    return kInput;
  } catch (const std::system_error& error) {
    print_error(fmt::format("{}: the system refuses: {}\n", name, one_line(error.what())));
    return kInput;
  } catch (const std::exception& error) {
    print_error(fmt::format("{}: internal error, please report it: {}\n", name, error.what()));
    return kTransport;
  }
}

}  // namespace multitree::tools

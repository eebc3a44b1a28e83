// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A program on another host, asked and answering by lines of JSON.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace multitree::tools {

/// Started by a command such as ssh; ended, at the latest, with this object.
class Remote {
 public:
  using Milliseconds = std::chrono::milliseconds;

  /// `host`: for messages. \throws Error(Io): no process could be started
  Remote(std::string host, const std::vector<std::string>& command);
  ~Remote();
  Remote(Remote&& other) noexcept;
  Remote& operator=(Remote&&) = delete;

  [[nodiscard]] const std::string& host() const { return host_; }
  /// Does not wait for the answer.
  void ask(const nlohmann::ordered_json& question);
  /// The answer to a question, one after the other; it may be an error there. Lines that are none,
  /// such as a greeting of the host, are passed over. \throws Error(Transport), Error(Timeout)
  /// naming the host and what was awaited
  nlohmann::json answer(const std::string& what, Milliseconds deadline);

 private:
  bool read_more(Milliseconds deadline);
  [[noreturn]] void ended();
  void close_input();

  std::string host_;
  std::string program_;
  pid_t pid_ = -1;
  int input_ = -1, output_ = -1, errors_ = -1;
  std::string heard_, complaint_;
};

/// "ssh -p 22" -> its words. \throws Error(InvalidArgument) naming the flag: there are none
std::vector<std::string> words_of_command(const std::string& text, const std::string& flag);

}  // namespace multitree::tools

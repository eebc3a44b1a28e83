// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// All hosts write it beside the file first, so that hardly anything can go wrong where it counts.
#include "tools/cluster/install.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "runtime/messages/network/cables.hpp"
#include "runtime/probe/probe.hpp"
#include "tools/cluster/remote.hpp"
#include "tools/progress.hpp"
#include "topologies/error.hpp"
#include "topologies/io/cluster_file.hpp"
#include "topologies/io/files.hpp"

namespace multitree::tools {
namespace {

using nlohmann::ordered_json;

/// Of the text in a question: with its escapes less than a pipe holds.
constexpr std::size_t kPart = 16384;

/// \throws Error(Io) unless the folder of the file is there now.
void make_folder_of(const std::string& file) {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(file).parent_path(), error);
  if (!error) return;
  throw Error(ErrorCode::Io,
              fmt::format("cannot make the folder of {}: {}", file, error.message()));
}

}  // namespace

Installation::~Installation() {
  if (!beside_.empty()) ::unlink(beside_.c_str());
}

std::string Installation::prepare() {
  static_cast<void>(parse_cluster_json(text_, "the cluster"));
  file_ = runtime::installed_cluster_files().front();
  make_folder_of(file_);
  // Hosts may share the folder.
  const std::string beside =
      fmt::format("{}.{}.{}", file_, runtime::probe::own_hostname(), ::getpid());
  write_file(beside, text_);
  beside_ = beside;
  return file_;
}

void Installation::commit() {
  if (beside_.empty())
    throw Error(ErrorCode::InvalidInput, "expected 'prepare' before, found none");
  std::error_code error;
  std::filesystem::rename(beside_, file_, error);
  if (error) {
    throw Error(ErrorCode::Io, fmt::format("cannot write {}: {}", file_, error.message()));
  }
  beside_.clear();
}

std::vector<std::string> install(const SurveyOptions& options, std::string_view text) {
  const Progress progress(fmt::format("installing on {} hosts", options.hosts.size()));
  std::vector<Remote> remotes = start_agents(options);
  const auto ask_all = [&](const ordered_json& question) {
    for (Remote& remote : remotes) remote.ask(question);
    std::vector<nlohmann::json> answers;
    for (Remote& remote : remotes) {
      answers.push_back(checked_answer(remote, "the file to be written", options.patience));
    }
    return answers;
  };
  for (std::size_t at = 0; at < text.size(); at += kPart) {
    ask_all({{"ask", "keep"}, {"text", text.substr(at, kPart)}});
  }
  std::vector<std::string> files;
  for (const nlohmann::json& answer : ask_all({{"ask", "prepare"}})) {
    files.push_back(answer.at("file").get<std::string>());
  }
  ask_all({{"ask", "install"}});
  return files;
}

}  // namespace multitree::tools

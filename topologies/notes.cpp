// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Who collects notes, by thread.
#include "topologies/notes.hpp"

#include <algorithm>
#include <atomic>

namespace multitree {
namespace {

thread_local Notes* collector = nullptr;
std::atomic<void (*)(const std::string&)> elsewhere = nullptr;

}  // namespace

Notes::Notes() : before_(collector) { collector = this; }

Notes::~Notes() { collector = before_; }

void Notes::add(const std::string& text) {
  if (collector == nullptr) {
    if (auto* const add_elsewhere = elsewhere.load()) add_elsewhere(text);
    return;
  }
  std::vector<std::string>& all = collector->all_;
  if (std::find(all.begin(), all.end(), text) == all.end()) all.push_back(text);
}

void Notes::forward_to(void (*other_add)(const std::string& text)) { elsewhere = other_add; }

}  // namespace multitree

// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Who collects notes, by thread.
#include "topologies/notes.hpp"

#include <algorithm>

namespace multitree {
namespace {

thread_local Notes* collector = nullptr;

}  // namespace

Notes::Notes() : before_(collector) { collector = this; }

Notes::~Notes() { collector = before_; }

void Notes::add(const std::string& text) {
  if (collector == nullptr) return;
  std::vector<std::string>& all = collector->all_;
  if (std::find(all.begin(), all.end(), text) == all.end()) all.push_back(text);
}

}  // namespace multitree

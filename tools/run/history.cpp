// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What ranks tell each other of how far they have come.
#include "tools/run/history.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace multitree::tools {
namespace {

static_assert(std::is_trivially_copyable_v<Row>);

void append(std::string& bytes, const void* data, std::size_t size) {
  bytes.append(static_cast<const char*>(data), size);
}

/// Takes `size` bytes off the front.
void take(std::string_view& bytes, void* data, std::size_t size) {
  if (bytes.size() < size) throw Error(ErrorCode::Transport, "another rank runs something else");
  std::memcpy(data, bytes.data(), size);
  bytes.remove_prefix(size);
}

std::uint64_t take_number(std::string_view& bytes) {
  std::uint64_t number = 0;
  take(bytes, &number, sizeof number);
  return number;
}

void append_number(std::string& bytes, std::uint64_t number) {
  append(bytes, &number, sizeof number);
}

}  // namespace

std::string History::bytes() const {
  std::string bytes;
  append_number(bytes, begun);
  for (const Done& one : done) {
    append_number(bytes, one.keys);
    append_number(bytes, one.rows.size());
    append(bytes, one.rows.data(), one.rows.size() * sizeof(Row));
  }
  return bytes;
}

void History::catch_up(const std::string& bytes) {
  std::string_view rest = bytes;
  begun = std::max<std::size_t>(begun, take_number(rest));
  for (Done& one : done) {
    Done other;
    other.keys = take_number(rest);
    const std::uint64_t rows = take_number(rest);
    if (rows > rest.size() / sizeof(Row)) {
      throw Error(ErrorCode::Transport, "another rank runs something else");
    }
    other.rows.resize(rows);
    take(rest, other.rows.data(), rows * sizeof(Row));
    if (other.keys > one.keys) one = std::move(other);
  }
}

void catch_up(History& history, runtime::Bootstrap& job, runtime::Deadline deadline) {
  for (const std::string& other : job.all_gather(history.bytes(), deadline))
    history.catch_up(other);
}

void recover(Error error, Crew& crew, History& history, runtime::Deadline deadline) {
  while (true) {
    crew.go_on_after(error, deadline);
    try {
      return catch_up(history, *crew.job(), deadline);
    } catch (const Error& next) {
      error = next;
    }
  }
}

void join_in(Crew& crew, History& history, runtime::Deadline deadline) {
  try {
    crew.take_place(deadline);
    catch_up(history, *crew.job(), deadline);
  } catch (const Error& error) {
    recover(error, crew, history, deadline);
  }
}

}  // namespace multitree::tools

// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How work on a communicator is guarded: by its mutex, and against errors that end it.
#pragma once

#include "runtime/c/comm_internal.hpp"
#include "runtime/execution/interruption_internal.hpp"
#include "topologies/exception_words.hpp"

namespace multitree::runtime::c {

/// Holds the mutex. Others that wait for it are counted, so that a thread in a loop lets them in.
class Comm::Turn {
 public:
  explicit Turn(Comm& comm) : comm_(comm) {
    if (comm.mutex_.try_lock()) return;
    ++comm.threads_waiting_;
    comm.mutex_.lock();
    --comm.threads_waiting_;
  }
  ~Turn() { comm_.mutex_.unlock(); }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  Comm& comm_;
};

/// These end a communicator; other errors have changed nothing.
inline bool is_final(const Error& error) {
  return error.code() == ErrorCode::Transport || error.code() == ErrorCode::Timeout ||
         error.code() == ErrorCode::Cuda;
}

/// What a communicator ends with by an error.
inline mtResult_t final_result(const Error& error) {
  const bool interrupted = dynamic_cast<const Interrupted*>(&error) != nullptr;
  return interrupted ? mtAborted : result_of(error.code());
}

template <typename Body>
void Comm::run(const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    // The system's refusals only where communication has ended by them.
    const bool ended = error.code() == ErrorCode::Io && communicator_ != nullptr &&
                       !communicator_->failure().empty();
    if (is_final(error) || ended) {
      note_streams();
      fail(final_result(error), error.what());
      note_cause();
      drop_jobs();
      // An abort, or a failure on a stream, may be what made it fail.
      if (result_ != result_of(error.code())) throw Failure(result_, words());
    }
    throw;
  } catch (const std::bad_alloc& error) {  // the other ranks are in the call, or will be
    note_streams();
    fail(mtSystemError, plain_words(error));
    note_cause();
    drop_jobs();
    throw;
  }
}

}  // namespace multitree::runtime::c

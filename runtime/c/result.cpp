// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Results, their words, and the version.
#include <array>
#include <new>
#include <system_error>

#include "runtime/c/result_internal.hpp"

namespace multitree::runtime::c {

mtResult_t result_of(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::InvalidArgument:
    case ErrorCode::InvalidInput:
      return mtInvalidArgument;
    case ErrorCode::Unsupported:
      return mtUnsupported;
    case ErrorCode::Io:
      return mtSystemError;
    case ErrorCode::Transport:
      return mtRemoteError;
    case ErrorCode::Timeout:
      return mtTimeout;
    case ErrorCode::Cuda:
      return mtCudaError;
  }
  return mtInternalError;
}

std::string& thread_words() noexcept {
  static thread_local std::string words;
  return words;
}

namespace {

mtResult_t remember(mtResult_t result, const char* words) noexcept {
  try {
    thread_words() = words;
  } catch (...) {  // no memory for the words: the result has to do
    thread_words().clear();
  }
  return result;
}

}  // namespace

mtResult_t result_in_flight() noexcept {
  try {
    throw;
  } catch (const Failure& failure) {
    return remember(failure.result(), failure.what());
  } catch (const Error& error) {
    return remember(result_of(error.code()), error.what());
  } catch (const std::bad_alloc&) {
    return remember(mtSystemError, "out of memory");
  } catch (const std::system_error& error) {
    return remember(mtSystemError, error.what());
  } catch (const std::exception& error) {
    return remember(mtInternalError, error.what());
  } catch (...) {
    return remember(mtInternalError, "unknown exception");
  }
}

void require(const void* pointer, const char* name) {
  if (pointer == nullptr) throw Failure(mtInvalidArgument, std::string(name) + " is NULL");
}

}  // namespace multitree::runtime::c

using multitree::runtime::c::guarded;
using multitree::runtime::c::require;

mtResult_t mtGetVersion(int* version) {
  return guarded([&] {
    require(version, "version");
    *version = MT_VERSION_CODE;
  });
}

const char* mtGetErrorString(mtResult_t result) {
  static constexpr std::array<const char*, mtNumResults> kWords{
      "success",
      "accelerator error",
      "system error",
      "internal error",
      "invalid argument",
      "invalid usage",
      "remote error: another rank failed or cannot be reached",
      "in progress",
      "timeout: nothing moved for the deadline",
      "aborted by this process",
      "unsupported"};
  const auto index = static_cast<std::size_t>(result);
  return index < kWords.size() ? kWords[index] : "unknown result";
}

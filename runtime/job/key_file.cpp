// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A job's secret from a file.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

#include "runtime/job/environment_internal.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime {
namespace {

/// A secret of 128 bits takes 16 bytes, 32 as hexadecimal digits.
constexpr std::size_t kShortestSecret = 16, kLongestSecret = 4096;

[[noreturn]] void refuse_key_file(const std::string& path, std::string_view what,
                                  std::string_view why) {
  throw Error(ErrorCode::InvalidArgument, fmt::format("{}={}: {}", what, path, why));
}

}  // namespace

std::string read_key_file(const std::string& path, std::string_view what) {
  // A pipe is refused below, and is not to be waited for.
  const Socket file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.open()) {
    throw Error(ErrorCode::Io,
                fmt::format("{}={}: {}", what, path, std::generic_category().message(errno)));
  }
  struct stat status {};
  if (::fstat(file.fd(), &status) != 0 || !S_ISREG(status.st_mode)) {
    refuse_key_file(path, what, "expected a file with the secret of the job");
  }
  if (status.st_uid != ::geteuid() && status.st_uid != 0) {
    refuse_key_file(path, what, "expected a file of this user, found another's");
  }
  if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    refuse_key_file(path, what,
                    fmt::format("expected mode 0600, as others could read the secret, found {:04o}",
                                status.st_mode & 07777U));
  }
  std::array<char, kLongestSecret + 1> bytes{};
  const ssize_t length = ::read(file.fd(), bytes.data(), bytes.size());
  if (length < 0) {
    throw Error(ErrorCode::Io,
                fmt::format("{}={}: {}", what, path, std::generic_category().message(errno)));
  }
  std::string secret(bytes.data(), static_cast<std::size_t>(length));
  while (secret.ends_with('\n') || secret.ends_with('\r')) secret.pop_back();
  if (secret.size() < kShortestSecret || secret.size() > kLongestSecret) {
    refuse_key_file(path, what,
                    fmt::format("expected a secret of {} to {} bytes, found {}", kShortestSecret,
                                kLongestSecret, secret.size()));
  }
  return secret;
}

}  // namespace multitree::runtime

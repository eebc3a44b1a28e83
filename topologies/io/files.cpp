// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Whole-file reading and atomic writing on POSIX descriptors, which keep the cause of a failure.
#include "topologies/io/files.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "topologies/error.hpp"

namespace multitree {
namespace {

[[noreturn]] void fail(const std::string& path, const char* doing, int error) {
  throw Error(ErrorCode::Io, path + ": cannot " + doing + ": " + std::strerror(error));
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ > STDERR_FILENO) ::close(fd_);
  }
  [[nodiscard]] int get() const { return fd_; }
  // Some file systems report a full disk only here.
  [[nodiscard]] bool close() { return ::close(std::exchange(fd_, -1)) == 0; }

 private:
  int fd_;
};

// Whoever stops the program does so when the file is whole or gone, not in between.
class SignalsHeld {
 public:
  SignalsHeld() {
    sigset_t stops;
    sigemptyset(&stops);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&stops, signal);
    ::pthread_sigmask(SIG_BLOCK, &stops, &before_);
  }
  SignalsHeld(const SignalsHeld&) = delete;
  SignalsHeld& operator=(const SignalsHeld&) = delete;
  ~SignalsHeld() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

// 0, or the errno of the failure.
int write_all(int fd, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = ::write(fd, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

// Creates a new file beside `path`, with the mode that the umask (or the file it will replace)
// gives.
int create_temporary(const std::string& path, std::string& temporary) {
  for (int attempt = 0;; ++attempt) {
    temporary = path + ".tmp" + std::to_string(::getpid()) + "." + std::to_string(attempt);
    const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0 && errno == EEXIST && attempt < 1000) continue;
    struct stat existing {};
    if (fd >= 0 && ::stat(path.c_str(), &existing) == 0) {
      (void)::fchmod(fd, existing.st_mode & 0777);  // The content matters more than its mode.
    }
    return fd;
  }
}

// What a symbolic link leads to is written, not the link replaced.
std::string resolved(const std::string& path) {
  std::error_code error;
  const std::filesystem::path target = std::filesystem::canonical(path, error);
  return error ? path : target.string();
}

// A file under its temporary name, which goes away unless it is published.
class Written {
 public:
  Written(const std::string& path, std::string_view content)
      : path_(path), target_(resolved(path)) {
    Descriptor file(create_temporary(target_, temporary_));
    if (file.get() < 0) fail(path_, "create", errno);
    int error = write_all(file.get(), content);
    if (!file.close() && error == 0) error = errno;
    if (error == 0) return;
    ::unlink(temporary_.c_str());
    fail(path_, "write", error);
  }
  Written(Written&& other) noexcept
      : path_(std::move(other.path_)),
        target_(std::move(other.target_)),
        temporary_(std::exchange(other.temporary_, {})) {}
  Written& operator=(Written&&) = delete;
  ~Written() {
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
  }
  void publish() {
    if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail(path_, "write", errno);
    temporary_.clear();
  }

 private:
  std::string path_, target_, temporary_;
};

bool is_special(const std::string& path) {
  struct stat existing {};
  return ::stat(path.c_str(), &existing) == 0 && !S_ISREG(existing.st_mode) &&
         !S_ISDIR(existing.st_mode);
}

// A device or a pipe is written through, never replaced.
void write_through(const std::string& path, std::string_view content) {
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (file.get() < 0) fail(path, "open", errno);
  if (const int error = write_all(file.get(), content)) fail(path, "write", error);
}

}  // namespace

std::string read_file(const std::string& path) {
  const bool standard = path == "-";
  const Descriptor file(standard ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const std::string shown = standard ? "standard input" : path;
  if (file.get() < 0) fail(shown, "open", errno);

  std::string content;
  struct stat status {};
  if (::fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode)) {
    content.reserve(static_cast<std::size_t>(status.st_size) + 1);
  }
  constexpr std::size_t kBlock = 1U << 20;
  for (;;) {
    const std::size_t size = content.size();
    content.resize(size < content.capacity() ? content.capacity() : size + kBlock);
    const ssize_t got = ::read(file.get(), content.data() + size, content.size() - size);
    const int error = errno;
    content.resize(size + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got == 0) return content;
    if (got < 0 && error != EINTR) fail(shown, "read", error);
  }
}

std::string read_text_file(const std::string& path) {
  constexpr std::string_view kMark = "\xef\xbb\xbf";
  std::string text = read_file(path);
  if (text.starts_with(kMark)) text.erase(0, kMark.size());
  return text;
}

void check_writable(const std::string& path) {
  if (path == "-" || is_special(path)) return;
  const std::string target = resolved(path);
  std::error_code ignored;
  if (std::filesystem::is_directory(target, ignored)) fail(path, "write", EISDIR);
  const SignalsHeld held;
  std::string temporary;
  const Descriptor file(create_temporary(target, temporary));
  if (file.get() < 0) fail(path, "create", errno);
  ::unlink(temporary.c_str());
}

void write_file(const std::string& path, std::string_view content) {
  if (path == "-") {
    if (const int error = write_all(STDOUT_FILENO, content))
      fail("standard output", "write", error);
    return;
  }
  write_files({{path, content}});
}

void write_files(const std::vector<std::pair<std::string, std::string_view>>& files) {
  for (const auto& [path, content] : files) {
    if (is_special(path)) write_through(path, content);
  }
  const SignalsHeld held;  // not before: a pipe may have no reader
  std::vector<Written> written;
  for (const auto& [path, content] : files) {
    if (!is_special(path)) written.emplace_back(path, content);
  }
  for (Written& file : written) file.publish();
}

}  // namespace multitree

// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// libucp and libucs by dlopen(3).
#include "runtime/messages/ucx/library_internal.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

namespace multitree::runtime {

// A name that is defined cannot be in parentheses. NOLINTNEXTLINE(bugprone-macro-parentheses)
#define MULTITREE_DEFINE(name) decltype(&::name) name = nullptr
MULTITREE_UCP_FUNCTIONS(MULTITREE_DEFINE);
MULTITREE_UCS_FUNCTIONS(MULTITREE_DEFINE);
#undef MULTITREE_DEFINE

namespace {

/// Of the interface that this was compiled for; in a folder of their own, ending with a slash, if
/// they were taken from one.
constexpr const char* kUcp = MULTITREE_UCX_FOLDER "libucp.so.0";
constexpr const char* kUcs = MULTITREE_UCX_FOLDER "libucs.so.0";

/// One of the two, and what it lacks.
class SharedLibrary {
 public:
  /// Never closed: UCX leaves threads and hooks behind.
  explicit SharedLibrary(const char* name)
      : name_(name), handle_(::dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)) {
    if (handle_ == nullptr) why_ = ::dlerror();
  }
  template <typename Function>
  void find(Function& function, const char* name) {
    if (handle_ == nullptr) return;
    function = reinterpret_cast<Function>(::dlsym(handle_, name));
    if (function == nullptr && why_.empty()) why_ = fmt::format("{} has no {}", name_, name);
  }
  [[nodiscard]] const std::string& why() const { return why_; }

 private:
  const char* name_;
  void* handle_;
  std::string why_;
};

std::string load_both() {
  SharedLibrary ucs(kUcs), ucp(kUcp);
#define MULTITREE_FIND_UCS(name) ucs.find(name, #name)
#define MULTITREE_FIND_UCP(name) ucp.find(name, #name)
  MULTITREE_UCS_FUNCTIONS(MULTITREE_FIND_UCS);
  MULTITREE_UCP_FUNCTIONS(MULTITREE_FIND_UCP);
#undef MULTITREE_FIND_UCS
#undef MULTITREE_FIND_UCP
  return ucp.why().empty() ? ucs.why() : ucp.why();
}

}  // namespace

const std::string& load_ucx() {
  static const std::string why = load_both();
  return why;
}

}  // namespace multitree::runtime

// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// PMIx, the interface of Open MPI's mpirun, prterun and srun --mpi=pmix.
#include <fmt/format.h>

#include "runtime/job/process_manager_internal.hpp"
#include "topologies/error.hpp"

#ifdef MULTITREE_HAVE_PMIX
#include <pmix.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace multitree::runtime {
namespace {

constexpr const char* kKey = "multitree.coordinator";

void check(pmix_status_t status, std::string_view what) {
  if (status == PMIX_SUCCESS) return;
  const bool late = status == PMIX_ERR_TIMEOUT;
  throw Error(late ? ErrorCode::Timeout : ErrorCode::Transport,
              fmt::format("PMIx: {}: {}", what, PMIx_Error_string(status)));
}

/// Without the goodbye the launcher takes our exit for a crash.
struct Session {
  ~Session() { static_cast<void>(PMIx_Finalize(nullptr, 0)); }
};

class Value {
 public:
  Value(const pmix_proc_t& proc, const char* key) {
    check(PMIx_Get(&proc, key, nullptr, 0, &value_), key);
  }
  ~Value() { PMIX_VALUE_RELEASE(value_); }
  Value(const Value&) = delete;
  Value& operator=(const Value&) = delete;
  const pmix_value_t* operator->() const { return value_; }

 private:
  pmix_value_t* value_ = nullptr;
};

void put(const std::string& text) {
  std::string copy = text;
  pmix_value_t value;
  std::memset(&value, 0, sizeof value);
  value.type = PMIX_STRING;
  value.data.string = copy.data();
  check(PMIx_Put(PMIX_GLOBAL, kKey, &value), "publish rank 0's address");
  check(PMIx_Commit(), "publish rank 0's address");
}

void fence(std::chrono::milliseconds deadline) {
  bool collect = true;
  int seconds = static_cast<int>(std::max<std::int64_t>(deadline.count() / 1000, 1));
  std::array<pmix_info_t, 2> info;
  PMIX_INFO_LOAD(&info[0], PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
  PMIX_INFO_LOAD(&info[1], PMIX_TIMEOUT, &seconds, PMIX_INT);
  check(PMIx_Fence(nullptr, 0, info.data(), info.size()), "wait for all ranks");
}

}  // namespace

Exchanged exchange_over_pmix(const std::function<std::string()>& publish,
                             std::chrono::milliseconds deadline) {
  pmix_proc_t self;
  check(PMIx_Init(&self, nullptr, 0), "start");
  Exchanged result;
  result.session = std::make_shared<Session>();
  result.seat = Seat{self.rank};
  pmix_proc_t other = self;
  other.rank = PMIX_RANK_WILDCARD;
  result.size = Value(other, PMIX_JOB_SIZE)->data.uint32;
  if (self.rank == 0) put(publish());
  fence(deadline);
  other.rank = 0;
  const Value published(other, kKey);
  if (published->type != PMIX_STRING) {
    throw Error(ErrorCode::Transport, "PMIx: rank 0's address is not a string");
  }
  result.value = published->data.string;
  return result;
}

}  // namespace multitree::runtime

#else

namespace multitree::runtime {

Exchanged exchange_over_pmix(const std::function<std::string()>&, std::chrono::milliseconds) {
  throw Error(ErrorCode::Unsupported,
              "started through PMIx, but built without libpmix; set MULTITREE_RANK, MULTITREE_SIZE "
              "and MULTITREE_RENDEZVOUS instead");
}

}  // namespace multitree::runtime

#endif

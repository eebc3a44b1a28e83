// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What stands in the place of UCX where its headers were missing.
#include "runtime/messages/ucx/ucx_internal.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime {

bool has_ucx() { return false; }

bool ucx_is_tcp() { return true; }

std::unique_ptr<Transport> make_ucx(Bootstrap& /*bootstrap*/, const TransportOptions& /*options*/) {
  throw Error(ErrorCode::Unsupported,
              "transport ucx: this program was built without UCX; expected tcp or auto");
}

}  // namespace multitree::runtime

// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// UCX, loaded when it is first needed: a machine without it runs everything else.
#pragma once

#include <ucp/api/ucp.h>

#include <string>

/// All of its functions that the runtime calls.
#define MULTITREE_UCP_FUNCTIONS(each) \
  each(ucp_cleanup);                  \
  each(ucp_config_modify);            \
  each(ucp_config_read);              \
  each(ucp_config_release);           \
  each(ucp_context_query);            \
  each(ucp_ep_close_nbx);             \
  each(ucp_ep_create);                \
  each(ucp_ep_flush_nbx);             \
  each(ucp_get_version_string);       \
  each(ucp_init_version);             \
  each(ucp_request_cancel);           \
  each(ucp_request_check_status);     \
  each(ucp_request_free);             \
  each(ucp_tag_probe_nb);             \
  each(ucp_tag_recv_nbx);             \
  each(ucp_tag_send_nbx);             \
  each(ucp_worker_arm);               \
  each(ucp_worker_create);            \
  each(ucp_worker_destroy);           \
  each(ucp_worker_get_address);       \
  each(ucp_worker_get_efd);           \
  each(ucp_worker_progress);          \
  each(ucp_worker_release_address)
#define MULTITREE_UCS_FUNCTIONS(each) each(ucs_status_string)

namespace multitree::runtime {

// Pointers to them, by their names: in this namespace a call means these. Null before load_ucx().
#define MULTITREE_DECLARE(name) extern decltype(&::name) name
MULTITREE_UCP_FUNCTIONS(MULTITREE_DECLARE);
MULTITREE_UCS_FUNCTIONS(MULTITREE_DECLARE);
#undef MULTITREE_DECLARE

/// Loads UCX, once; empty, or why this process has none.
const std::string& load_ucx();

}  // namespace multitree::runtime

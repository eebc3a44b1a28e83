/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * \file
 * The component as UCC sees it: its tables of functions and variables, the library, and contexts.
 */
#include <limits.h>

#include "runtime/ucc/component_internal.h"

static ucc_config_field_t ucc_tl_multitree_lib_config_table[] = {
    {"", "", NULL, ucc_offsetof(ucc_tl_multitree_lib_config_t, super),
     UCC_CONFIG_TYPE_TABLE(ucc_tl_lib_config_table)},
    {NULL}};

#define FIELD(member) ucc_offsetof(ucc_tl_multitree_context_config_t, member)
ucc_config_field_t ucc_tl_multitree_context_config_table[] = {
    {"", "", NULL, FIELD(super), UCC_CONFIG_TYPE_TABLE(ucc_tl_context_config_table)},
    {"TOPOLOGY", "",
     "Network of teams that have all ranks of the context in their order: \"torus:4x4\", or a "
     "file; "
     "empty: a full mesh",
     FIELD(topology), UCC_CONFIG_TYPE_STRING},
    {"ALGORITHM", "", "As \"multitree\"; empty: \"auto\"", FIELD(algorithm),
     UCC_CONFIG_TYPE_STRING},
    {"PLAN", "", "File of `multitree tune -o`, for the same teams as TOPOLOGY", FIELD(plan),
     UCC_CONFIG_TYPE_STRING},
    {"TRANSPORT", "", "What messages travel by, \"ucx\" or \"tcp\"; empty: MULTITREE_TRANSPORT",
     FIELD(transport), UCC_CONFIG_TYPE_STRING},
    {"PROGRESS", "off",
     "Who moves collectives on while the program does something else: \"on\" (a thread), the "
     "number "
     "of a core for one there, or \"off\" (UCC's progress alone)",
     FIELD(progress), UCC_CONFIG_TYPE_STRING},
    {"DEADLINE", "86400", "Longest wait without any progress, in seconds", FIELD(deadline),
     UCC_CONFIG_TYPE_UINT},
    {"INIT_DEADLINE", "60", "Longest wait for the ranks of a team that is made, in seconds",
     FIELD(init_deadline), UCC_CONFIG_TYPE_UINT},
    {"DEVICES", "n",
     "Serve memory of the CUDA device that is current where teams are made. Teams of one host then "
     "send messages for host memory too",
     FIELD(devices), UCC_CONFIG_TYPE_BOOL},
    {NULL}};
#undef FIELD

/* ---- the library ---- */

UCC_CLASS_INIT_FUNC(ucc_tl_multitree_lib_t, const ucc_base_lib_params_t* params,
                    const ucc_base_config_t* config) {
  const ucc_tl_multitree_lib_config_t* const ours =
      ucc_derived_of(config, ucc_tl_multitree_lib_config_t);
  (void)params;
  UCC_CLASS_CALL_SUPER_INIT(ucc_tl_lib_t, &ucc_tl_multitree.super, &ours->super);
  return UCC_OK;
}

UCC_CLASS_CLEANUP_FUNC(ucc_tl_multitree_lib_t) { (void)self; }

UCC_CLASS_DEFINE(ucc_tl_multitree_lib_t, ucc_tl_lib_t);

static ucc_status_t ucc_tl_multitree_get_lib_attr(const ucc_base_lib_t* lib,
                                                  ucc_base_lib_attr_t* attributes) {
  (void)lib;
  attributes->flags = 0;
  attributes->attr.thread_mode = UCC_THREAD_MULTIPLE;
  attributes->attr.coll_types = MULTITREE_SERVED;
  if (attributes->mask & UCC_BASE_LIB_ATTR_FIELD_MIN_TEAM_SIZE) attributes->min_team_size = 1;
  if (attributes->mask & UCC_BASE_LIB_ATTR_FIELD_MAX_TEAM_SIZE) {
    attributes->max_team_size = UCC_RANK_MAX;
  }
  return UCC_OK;
}

static ucc_status_t ucc_tl_multitree_get_lib_properties(ucc_base_lib_properties_t* properties) {
  properties->default_team_size = 1;
  properties->min_team_size = 1;
  properties->max_team_size = UCC_RANK_MAX;
  return UCC_OK;
}

/* ---- contexts ---- */

UCC_CLASS_INIT_FUNC(ucc_tl_multitree_context_t, const ucc_base_context_params_t* params,
                    const ucc_base_config_t* config) {
  ucc_tl_multitree_context_config_t* const ours =
      ucc_derived_of(config, ucc_tl_multitree_context_config_t);
  ucc_status_t status;
  UCC_CLASS_CALL_SUPER_INIT(ucc_tl_context_t, &ours->super, params->context);
  status = ucc_config_clone_table(ours, &self->cfg, ucc_tl_multitree_context_config_table);
  if (status != UCC_OK) return status;
  status =
      ucc_mpool_init(&self->tasks, 0, sizeof(ucc_tl_multitree_task_t), 0, UCC_CACHE_LINE_SIZE, 8,
                     UINT_MAX, &ucc_coll_task_mpool_ops, params->thread_mode, "tl_multitree_tasks");
  if (status != UCC_OK) {
    ucc_config_parser_release_opts(&self->cfg, ucc_tl_multitree_context_config_table);
    tl_error(self->super.super.lib, "no memory for tasks");
    return status;
  }
  memset(self->served, 0, sizeof self->served);
  self->leaving = 0;
  pthread_mutex_init(&self->mutex, NULL);
  pthread_cond_init(&self->left, NULL);
  return UCC_OK;
}

/** The proof that it was this layer. */
static void tell_served(const ucc_tl_multitree_context_t* context) {
  unsigned kind;
  for (kind = 0; kind < MULTITREE_KINDS; ++kind) {
    if (context->served[kind] == 0) continue;
    tl_info(context->super.super.lib, "%s: %lu served",
            ucc_coll_type_str((ucc_coll_type_t)UCC_BIT(kind)), context->served[kind]);
  }
}

/** Waits for the ranks that have not left their teams yet, as long as they live. */
UCC_CLASS_CLEANUP_FUNC(ucc_tl_multitree_context_t) {
  pthread_mutex_lock(&self->mutex);
  while (self->leaving > 0) pthread_cond_wait(&self->left, &self->mutex);
  pthread_mutex_unlock(&self->mutex);
  tell_served(self);
  pthread_cond_destroy(&self->left);
  pthread_mutex_destroy(&self->mutex);
  ucc_mpool_cleanup(&self->tasks, 1);
  ucc_config_parser_release_opts(&self->cfg, ucc_tl_multitree_context_config_table);
}

UCC_CLASS_DEFINE(ucc_tl_multitree_context_t, ucc_tl_context_t);

static ucc_status_t ucc_tl_multitree_get_context_attr(const ucc_base_context_t* context,
                                                      ucc_base_ctx_attr_t* attributes) {
  (void)context;
  if (attributes->attr.mask & UCC_CONTEXT_ATTR_FIELD_CTX_ADDR_LEN) {
    attributes->attr.ctx_addr_len = 0;
  }
  attributes->topo_required = 0;
  return UCC_OK;
}

#if UCC_API_VERSION >= UCC_VERSION(1, 5)
/* Memory that is mapped beforehand is for one-sided layers. */
static ucc_status_t ucc_tl_multitree_mem_map(const ucc_base_context_t* context,
                                             ucc_mem_map_mode_t mode, ucc_mem_map_memh_t* memory,
                                             ucc_mem_map_tl_t* ours) {
  (void)context, (void)mode, (void)memory, (void)ours;
  return UCC_ERR_NOT_SUPPORTED;
}
static ucc_status_t ucc_tl_multitree_mem_unmap(const ucc_base_context_t* context,
                                               ucc_mem_map_mode_t mode, ucc_mem_map_tl_t* ours) {
  (void)context, (void)mode, (void)ours;
  return UCC_ERR_NOT_SUPPORTED;
}
static ucc_status_t ucc_tl_multitree_memh_pack(const ucc_base_context_t* context,
                                               ucc_mem_map_mode_t mode, ucc_mem_map_tl_t* ours,
                                               void** packed) {
  (void)context, (void)mode, (void)ours, (void)packed;
  return UCC_ERR_NOT_SUPPORTED;
}
#endif

/* ---- the tables ---- */

static UCC_CLASS_DEFINE_NEW_FUNC(ucc_tl_multitree_lib_t, ucc_base_lib_t,
                                 const ucc_base_lib_params_t*, const ucc_base_config_t*);
static UCC_CLASS_DEFINE_DELETE_FUNC(ucc_tl_multitree_lib_t, ucc_base_lib_t);
static UCC_CLASS_DEFINE_NEW_FUNC(ucc_tl_multitree_context_t, ucc_base_context_t,
                                 const ucc_base_context_params_t*, const ucc_base_config_t*);
static UCC_CLASS_DEFINE_DELETE_FUNC(ucc_tl_multitree_context_t, ucc_base_context_t);
static UCC_CLASS_DEFINE_NEW_FUNC(ucc_tl_multitree_team_t, ucc_base_team_t, ucc_base_context_t*,
                                 const ucc_base_team_params_t*);

UCC_TL_IFACE_DECLARE(multitree, MULTITREE);

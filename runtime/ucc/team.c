/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * \file
 * A communicator beside each team. Ranks tell each other an id by the team's out-of-band
 * all-gather, join, and tell each other whether they could: all have the layer or none.
 */
#include <string.h>
#include <time.h>

#include "coll_score/ucc_coll_score.h"
#include "core/ucc_team.h"
#include "runtime/ucc/component_internal.h"

static ucc_tl_multitree_context_t* context_of(const ucc_tl_multitree_team_t* team) {
  return ucc_derived_of(team->super.super.context, ucc_tl_multitree_context_t);
}

/* ---- what ranks tell each other ---- */

static multitree_greeting_t* own_greeting(const ucc_tl_multitree_team_t* team) {
  return &team->greetings[UCC_TL_TEAM_SIZE(team)];
}

/** Begins to gather what ranks have in own_greeting(). */
static ucc_status_t begin_exchange(ucc_tl_multitree_team_t* team) {
  const ucc_team_oob_coll_t* const oob = &UCC_TL_TEAM_OOB(team);
  if (UCC_TL_TEAM_SIZE(team) == 1) {
    team->greetings[0] = *own_greeting(team);
    return UCC_OK;
  }
  return oob->allgather(own_greeting(team), team->greetings, sizeof(multitree_greeting_t),
                        oob->coll_info, &team->exchange);
}

/** UCC_INPROGRESS, or what has come of it. */
static ucc_status_t end_exchange(ucc_tl_multitree_team_t* team) {
  const ucc_team_oob_coll_t* const oob = &UCC_TL_TEAM_OOB(team);
  ucc_status_t status;
  if (UCC_TL_TEAM_SIZE(team) == 1) return UCC_OK;
  status = oob->req_test(team->exchange);
  if (status == UCC_INPROGRESS) return status;
  oob->req_free(team->exchange);
  team->exchange = NULL;
  if (status != UCC_OK) tl_error(UCC_TL_TEAM_LIB(team), "the out-of-band all-gather failed");
  return status;
}

/* ---- joining ---- */

/** The network that somebody described is that of all ranks of the context in their order. */
static int has_all_ranks(const ucc_tl_multitree_team_t* team) {
  const ucc_context_t* const core = UCC_TL_CORE_CTX(team);
  const ucc_rank_t size = UCC_TL_TEAM_SIZE(team);
  ucc_rank_t rank;
  if (!(core->params.mask & UCC_CONTEXT_PARAM_FIELD_OOB)) return 0;
  if (core->params.oob.n_oob_eps != size) return 0;
  for (rank = 0; size > 1 && rank < size; ++rank) {
    const ucc_rank_t in_team = ucc_ep_map_eval(UCC_TL_TEAM_MAP(team), rank);
    if (ucc_ep_map_eval(UCC_TL_CORE_TEAM(team)->ctx_map, in_team) != rank) return 0;
  }
  return 1;
}

static const char* text(const char* value) {
  return value == NULL || *value == '\0' ? NULL : value;
}

static mtConfig_t config_of(const ucc_tl_multitree_team_t* team) {
  const ucc_tl_multitree_context_config_t* const cfg = &context_of(team)->cfg;
  const unsigned most = INT_MAX / 1000;
  mtConfig_t config = MT_CONFIG_INITIALIZER;
  config.blocking = 0;
  config.deadlineMs = (int)ucc_max(ucc_min(cfg->deadline, most) * 1000, 1);
  config.initDeadlineMs = (int)ucc_max(ucc_min(cfg->init_deadline, most) * 1000, 1);
  config.devices = cfg->devices ? 1 : 0;
  config.transport = text(cfg->transport);
  config.algorithm = text(cfg->algorithm);
  config.progress = text(cfg->progress);
  if (has_all_ranks(team)) {
    config.topology = text(cfg->topology);
    config.planFile = text(cfg->plan);
  }
  return config;
}

/** The first call with a root waits for all ranks, and a post must not: so it is made here. */
static mtResult_t prepare_roots(mtComm_t comm) {
  char byte = 0;
  mtRequest_t request = NULL;
  const mtResult_t result = mtBroadcastInit(&byte, &byte, 1, mtUint8, 0, comm, NULL, &request);
  if (result != mtSuccess) return result;
  return mtRequestFree(&request);
}

/** On a thread of its own, as it waits for other ranks. */
static void* join_team(void* argument) {
  static const struct timespec kPeriod = {0, 200000};
  ucc_tl_multitree_team_t* const team = argument;
  mtResult_t result = mtInProgress;
  while (mtCommGetAsyncError(team->comm, &result) == mtSuccess && result == mtInProgress) {
    nanosleep(&kPeriod, NULL);
  }
  if (result == mtSuccess) result = prepare_roots(team->comm);
  __atomic_store_n(&team->outcome, result, __ATOMIC_RELEASE);
  return NULL;
}

/** The first stage: rank 0's id is there. */
static ucc_status_t greet(ucc_tl_multitree_team_t* team) {
  const mtConfig_t config = config_of(team);
  mtResult_t result;
  const ucc_status_t status = end_exchange(team);
  if (status != UCC_OK) return status;
  if (!team->greetings[0].able) {
    tl_error(UCC_TL_TEAM_LIB(team), "rank 0 of a team of %u could not open a port to meet at",
             UCC_TL_TEAM_SIZE(team));
    return UCC_ERR_NO_RESOURCE;
  }
  /* Here and not in the thread: the device that is current in this one is taken. */
  result = mtCommInitRankConfig(&team->comm, (int)UCC_TL_TEAM_SIZE(team), team->greetings[0].id,
                                (int)UCC_TL_TEAM_RANK(team), &config);
  team->outcome = mtInProgress;
  if (result != mtInProgress) {
    tl_error(UCC_TL_TEAM_LIB(team), "%s", mtGetLastError(NULL));
    team->outcome = result;
  } else if (pthread_create(&team->joiner, NULL, join_team, team) != 0) {
    tl_error(UCC_TL_TEAM_LIB(team), "no thread to join a team with");
    mtCommAbort(team->comm);
    team->comm = NULL;
    team->outcome = mtSystemError;
  }
  team->stage = kJoin;
  return UCC_OK;
}

/** The second: this rank has joined, or could not. */
static ucc_status_t join(ucc_tl_multitree_team_t* team) {
  const int outcome = __atomic_load_n(&team->outcome, __ATOMIC_ACQUIRE);
  if (outcome == mtInProgress) return UCC_INPROGRESS;
  if (team->comm != NULL) {
    pthread_join(team->joiner, NULL);
    if (outcome != mtSuccess) {
      tl_error(UCC_TL_TEAM_LIB(team), "a team of %u ranks was not made: %s", UCC_TL_TEAM_SIZE(team),
               mtGetLastError(team->comm));
    }
  }
  own_greeting(team)->able = outcome == mtSuccess;
  team->stage = kJudge;
  return begin_exchange(team);
}

/** The last: all ranks have joined, or one could not. */
static ucc_status_t judge(ucc_tl_multitree_team_t* team) {
  const ucc_rank_t size = UCC_TL_TEAM_SIZE(team);
  const ucc_status_t status = end_exchange(team);
  ucc_rank_t rank;
  if (status != UCC_OK) return status;
  for (rank = 0; rank < size; ++rank) {
    if (team->greetings[rank].able) continue;
    tl_warn(UCC_TL_TEAM_LIB(team), "a team of %u ranks goes without: rank %u could not join", size,
            rank);
    return UCC_ERR_NO_RESOURCE;
  }
  ucc_free(team->greetings);
  team->greetings = NULL;
  team->stage = kReady;
  return UCC_OK;
}

ucc_status_t ucc_tl_multitree_team_create_test(ucc_base_team_t* base) {
  static ucc_status_t (*const kStages[])(ucc_tl_multitree_team_t*) = {greet, join, judge};
  ucc_tl_multitree_team_t* const team = ucc_derived_of(base, ucc_tl_multitree_team_t);
  ucc_status_t status = UCC_OK;
  while (status == UCC_OK && team->stage != kReady) status = kStages[team->stage](team);
  return status;
}

/* ---- beginning and end ---- */

/** Collectives take each other's turn by the order of their posts. */
static int is_ordered(const ucc_team_params_t* params) {
  if (!(params->mask & UCC_TEAM_PARAM_FIELD_ORDERING)) return 1;
  return params->ordering == UCC_COLLECTIVE_POST_ORDERED ||
         params->ordering == UCC_COLLECTIVE_INIT_AND_POST_ORDERED;
}

UCC_CLASS_INIT_FUNC(ucc_tl_multitree_team_t, ucc_base_context_t* base,
                    const ucc_base_team_params_t* params) {
  ucc_tl_multitree_context_t* const context = ucc_derived_of(base, ucc_tl_multitree_context_t);
  const ucc_rank_t size = params->size;
  ucc_status_t status;
  UCC_CLASS_CALL_SUPER_INIT(ucc_tl_team_t, &context->super, params);
  if (!is_ordered(&params->params)) {
    tl_debug(base->lib, "a team whose collectives may be posted in any order is left to others");
    return UCC_ERR_NOT_SUPPORTED;
  }
  if (size > 1 &&
      (!(params->params.mask & UCC_TEAM_PARAM_FIELD_OOB) || params->params.oob.n_oob_eps != size)) {
    tl_debug(base->lib, "a team of %u ranks without an out-of-band all-gather is left to others",
             size);
    return UCC_ERR_NOT_SUPPORTED;
  }
  self->stage = kGreet;
  self->exchange = NULL;
  self->comm = NULL;
  self->given_up = 0;
  self->greetings = ucc_calloc(size + 1, sizeof(multitree_greeting_t), "multitree_greetings");
  if (self->greetings == NULL) return UCC_ERR_NO_MEMORY;
  if (UCC_TL_TEAM_RANK(self) == 0) {
    own_greeting(self)->able = mtGetUniqueId(&own_greeting(self)->id) == mtSuccess;
    if (!own_greeting(self)->able) tl_error(base->lib, "%s", mtGetLastError(NULL));
  }
  status = begin_exchange(self);
  if (status == UCC_OK) return UCC_OK;
  tl_error(base->lib, "the out-of-band all-gather did not start");
  ucc_free(self->greetings);
  return status;
}

UCC_CLASS_CLEANUP_FUNC(ucc_tl_multitree_team_t) { (void)self; }

UCC_CLASS_DEFINE(ucc_tl_multitree_team_t, ucc_tl_team_t);
static UCC_CLASS_DEFINE_DELETE_FUNC(ucc_tl_multitree_team_t, ucc_base_team_t);

typedef struct {
  ucc_tl_multitree_context_t* context;
  mtComm_t comm;
  int give_up;
} leaving_t;

static void* leave(void* argument) {
  const leaving_t leaving = *(leaving_t*)argument;
  ucc_free(argument);
  if (leaving.give_up) {
    mtCommAbort(leaving.comm);
  } else {
    mtCommDestroy(leaving.comm);
  }
  pthread_mutex_lock(&leaving.context->mutex);
  --leaving.context->leaving;
  pthread_cond_broadcast(&leaving.context->left);
  pthread_mutex_unlock(&leaving.context->mutex);
  return NULL;
}

void multitree_leave(ucc_tl_multitree_context_t* context, mtComm_t comm, int give_up) {
  leaving_t* const leaving = ucc_malloc(sizeof(leaving_t), "multitree_leaving");
  pthread_t thread;
  if (leaving == NULL) {
    mtCommAbort(comm);
    return;
  }
  *leaving = (leaving_t){context, comm, give_up};
  pthread_mutex_lock(&context->mutex);
  ++context->leaving;
  pthread_mutex_unlock(&context->mutex);
  if (pthread_create(&thread, NULL, leave, leaving) == 0) {
    pthread_detach(thread);
  } else {
    leave(leaving);
  }
}

/** Other ranks may leave several teams in another order, so nobody is waited for. */
ucc_status_t ucc_tl_multitree_team_destroy(ucc_base_team_t* base) {
  ucc_tl_multitree_team_t* const team = ucc_derived_of(base, ucc_tl_multitree_team_t);
  if (team->comm != NULL && !team->given_up) {
    multitree_leave(context_of(team), team->comm, team->stage != kReady);
  }
  ucc_free(team->greetings);
  UCC_CLASS_DELETE_FUNC_NAME(ucc_tl_multitree_team_t)(base);
  return UCC_OK;
}

/* ---- scores ---- */

/** Below UCC's own layers: who wants this one in front says so by UCC_TL_MULTITREE_TUNE. */
static const ucc_score_t kBehind = 5;

/** All kinds on host memory, and what device memory has. */
static ucc_status_t build_scores(ucc_base_team_t* team, const ucc_coll_score_team_info_t* info,
                                 ucc_coll_score_t** score) {
  ucc_status_t status = ucc_coll_score_build_default(team, kBehind, info->init, MULTITREE_SERVED,
                                                     info->supported_mem_types, 1, score);
  unsigned kind;
  for (kind = 0; info->num_mem_types > 1 && kind < MULTITREE_KINDS; ++kind) {
    if (status != UCC_OK) return status;
    if (!(MULTITREE_SCHEDULED & UCC_BIT(kind))) continue;
    status = ucc_coll_score_add_range(*score, (ucc_coll_type_t)UCC_BIT(kind), UCC_MEMORY_TYPE_CUDA,
                                      0, UCC_MSG_MAX, kBehind, info->init, team);
  }
  return status;
}

ucc_status_t ucc_tl_multitree_team_get_scores(ucc_base_team_t* base, ucc_coll_score_t** scores) {
  ucc_tl_multitree_team_t* const team = ucc_derived_of(base, ucc_tl_multitree_team_t);
  ucc_memory_type_t memory[] = {UCC_MEMORY_TYPE_HOST, UCC_MEMORY_TYPE_CUDA};
  const ucc_coll_score_team_info_t info = {.default_score = UCC_TL_MULTITREE_DEFAULT_SCORE,
                                           .init = ucc_tl_multitree_coll_init,
                                           .num_mem_types = context_of(team)->cfg.devices ? 2 : 1,
                                           .supported_mem_types = memory,
                                           .supported_colls = MULTITREE_SERVED,
                                           .size = UCC_TL_TEAM_SIZE(team)};
  const char* const wanted = base->context->score_str;
  ucc_coll_score_t* score = NULL;
  ucc_status_t status = build_scores(base, &info, &score);
  if (status == UCC_OK && *wanted != '\0') {
    status = ucc_coll_score_update_from_str(wanted, &info, base, score);
    /* UCC has said what is wrong with it, and goes on without. */
    if (status == UCC_ERR_INVALID_PARAM || status == UCC_ERR_NOT_SUPPORTED) status = UCC_OK;
  }
  if (status == UCC_OK) {
    *scores = score;
  } else if (score != NULL) {
    ucc_coll_score_free(score);
  }
  return status;
}

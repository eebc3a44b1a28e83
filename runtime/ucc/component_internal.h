/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * \file
 * What the files of UCC's team layer "multitree" share. UCC's macros make the names that begin with
 * ucc_tl_multitree. In C: UCC's headers are no C++.
 */
#ifndef MULTITREE_UCC_COMPONENT_INTERNAL_H_
#define MULTITREE_UCC_COMPONENT_INTERNAL_H_

#include "components/tl/ucc_tl.h"
#include "components/tl/ucc_tl_log.h"
#include "schedule/ucc_schedule.h"
#include "utils/ucc_mpool.h"

#include <pthread.h>

#include "runtime/c/multitree.h"

/** Of ranges that UCC_TL_MULTITREE_TUNE gives no score: above UCC's own layers for host memory. No
 * other layer may have the same. */
#define UCC_TL_MULTITREE_DEFAULT_SCORE 45

/** Number of kinds of collectives. */
#define MULTITREE_KINDS 16

/** Those that have schedules, which device memory may have as well. */
#define MULTITREE_SCHEDULED                                                           \
  (UCC_COLL_TYPE_ALLREDUCE | UCC_COLL_TYPE_REDUCE_SCATTER | UCC_COLL_TYPE_ALLGATHER | \
   UCC_COLL_TYPE_BCAST | UCC_COLL_TYPE_REDUCE | UCC_COLL_TYPE_GATHER | UCC_COLL_TYPE_SCATTER)
#define MULTITREE_SERVED                                                            \
  (MULTITREE_SCHEDULED | UCC_COLL_TYPE_ALLGATHERV | UCC_COLL_TYPE_REDUCE_SCATTERV | \
   UCC_COLL_TYPE_ALLTOALL | UCC_COLL_TYPE_ALLTOALLV | UCC_COLL_TYPE_GATHERV |       \
   UCC_COLL_TYPE_SCATTERV | UCC_COLL_TYPE_BARRIER | UCC_COLL_TYPE_FANIN | UCC_COLL_TYPE_FANOUT)

typedef struct ucc_tl_multitree_iface {
  ucc_tl_iface_t super;
} ucc_tl_multitree_iface_t;
extern ucc_tl_multitree_iface_t ucc_tl_multitree;

typedef struct ucc_tl_multitree_lib_config {
  ucc_tl_lib_config_t super;
} ucc_tl_multitree_lib_config_t;

/** As in mtConfig_t; "" where that has NULL. */
typedef struct ucc_tl_multitree_context_config {
  ucc_tl_context_config_t super;
  char* topology;
  char* algorithm;
  char* plan;
  char* transport;
  char* progress;
  unsigned deadline;      /**< seconds */
  unsigned init_deadline; /**< seconds */
  int devices;
} ucc_tl_multitree_context_config_t;
extern ucc_config_field_t ucc_tl_multitree_context_config_table[];

typedef struct ucc_tl_multitree_lib {
  ucc_tl_lib_t super;
} ucc_tl_multitree_lib_t;
UCC_CLASS_DECLARE(ucc_tl_multitree_lib_t, const ucc_base_lib_params_t*, const ucc_base_config_t*);

typedef struct ucc_tl_multitree_context {
  ucc_tl_context_t super;
  ucc_tl_multitree_context_config_t cfg;
  ucc_mpool_t tasks;
  unsigned long served[MULTITREE_KINDS]; /**< posts, by kind; atomic */
  pthread_mutex_t mutex;                 /**< guards what follows */
  pthread_cond_t left;
  unsigned leaving; /**< communicators that wait for ranks which have not left them yet */
} ucc_tl_multitree_context_t;
UCC_CLASS_DECLARE(ucc_tl_multitree_context_t, const ucc_base_context_params_t*,
                  const ucc_base_config_t*);

/** What ranks tell each other while a team is made. */
typedef struct {
  mtUniqueId id; /**< rank 0's counts */
  int able;      /**< 1: this rank can go on */
} multitree_greeting_t;

/** What is done next to make a team. */
typedef enum { kGreet, kJoin, kJudge, kReady } multitree_stage_t;

typedef struct ucc_tl_multitree_team {
  ucc_tl_team_t super;
  multitree_stage_t stage;
  multitree_greeting_t* greetings; /**< of all ranks, and then what this one sends */
  void* exchange;                  /**< UCC's out-of-band request; NULL: none */
  pthread_t joiner;                /**< while the stage is kJoin */
  int outcome;                     /**< of joining, an mtResult_t; atomic */
  int given_up;                    /**< the communicator was aborted; atomic */
  mtComm_t comm;
} ucc_tl_multitree_team_t;
UCC_CLASS_DECLARE(ucc_tl_multitree_team_t, ucc_base_context_t*, const ucc_base_team_params_t*);

/** A collective in the C API's terms. */
typedef struct {
  const void* send;
  void* recv;
  size_t count; /**< in elements of `type`, as the C API's function has it; of exchanges with counts
                     for each rank, this rank's */
  mtDataType_t type;
  mtRedOp_t op;
  int root;
  /** By rank, NULL where there are none. */
  size_t *send_counts, *send_displs, *recv_counts, *recv_displs;
} multitree_call_t;

typedef struct ucc_tl_multitree_task {
  ucc_coll_task_t super;
  multitree_call_t call;
  size_t* shares;      /**< four arrays by rank, which `call` points into; NULL: none */
  int posted;          /**< once or more */
  unsigned char token; /**< what a barrier sends */
  mtRequest_t request; /**< NULL: nothing is under way */
} ucc_tl_multitree_task_t;

/** The kind of a task's collective, below MULTITREE_KINDS. */
static inline unsigned multitree_kind(const ucc_tl_multitree_task_t* task) {
  return ucc_ilog2(task->super.bargs.args.coll_type);
}
static inline ucc_tl_multitree_team_t* multitree_team(const ucc_tl_multitree_task_t* task) {
  return ucc_derived_of(task->super.team, ucc_tl_multitree_team_t);
}

/** Makes task->call of its arguments as they are now: UCC's own layers change them between two
 * posts. UCC_ERR_NOT_SUPPORTED: another layer serves it; the same at all ranks. */
ucc_status_t multitree_read(ucc_tl_multitree_task_t* task);
/** Starts task->call. */
mtResult_t multitree_start(ucc_tl_multitree_task_t* task);

/** What a reduction is in the C API's terms; an element of UCC's is `parts` of `type`.
 * UCC_ERR_NOT_SUPPORTED: there is none. */
ucc_status_t multitree_reduction(ucc_datatype_t datatype, ucc_reduction_op_t op, mtDataType_t* type,
                                 mtRedOp_t* ours, size_t* parts);
/** Bytes of an element that lies in one piece. UCC_ERR_NOT_SUPPORTED: it does not. */
ucc_status_t multitree_element(ucc_datatype_t datatype, size_t* bytes);
ucc_status_t multitree_status(mtResult_t result);

/** Leaves a communicator, or gives it up, without waiting for anybody. */
void multitree_leave(ucc_tl_multitree_context_t* context, mtComm_t comm, int give_up);

/* What UCC calls. */
ucc_status_t ucc_tl_multitree_team_create_test(ucc_base_team_t* team);
ucc_status_t ucc_tl_multitree_team_destroy(ucc_base_team_t* team);
ucc_status_t ucc_tl_multitree_team_get_scores(ucc_base_team_t* team, ucc_coll_score_t** score);
ucc_status_t ucc_tl_multitree_coll_init(ucc_base_coll_args_t* args, ucc_base_team_t* team,
                                        ucc_coll_task_t** task);

#endif /* MULTITREE_UCC_COMPONENT_INTERNAL_H_ */

/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * \file
 * A collective from its initialization to its end: UCC's task around a request of the C API.
 */
#include "core/ucc_progress_queue.h"
#include "runtime/ucc/component_internal.h"

static ucc_tl_multitree_context_t* context_of(const ucc_tl_multitree_task_t* task) {
  return ucc_derived_of(task->super.team->context, ucc_tl_multitree_context_t);
}

/** Says in UCC's log what a call of the C API has failed with. */
static ucc_status_t tell_failure(const ucc_tl_multitree_task_t* task, mtResult_t result) {
  tl_error(UCC_TASK_LIB(task), "%s: %s: %s", ucc_coll_type_str(task->super.bargs.args.coll_type),
           mtGetErrorString(result), mtGetLastError(NULL));
  return multitree_status(result);
}

static void progress(ucc_coll_task_t* super) {
  ucc_tl_multitree_task_t* const task = ucc_derived_of(super, ucc_tl_multitree_task_t);
  int done = 0;
  const mtResult_t result = mtRequestTest(task->request, &done);
  if (result == mtSuccess && !done) {
    super->status = UCC_INPROGRESS;
    return;
  }
  super->status = result == mtSuccess ? UCC_OK : tell_failure(task, result);
  mtRequestFree(&task->request);
}

static ucc_status_t post(ucc_coll_task_t* super) {
  ucc_tl_multitree_task_t* const task = ucc_derived_of(super, ucc_tl_multitree_task_t);
  const ucc_status_t status = multitree_read(task);
  mtResult_t result;
  if (status != UCC_OK) return status;
  task->posted = 1;
  result = multitree_start(task);
  if (result != mtSuccess) {
    super->status = super->super.status = tell_failure(task, result);
    return super->status;
  }
  __atomic_fetch_add(&context_of(task)->served[multitree_kind(task)], 1, __ATOMIC_RELAXED);
  super->status = UCC_INPROGRESS;
  return ucc_progress_queue_enqueue(UCC_TASK_CORE_CTX(task)->pq, super);
}

/** A task that UCC has given up, as its time was over: others may wait for this rank, and buffers
 * are the caller's again, so the team ends. */
static void give_up(ucc_tl_multitree_task_t* task) {
  ucc_tl_multitree_team_t* const team = multitree_team(task);
  if (__atomic_exchange_n(&team->given_up, 1, __ATOMIC_ACQ_REL)) return;
  tl_warn(UCC_TASK_LIB(task), "%s was given up: its team cannot be used any more",
          ucc_coll_type_str(task->super.bargs.args.coll_type));
  mtCommAbort(team->comm);
}

static ucc_status_t finalize(ucc_coll_task_t* super) {
  ucc_tl_multitree_task_t* const task = ucc_derived_of(super, ucc_tl_multitree_task_t);
  if (task->request != NULL) {
    int done = 0;
    if (mtRequestTest(task->request, &done) == mtSuccess && !done) give_up(task);
    mtRequestFree(&task->request);
  }
  ucc_free(task->shares);
  ucc_mpool_put(task);
  return UCC_OK;
}

ucc_status_t ucc_tl_multitree_coll_init(ucc_base_coll_args_t* args, ucc_base_team_t* team,
                                        ucc_coll_task_t** made) {
  ucc_tl_multitree_context_t* const context =
      ucc_derived_of(team->context, ucc_tl_multitree_context_t);
  ucc_tl_multitree_task_t* const task = ucc_mpool_get(&context->tasks);
  ucc_status_t status;
  if (task == NULL) return UCC_ERR_NO_MEMORY;
  ucc_coll_task_init(&task->super, args, team);
  task->super.post = post;
  task->super.progress = progress;
  task->super.finalize = finalize;
  task->shares = NULL;
  task->posted = 0;
  task->request = NULL;
  status = multitree_read(task);
  if (status == UCC_OK) {
    *made = &task->super;
  } else {
    finalize(&task->super);
  }
  return status;
}

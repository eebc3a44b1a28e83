/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * \file
 * UCC's arguments in the C API's terms, a function for each kind of collective. What only moves
 * data moves bytes, so ranks may use different types for them.
 */
#include "runtime/ucc/component_internal.h"

typedef ucc_tl_multitree_task_t task_t;

static const ucc_coll_args_t* args_of(const task_t* task) { return &task->super.bargs.args; }
static ucc_rank_t size_of(const task_t* task) { return task->super.team->params.size; }
static ucc_rank_t rank_of(const task_t* task) { return task->super.team->params.rank; }
static int is_in_place(const task_t* task) { return UCC_IS_INPLACE(*args_of(task)) ? 1 : 0; }
static int is_root(const task_t* task) { return args_of(task)->root == rank_of(task); }

/** Bytes of an element, of a call that moves `count` of them. */
static ucc_status_t read_moved(task_t* task, ucc_datatype_t datatype, size_t count, size_t* bytes) {
  const ucc_status_t status = multitree_element(datatype, bytes);
  if (status != UCC_OK) return status;
  task->call.type = mtUint8;
  task->call.op = mtSum;
  task->call.count = count * *bytes;
  return UCC_OK;
}

/** Bytes of an element, of a call that reduces `count` of them. */
static ucc_status_t read_reduced(task_t* task, ucc_datatype_t datatype, size_t count,
                                 size_t* bytes) {
  size_t parts = 1;
  const ucc_status_t status =
      multitree_reduction(datatype, args_of(task)->op, &task->call.type, &task->call.op, &parts);
  if (status != UCC_OK) return status;
  task->call.count = count * parts;
  return multitree_element(datatype, bytes);
}

/** Four arrays by rank: what is sent and received, counts and displacements. */
static ucc_status_t make_shares(task_t* task) {
  if (task->shares != NULL) return UCC_OK;
  task->shares = ucc_malloc(4 * size_of(task) * sizeof(size_t), "multitree_shares");
  return task->shares == NULL ? UCC_ERR_NO_MEMORY : UCC_OK;
}

/** Fills the arrays of one side with counts and displacements in units of 1 / `bytes` element;
 * once, as their owner may change them afterwards. */
static ucc_status_t read_shares(task_t* task, const ucc_coll_buffer_info_v_t* info, size_t bytes,
                                size_t** counts, size_t** displs) {
  const ucc_rank_t size = size_of(task);
  const int sent = counts == &task->call.send_counts;
  const ucc_status_t status = make_shares(task);
  ucc_rank_t rank;
  if (status != UCC_OK) return status;
  *counts = task->shares + (sent ? 0 : 2) * size;
  *displs = info->displacements == NULL ? NULL : *counts + size;
  if (task->posted) return UCC_OK;
  for (rank = 0; rank < size; ++rank) {
    (*counts)[rank] = ucc_coll_args_get_count(args_of(task), info->counts, rank) * bytes;
    if (*displs == NULL) continue;
    (*displs)[rank] =
        ucc_coll_args_get_displacement(args_of(task), info->displacements, rank) * bytes;
  }
  return UCC_OK;
}

/** Where the share of this rank begins. */
static size_t own_displ(const task_t* task, const size_t* counts, const size_t* displs) {
  size_t before = 0;
  ucc_rank_t rank;
  if (displs != NULL) return displs[rank_of(task)];
  for (rank = 0; rank < rank_of(task); ++rank) before += counts[rank];
  return before;
}

static ucc_status_t read_token(task_t* task) {
  task->call.send = task->call.recv = &task->token;
  task->call.type = mtUint8;
  task->call.op = mtBitOr;
  task->call.count = 1;
  task->token = 0;
  return UCC_OK;
}

static ucc_status_t read_bcast(task_t* task) {
  const ucc_coll_buffer_info_t* const src = &args_of(task)->src.info;
  size_t bytes;
  if (UCC_COLL_ARGS_ACTIVE_SET(args_of(task))) return UCC_ERR_NOT_SUPPORTED;
  task->call.send = task->call.recv = src->buffer;
  return read_moved(task, src->datatype, src->count, &bytes);
}

static ucc_status_t read_allreduce(task_t* task) {
  const ucc_coll_args_t* const args = args_of(task);
  const ucc_coll_buffer_info_t* const dst = &args->dst.info;
  size_t bytes;
  task->call.send = is_in_place(task) ? dst->buffer : args->src.info.buffer;
  task->call.recv = dst->buffer;
  return read_reduced(task, dst->datatype, dst->count, &bytes);
}

static ucc_status_t read_reduce(task_t* task) {
  const ucc_coll_buffer_info_t* const src = &args_of(task)->src.info;
  const ucc_coll_buffer_info_t* const dst = &args_of(task)->dst.info;
  const ucc_coll_buffer_info_t* const known = is_root(task) ? dst : src;
  size_t bytes;
  task->call.send = is_root(task) && is_in_place(task) ? dst->buffer : src->buffer;
  task->call.recv = is_root(task) ? dst->buffer : NULL;
  return read_reduced(task, known->datatype, known->count, &bytes);
}

/** Of a vector in place that the ranks do not divide, the first have one element more. */
static ucc_status_t read_uneven(task_t* task, size_t total, size_t bytes) {
  const size_t parts = task->call.count / total;
  const ucc_rank_t size = size_of(task);
  const ucc_status_t status = make_shares(task);
  ucc_rank_t rank;
  if (status != UCC_OK) return status;
  if (args_of(task)->dst.info.mem_type != UCC_MEMORY_TYPE_HOST) return UCC_ERR_NOT_SUPPORTED;
  task->call.recv_counts = task->shares;
  for (rank = 0; rank < size; ++rank) {
    task->shares[rank] = ucc_buffer_block_count(total, size, rank) * parts;
  }
  task->call.recv = PTR_OFFSET(args_of(task)->dst.info.buffer,
                               ucc_buffer_block_offset(total, size, rank_of(task)) * bytes);
  return UCC_OK;
}

static ucc_status_t read_reduce_scatter(task_t* task) {
  const ucc_coll_args_t* const args = args_of(task);
  const ucc_coll_buffer_info_t* const dst = &args->dst.info;
  const size_t size = size_of(task), total = dst->count;
  size_t bytes;
  const ucc_status_t status = read_reduced(task, dst->datatype, total, &bytes);
  if (status != UCC_OK) return status;
  task->call.send = args->src.info.buffer;
  task->call.recv = dst->buffer;
  if (!is_in_place(task)) return UCC_OK;
  task->call.send = dst->buffer;
  if (total % size != 0) return read_uneven(task, total, bytes);
  task->call.recv = PTR_OFFSET(dst->buffer, rank_of(task) * (total / size) * bytes);
  task->call.count /= size;
  return UCC_OK;
}

static ucc_status_t read_reduce_scatterv(task_t* task) {
  const ucc_coll_args_t* const args = args_of(task);
  multitree_call_t* const call = &task->call;
  ucc_coll_buffer_info_v_t dst = args->dst.info_v;
  size_t bytes, parts;
  ucc_status_t status = read_reduced(task, dst.datatype, 1, &bytes);
  if (status != UCC_OK) return status;
  parts = call->count;
  dst.displacements = NULL; /* a rank gets one share: nobody sets them */
  status = read_shares(task, &dst, parts, &call->recv_counts, &call->recv_displs);
  if (status != UCC_OK) return status;
  call->send = args->src.info.buffer;
  call->recv = dst.buffer;
  if (!is_in_place(task)) return UCC_OK;
  call->send = dst.buffer;
  call->recv = PTR_OFFSET(dst.buffer, own_displ(task, call->recv_counts, NULL) / parts * bytes);
  return UCC_OK;
}

static ucc_status_t read_allgather(task_t* task) {
  const ucc_coll_args_t* const args = args_of(task);
  const ucc_coll_buffer_info_t* const dst = &args->dst.info;
  size_t bytes;
  const ucc_status_t status = read_moved(task, dst->datatype, dst->count / size_of(task), &bytes);
  if (status != UCC_OK) return status;
  task->call.recv = dst->buffer;
  task->call.send = is_in_place(task) ? PTR_OFFSET(dst->buffer, rank_of(task) * task->call.count)
                                      : args->src.info.buffer;
  return UCC_OK;
}

/** What this rank has for a gather of shares that differ: `all` has the place, where it is in
 * place. */
static ucc_status_t read_sent_share(task_t* task, const ucc_coll_buffer_info_v_t* all) {
  multitree_call_t* const call = &task->call;
  const ucc_coll_buffer_info_t* const src = &args_of(task)->src.info;
  size_t bytes;
  if (all == NULL || !is_in_place(task)) {
    call->send = src->buffer;
    return read_moved(task, src->datatype, src->count, &bytes);
  }
  call->send = PTR_OFFSET(all->buffer, own_displ(task, call->recv_counts, call->recv_displs));
  call->count = call->recv_counts[rank_of(task)];
  return UCC_OK;
}

/** What all ranks have, in `all`. */
static ucc_status_t read_gathered(task_t* task, const ucc_coll_buffer_info_v_t* all) {
  multitree_call_t* const call = &task->call;
  size_t bytes;
  ucc_status_t status = read_moved(task, all->datatype, 0, &bytes);
  if (status != UCC_OK) return status;
  call->recv = all->buffer;
  status = read_shares(task, all, bytes, &call->recv_counts, &call->recv_displs);
  return status != UCC_OK ? status : read_sent_share(task, all);
}

static ucc_status_t read_allgatherv(task_t* task) {
  return read_gathered(task, &args_of(task)->dst.info_v);
}

static ucc_status_t read_gatherv(task_t* task) {
  if (is_root(task)) return read_gathered(task, &args_of(task)->dst.info_v);
  return read_sent_share(task, NULL);
}

static ucc_status_t read_scatterv(task_t* task) {
  const ucc_coll_buffer_info_v_t* const src = &args_of(task)->src.info_v;
  const ucc_coll_buffer_info_t* const dst = &args_of(task)->dst.info;
  multitree_call_t* const call = &task->call;
  size_t bytes;
  ucc_status_t status;
  if (is_root(task)) {
    status = read_moved(task, src->datatype, 0, &bytes);
    if (status != UCC_OK) return status;
    call->send = src->buffer;
    status = read_shares(task, src, bytes, &call->send_counts, &call->send_displs);
    if (status != UCC_OK) return status;
    if (is_in_place(task)) {
      call->recv = PTR_OFFSET(src->buffer, own_displ(task, call->send_counts, call->send_displs));
      call->count = call->send_counts[rank_of(task)];
      return UCC_OK;
    }
  }
  call->recv = dst->buffer;
  return read_moved(task, dst->datatype, dst->count, &bytes);
}

static ucc_status_t read_gather(task_t* task) {
  const ucc_coll_buffer_info_t* const src = &args_of(task)->src.info;
  const ucc_coll_buffer_info_t* const dst = &args_of(task)->dst.info;
  size_t bytes;
  ucc_status_t status;
  task->call.send = src->buffer;
  if (!is_root(task)) return read_moved(task, src->datatype, src->count, &bytes);
  status = read_moved(task, dst->datatype, dst->count / size_of(task), &bytes);
  if (status != UCC_OK) return status;
  task->call.recv = dst->buffer;
  if (is_in_place(task)) {
    task->call.send = PTR_OFFSET(dst->buffer, rank_of(task) * task->call.count);
  }
  return UCC_OK;
}

static ucc_status_t read_scatter(task_t* task) {
  const ucc_coll_buffer_info_t* const src = &args_of(task)->src.info;
  const ucc_coll_buffer_info_t* const dst = &args_of(task)->dst.info;
  size_t bytes;
  ucc_status_t status;
  task->call.recv = dst->buffer;
  if (!is_root(task)) return read_moved(task, dst->datatype, dst->count, &bytes);
  status = read_moved(task, src->datatype, src->count / size_of(task), &bytes);
  if (status != UCC_OK) return status;
  task->call.send = src->buffer;
  if (is_in_place(task)) {
    task->call.recv = PTR_OFFSET(src->buffer, rank_of(task) * task->call.count);
  }
  return UCC_OK;
}

/** In place is what the C API has not got. */
static ucc_status_t read_alltoall(task_t* task) {
  const ucc_coll_args_t* const args = args_of(task);
  const ucc_coll_buffer_info_t* const dst = &args->dst.info;
  size_t bytes;
  if (is_in_place(task)) return UCC_ERR_NOT_SUPPORTED;
  task->call.send = args->src.info.buffer;
  task->call.recv = dst->buffer;
  return read_moved(task, dst->datatype, dst->count / size_of(task), &bytes);
}

static ucc_status_t read_alltoallv(task_t* task) {
  const ucc_coll_buffer_info_v_t* const src = &args_of(task)->src.info_v;
  const ucc_coll_buffer_info_v_t* const dst = &args_of(task)->dst.info_v;
  multitree_call_t* const call = &task->call;
  size_t sent, received;
  ucc_status_t status;
  if (is_in_place(task)) return UCC_ERR_NOT_SUPPORTED;
  call->send = src->buffer;
  call->recv = dst->buffer;
  status = read_moved(task, src->datatype, 0, &sent);
  if (status == UCC_OK) status = read_moved(task, dst->datatype, 0, &received);
  if (status == UCC_OK) {
    status = read_shares(task, src, sent, &call->send_counts, &call->send_displs);
  }
  if (status == UCC_OK) {
    status = read_shares(task, dst, received, &call->recv_counts, &call->recv_displs);
  }
  return status;
}

ucc_status_t multitree_read(ucc_tl_multitree_task_t* task) {
  /* In the order of UCC's bits. */
  static ucc_status_t (*const kReaders[MULTITREE_KINDS])(task_t*) = {
      read_allgather,      read_allgatherv,      read_allreduce, read_alltoall,
      read_alltoallv,      read_token,           read_bcast,     read_token,
      read_token,          read_gather,          read_gatherv,   read_reduce,
      read_reduce_scatter, read_reduce_scatterv, read_scatter,   read_scatterv};
  const unsigned kind = multitree_kind(task);
  if (kind >= MULTITREE_KINDS) return UCC_ERR_NOT_SUPPORTED;
  memset(&task->call, 0, sizeof task->call);
  task->call.root = (int)args_of(task)->root;
  return kReaders[kind](task);
}

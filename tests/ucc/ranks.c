/* SPDX-License-Identifier: BSD-3-Clause */
#include "ranks.h"

#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

int my_rank = -1;

void fail(const char* file, int line, const char* what, long found, long expected) {
  fprintf(stderr, "%s:%d: rank %d: %s: expected %ld, found %ld\n", file, line, my_rank, what,
          expected, found);
  _exit(1);
}

area_t* make_areas(int count) {
  void* const memory = mmap(NULL, (size_t)count * sizeof(area_t), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) fail(__FILE__, __LINE__, "mmap", -1, 0);
  return memory;
}

typedef struct {
  const place_t* place;
  int ranks;
  char* to;
  size_t bytes;
} gather_t;

static ucc_status_t oob_allgather(void* send, void* recv, size_t bytes, void* info,
                                  void** request) {
  oob_t* const oob = info;
  gather_t* const gather = malloc(sizeof *gather);
  if (oob->next >= kPlaces || bytes > kBlockBytes) return UCC_ERR_NO_RESOURCE;
  place_t* const place = &oob->area->places[oob->next++];
  memcpy(place->blocks[oob->rank], send, bytes);
  __atomic_fetch_add(&place->arrived, 1, __ATOMIC_RELEASE);
  *gather = (gather_t){place, oob->ranks, recv, bytes};
  *request = gather;
  return UCC_OK;
}

static ucc_status_t oob_test(void* request) {
  const gather_t* const gather = request;
  int rank;
  if (__atomic_load_n(&gather->place->arrived, __ATOMIC_ACQUIRE) < gather->ranks) {
    sched_yield();
    return UCC_INPROGRESS;
  }
  for (rank = 0; rank < gather->ranks; ++rank) {
    memcpy(gather->to + (size_t)rank * gather->bytes, gather->place->blocks[rank], gather->bytes);
  }
  return UCC_OK;
}

static ucc_status_t oob_free(void* request) {
  free(request);
  return UCC_OK;
}

ucc_oob_coll_t oob_coll(oob_t* oob) {
  return (ucc_oob_coll_t){.allgather = oob_allgather,
                          .req_test = oob_test,
                          .req_free = oob_free,
                          .coll_info = oob,
                          .n_oob_eps = (uint32_t)oob->ranks,
                          .oob_ep = (uint32_t)oob->rank};
}

void open_world(world_t* world, area_t* area) {
  ucc_lib_config_h lib_config;
  ucc_context_config_h context_config;
  const ucc_lib_params_t lib = {.mask = UCC_LIB_PARAM_FIELD_THREAD_MODE,
                                .thread_mode = UCC_THREAD_SINGLE};
  ucc_context_params_t context = {.mask = UCC_CONTEXT_PARAM_FIELD_OOB};
  world->oob = (oob_t){area, my_rank, kRanks, 0};
  context.oob = oob_coll(&world->oob);
  EXPECT(ucc_lib_config_read(NULL, NULL, &lib_config), UCC_OK);
  EXPECT(ucc_init(&lib, lib_config, &world->lib), UCC_OK);
  ucc_lib_config_release(lib_config);
  EXPECT(ucc_context_config_read(world->lib, NULL, &context_config), UCC_OK);
  EXPECT(ucc_context_create(world->lib, &context, context_config, &world->context), UCC_OK);
  ucc_context_config_release(context_config);
}

void close_world(world_t* world) {
  EXPECT(ucc_context_destroy(world->context), UCC_OK);
  EXPECT(ucc_finalize(world->lib), UCC_OK);
}

/** Whether a wait that began then has taken too long. */
static int is_over(time_t begin) { return time(NULL) - begin > 60; }

ucc_status_t open_team(world_t* world, area_t* area, int rank, int ranks, oob_t* oob,
                       ucc_team_h* team) {
  const time_t begin = time(NULL);
  ucc_team_params_t params = {
      .mask = UCC_TEAM_PARAM_FIELD_OOB | UCC_TEAM_PARAM_FIELD_EP | UCC_TEAM_PARAM_FIELD_EP_RANGE,
      .ep = (uint64_t)rank,
      .ep_range = UCC_COLLECTIVE_EP_RANGE_CONTIG};
  ucc_status_t status;
  *oob = (oob_t){area, rank, ranks, 0};
  params.oob = oob_coll(oob);
  status = ucc_team_create_post(&world->context, 1, &params, team);
  while (status == UCC_OK && (status = ucc_team_create_test(*team)) == UCC_INPROGRESS) {
    EXPECT(is_over(begin), 0);
    ucc_context_progress(world->context);
    status = UCC_OK;
  }
  return status;
}

void close_team(world_t* world, ucc_team_h team) {
  ucc_status_t status;
  while ((status = ucc_team_destroy(team)) == UCC_INPROGRESS) ucc_context_progress(world->context);
  EXPECT(status, UCC_OK);
}

ucc_status_t finish(world_t* world, ucc_coll_req_h request) {
  const time_t begin = time(NULL);
  ucc_status_t status, freed;
  while ((status = ucc_collective_test(request)) == UCC_INPROGRESS) {
    EXPECT(is_over(begin), 0);
    ucc_context_progress(world->context);
  }
  freed = ucc_collective_finalize(request);
  return status == UCC_OK ? freed : status;
}

ucc_status_t call(world_t* world, ucc_team_h team, ucc_coll_args_t* args) {
  ucc_coll_req_h request;
  ucc_status_t status = ucc_collective_init(args, &request, team);
  if (status != UCC_OK) return status;
  status = ucc_collective_post(request);
  if (status == UCC_OK) return finish(world, request);
  ucc_collective_finalize(request);
  return status;
}

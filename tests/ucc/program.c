/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * \file
 * What UCC's own tests leave out, on three processes: program
 * calls|teams|unserved|late|differ|death. UCC_TLS says who serves it.
 */
#include <complex.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ranks.h"

static world_t world;
static area_t* areas; /* the first is the world's */

#define HOST(pointer, length, type) \
  { .buffer = (pointer), .count = (length), .datatype = (type), .mem_type = UCC_MEMORY_TYPE_HOST }
#define HOST_V(pointer, lengths, places, type)                                                   \
  {                                                                                              \
    .buffer = (pointer), .counts = (ucc_count_t*)(lengths),                                      \
    .displacements = (ucc_aint_t*)(places), .datatype = (type), .mem_type = UCC_MEMORY_TYPE_HOST \
  }
#define FLAGGED(bits) .mask = UCC_COLL_ARGS_FIELD_FLAGS, .flags = (bits)

static int32_t value(int rank, int i) { return 1000 * (rank + 1) + i; }

/* ---- calls ---- */

static void test_fans(ucc_team_h team) {
  int root;
  for (root = 0; root < kRanks; ++root) {
    ucc_coll_args_t in = {.coll_type = UCC_COLL_TYPE_FANIN, .root = (uint64_t)root};
    ucc_coll_args_t out = {.coll_type = UCC_COLL_TYPE_FANOUT, .root = (uint64_t)root};
    EXPECT(call(&world, team, &in), UCC_OK);
    EXPECT(call(&world, team, &out), UCC_OK);
  }
}

/** Shares of 0, 5 and 1 elements that lie in another order than their ranks. */
static const uint32_t kCounts[kRanks] = {0, 5, 1};
static const uint32_t kPlacesOf[kRanks] = {7, 2, 0};
enum { kWhole = 8 };

static void expect_shares(const int32_t* all) {
  int rank;
  uint32_t i;
  for (rank = 0; rank < kRanks; ++rank) {
    for (i = 0; i < kCounts[rank]; ++i) EXPECT(all[kPlacesOf[rank] + i], value(rank, (int)i));
  }
}

static void test_shares(ucc_team_h team) {
  int32_t mine[5], all[kWhole] = {0};
  int root, i;
  ucc_coll_args_t args = {.coll_type = UCC_COLL_TYPE_ALLGATHERV};
  ucc_coll_buffer_info_t own = HOST(mine, kCounts[my_rank], UCC_DT_INT32);
  ucc_coll_buffer_info_v_t whole = HOST_V(all, kCounts, kPlacesOf, UCC_DT_INT32);
  for (i = 0; i < 5; ++i) mine[i] = value(my_rank, i);
  args.src.info = own;
  args.dst.info_v = whole;
  EXPECT(call(&world, team, &args), UCC_OK);
  expect_shares(all);
  for (root = 0; root < kRanks; ++root) {
    memset(all, 0, sizeof all);
    args.root = (uint64_t)root;
    args.coll_type = UCC_COLL_TYPE_GATHERV;
    EXPECT(call(&world, team, &args), UCC_OK);
    if (my_rank == root) expect_shares(all);
    if (my_rank != root) EXPECT(all[2], 0);
    args.coll_type = UCC_COLL_TYPE_SCATTERV;
    args.src.info_v = whole;
    args.dst.info = own;
    memset(mine, 0, sizeof mine);
    EXPECT(call(&world, team, &args), UCC_OK);
    for (i = 0; i < (int)kCounts[my_rank]; ++i) EXPECT(mine[i], value(my_rank, i));
    for (i = 0; i < 5; ++i) mine[i] = value(my_rank, i);
    args.src.info = own;
    args.dst.info_v = whole;
  }
}

/** Rank r has (r + s) % 3 elements for rank s. */
static void test_all_to_all_shares(ucc_team_h team) {
  int32_t out[kRanks * 2], in[kRanks * 2];
  uint64_t counts[kRanks], places[kRanks];
  int peer, i;
  ucc_coll_args_t args = {
      FLAGGED(UCC_COLL_ARGS_FLAG_COUNT_64BIT | UCC_COLL_ARGS_FLAG_DISPLACEMENTS_64BIT),
      .coll_type = UCC_COLL_TYPE_ALLTOALLV, .src.info_v = HOST_V(out, counts, places, UCC_DT_INT32),
      .dst.info_v = HOST_V(in, counts, places, UCC_DT_INT32)};
  for (peer = 0; peer < kRanks; ++peer) {
    counts[peer] = (uint64_t)((my_rank + peer) % 3);
    places[peer] = 2U * (uint64_t)peer;
    for (i = 0; i < 2; ++i) out[2 * peer + i] = value(my_rank, 10 * peer + i);
  }
  EXPECT(call(&world, team, &args), UCC_OK);
  for (peer = 0; peer < kRanks; ++peer) {
    for (i = 0; i < (int)counts[peer]; ++i) {
      EXPECT(in[2 * peer + i], value(peer, 10 * my_rank + i));
    }
  }
}

/** Ten elements over three ranks, in place: 4, 3 and 3 of them. */
static void test_uneven(ucc_team_h team) {
  static const int kBegin[kRanks + 1] = {0, 4, 7, 10};
  static const uint32_t kShares[kRanks] = {0, 9, 1};
  int32_t all[10], mine[10];
  int i;
  ucc_coll_args_t args = {FLAGGED(UCC_COLL_ARGS_FLAG_IN_PLACE),
                          .coll_type = UCC_COLL_TYPE_REDUCE_SCATTER, .op = UCC_OP_SUM,
                          .dst.info = HOST(all, 10, UCC_DT_INT32)};
  ucc_coll_args_t shares = {.coll_type = UCC_COLL_TYPE_REDUCE_SCATTERV,
                            .op = UCC_OP_SUM,
                            .src.info = HOST(all, 10, UCC_DT_INT32),
                            .dst.info_v = HOST_V(mine, kShares, NULL, UCC_DT_INT32)};
  for (i = 0; i < 10; ++i) all[i] = value(my_rank, i);
  EXPECT(call(&world, team, &args), UCC_OK);
  for (i = kBegin[my_rank]; i < kBegin[my_rank + 1]; ++i) EXPECT(all[i], 6000 + 3 * i);
  for (i = 0; i < 10; ++i) all[i] = value(my_rank, i);
  EXPECT(call(&world, team, &shares), UCC_OK);
  for (i = 0; i < (int)kShares[my_rank]; ++i) {
    EXPECT(mine[i], 6000 + 3 * (my_rank == 2 ? 9 + i : i));
  }
}

static void test_types(ucc_team_h team) {
  const ucc_generic_dt_ops_t ops = {.mask = UCC_GENERIC_DT_OPS_FIELD_FLAGS,
                                    .flags = UCC_GENERIC_DT_OPS_FLAG_CONTIG,
                                    .contig_size = 24};
  double complex number = my_rank + 1 + 2 * I, sum = 0;
  float real = (float)(3 * my_rank), mean = 0;
  uint16_t bits = (uint16_t)(1 << my_rank);
  char text[48];
  ucc_datatype_t own;
  ucc_coll_args_t args = {.coll_type = UCC_COLL_TYPE_ALLREDUCE, .op = UCC_OP_SUM};
  args.src.info = (ucc_coll_buffer_info_t)HOST(&number, 1, UCC_DT_FLOAT64_COMPLEX);
  args.dst.info = (ucc_coll_buffer_info_t)HOST(&sum, 1, UCC_DT_FLOAT64_COMPLEX);
  EXPECT(call(&world, team, &args), UCC_OK);
  EXPECT(creal(sum), 6);
  EXPECT(cimag(sum), 6);
  args.op = UCC_OP_AVG;
  args.src.info = (ucc_coll_buffer_info_t)HOST(&real, 1, UCC_DT_FLOAT32);
  args.dst.info = (ucc_coll_buffer_info_t)HOST(&mean, 1, UCC_DT_FLOAT32);
  EXPECT(call(&world, team, &args), UCC_OK);
  EXPECT(mean, 3);
  args.op = UCC_OP_BXOR;
  args.mask = UCC_COLL_ARGS_FIELD_FLAGS;
  args.flags = UCC_COLL_ARGS_FLAG_IN_PLACE;
  args.dst.info = (ucc_coll_buffer_info_t)HOST(&bits, 1, UCC_DT_UINT16);
  EXPECT(call(&world, team, &args), UCC_OK);
  EXPECT(bits, 7);
  EXPECT(ucc_dt_create_generic(&ops, NULL, &own), UCC_OK);
  memset(text, my_rank == 1 ? 'x' : '-', sizeof text);
  args = (ucc_coll_args_t){.coll_type = UCC_COLL_TYPE_BCAST, .root = 1};
  args.src.info = (ucc_coll_buffer_info_t)HOST(text, 2, own);
  EXPECT(call(&world, team, &args), UCC_OK);
  EXPECT(text[47], 'x');
  ucc_dt_destroy(own);
}

static void test_persistent(ucc_team_h team) {
  int32_t in[100], out[100];
  int round, i;
  ucc_coll_req_h request;
  ucc_coll_args_t args = {FLAGGED(UCC_COLL_ARGS_FLAG_PERSISTENT),
                          .coll_type = UCC_COLL_TYPE_ALLREDUCE, .op = UCC_OP_MAX,
                          .src.info = HOST(in, 100, UCC_DT_INT32),
                          .dst.info = HOST(out, 100, UCC_DT_INT32)};
  EXPECT(ucc_collective_init(&args, &request, team), UCC_OK);
  for (round = 0; round < 5; ++round) {
    for (i = 0; i < 100; ++i) in[i] = value(my_rank, i + round);
    EXPECT(ucc_collective_post(request), UCC_OK);
    while (ucc_collective_test(request) == UCC_INPROGRESS) ucc_context_progress(world.context);
    for (i = 0; i < 100; ++i) EXPECT(out[i], value(kRanks - 1, i + round));
  }
  EXPECT(ucc_collective_finalize(request), UCC_OK);
}

static void run_calls(ucc_team_h team) {
  test_fans(team);
  test_shares(team);
  test_all_to_all_shares(team);
  test_uneven(team);
  test_types(team);
  test_persistent(team);
}

/* ---- teams ---- */

/** The sum over a team of what its ranks have, started. */
static ucc_coll_req_h start_sum(ucc_team_h team, int32_t* number) {
  ucc_coll_req_h request;
  ucc_coll_args_t args = {FLAGGED(UCC_COLL_ARGS_FLAG_IN_PLACE),
                          .coll_type = UCC_COLL_TYPE_ALLREDUCE, .op = UCC_OP_SUM,
                          .dst.info = HOST(number, 1, UCC_DT_INT32)};
  EXPECT(ucc_collective_init(&args, &request, team), UCC_OK);
  EXPECT(ucc_collective_post(request), UCC_OK);
  return request;
}

static void expect_sum(ucc_team_h team, int expected) {
  int32_t number = my_rank + 1;
  EXPECT(finish(&world, start_sum(team, &number)), UCC_OK);
  EXPECT(number, expected);
}

/** Of one rank, of the first and the last in the other order, and two of all, at the same time. */
static void run_teams(ucc_team_h whole) {
  ucc_team_h alone, ends, reversed;
  oob_t oobs[3];
  int32_t a = my_rank, b = 10 * my_rank;
  ucc_coll_req_h first, second;
  const int odd = my_rank % 2;
  EXPECT(open_team(&world, &areas[2 + my_rank], 0, 1, &oobs[0], &alone), UCC_OK);
  EXPECT(open_team(&world, &areas[5], kRanks - 1 - my_rank, kRanks, &oobs[1], &reversed), UCC_OK);
  expect_sum(alone, my_rank + 1);
  if (my_rank != 1) {
    EXPECT(open_team(&world, &areas[6], my_rank == 2 ? 0 : 1, 2, &oobs[2], &ends), UCC_OK);
    expect_sum(ends, 4);
  }
  /* Ranks begin with one team or the other. */
  first = odd ? start_sum(whole, &a) : start_sum(reversed, &b);
  second = odd ? start_sum(reversed, &b) : start_sum(whole, &a);
  EXPECT(finish(&world, second), UCC_OK);
  EXPECT(finish(&world, first), UCC_OK);
  EXPECT(a, 3);
  EXPECT(b, 30);
  /* And leave some in another order. */
  if (odd) close_team(&world, reversed);
  if (my_rank != 1) close_team(&world, ends);
  close_team(&world, alone);
  if (!odd) close_team(&world, reversed);
}

/* ---- what is left to others, and what fails ---- */

static void run_unserved(ucc_team_h team) {
  __int128 large[2] = {0};
  int32_t both[2 * kRanks] = {0};
  ucc_coll_args_t sum = {.coll_type = UCC_COLL_TYPE_ALLREDUCE,
                         .op = UCC_OP_SUM,
                         .src.info = HOST(&large[0], 1, UCC_DT_INT128),
                         .dst.info = HOST(&large[1], 1, UCC_DT_INT128)};
  ucc_coll_args_t place = {.coll_type = UCC_COLL_TYPE_ALLREDUCE,
                           .op = UCC_OP_MINLOC,
                           .src.info = HOST(both, 2, UCC_DT_INT32),
                           .dst.info = HOST(both + 2, 2, UCC_DT_INT32)};
  ucc_coll_args_t all = {FLAGGED(UCC_COLL_ARGS_FLAG_IN_PLACE), .coll_type = UCC_COLL_TYPE_ALLTOALL,
                         .dst.info = HOST(both, kRanks, UCC_DT_INT32)};
  ucc_coll_args_t some = {.mask = UCC_COLL_ARGS_FIELD_ACTIVE_SET,
                          .coll_type = UCC_COLL_TYPE_BCAST,
                          .src.info = HOST(both, 1, UCC_DT_INT32),
                          .active_set = {.start = 0, .stride = 1, .size = 2}};
  EXPECT(call(&world, team, &sum), UCC_ERR_NOT_SUPPORTED);
  EXPECT(call(&world, team, &place), UCC_ERR_NOT_SUPPORTED);
  EXPECT(call(&world, team, &all), UCC_ERR_NOT_SUPPORTED);
  EXPECT(call(&world, team, &some), UCC_ERR_NOT_SUPPORTED);
}

/** Rank 1 comes to a collective when the others have given it up: that ends the team, for all. */
static void run_late(ucc_team_h team) {
  int32_t in = 1, out = 0;
  ucc_coll_args_t args = {FLAGGED(UCC_COLL_ARGS_FLAG_TIMEOUT),
                          .coll_type = UCC_COLL_TYPE_ALLREDUCE,
                          .op = UCC_OP_SUM,
                          .src.info = HOST(&in, 1, UCC_DT_INT32),
                          .dst.info = HOST(&out, 1, UCC_DT_INT32),
                          .timeout = 0.2};
  place_t* const given_up = &areas[2].places[0];
  if (my_rank != 1) {
    const ucc_status_t status = call(&world, team, &args);
    /* The second may hear of the first. */
    EXPECT(status == UCC_ERR_TIMED_OUT || status == UCC_ERR_NO_MESSAGE, 1);
    __atomic_fetch_add(&given_up->arrived, 1, __ATOMIC_RELEASE);
  } else {
    while (__atomic_load_n(&given_up->arrived, __ATOMIC_ACQUIRE) < kRanks - 1) usleep(1000);
    /* What they had sent may be there. */
    args.mask = 0;
    (void)call(&world, team, &args);
  }
  EXPECT(call(&world, team, &args) < 0, 1);
}

/** Counts that differ are an error that names two ranks, not a wait. */
static void run_differ(ucc_team_h team) {
  int32_t in[20] = {0}, out[20];
  ucc_coll_args_t args = {.coll_type = UCC_COLL_TYPE_ALLREDUCE,
                          .op = UCC_OP_SUM,
                          .src.info = HOST(in, my_rank == 0 ? 10 : 20, UCC_DT_INT32),
                          .dst.info = HOST(out, my_rank == 0 ? 10 : 20, UCC_DT_INT32)};
  EXPECT(call(&world, team, &args) < 0, 1);
}

static void run_death(ucc_team_h team) {
  int32_t in = 1, out = 0;
  ucc_coll_args_t args = {.coll_type = UCC_COLL_TYPE_ALLREDUCE,
                          .op = UCC_OP_SUM,
                          .src.info = HOST(&in, 1, UCC_DT_INT32),
                          .dst.info = HOST(&out, 1, UCC_DT_INT32)};
  if (my_rank == 2) _exit(0);
  EXPECT(call(&world, team, &args) < 0, 1);
  _exit(0); /* UCC's other layers may wait for the dead */
}

static const struct {
  const char* name;
  void (*run)(ucc_team_h);
} kRuns[] = {{"calls", run_calls}, {"teams", run_teams},   {"unserved", run_unserved},
             {"late", run_late},   {"differ", run_differ}, {"death", run_death}};

static void be_rank(void (*run)(ucc_team_h)) {
  ucc_team_h team;
  oob_t oob;
  open_world(&world, &areas[0]);
  EXPECT(open_team(&world, &areas[1], my_rank, kRanks, &oob, &team), UCC_OK);
  run(team);
  close_team(&world, team);
  close_world(&world);
}

int main(int argc, char** argv) {
  size_t i, found = sizeof kRuns / sizeof kRuns[0];
  int rank, faults = 0, status;
  for (i = 0; argc == 2 && i < sizeof kRuns / sizeof kRuns[0]; ++i) {
    if (strcmp(argv[1], kRuns[i].name) == 0) found = i;
  }
  if (found == sizeof kRuns / sizeof kRuns[0]) {
    fprintf(stderr, "usage: program calls|teams|unserved|late|differ|death\n");
    return 2;
  }
  areas = make_areas(7);
  for (rank = 0; rank < kRanks; ++rank) {
    if (fork() != 0) continue;
    my_rank = rank;
    be_rank(kRuns[found].run);
    exit(0);
  }
  while (wait(&status) > 0) faults += status != 0;
  return faults == 0 ? 0 : 1;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * \file
 * Ranks of UCC as processes of one program, whose out-of-band all-gather is memory that they share.
 */
#ifndef MULTITREE_TESTS_UCC_RANKS_H_
#define MULTITREE_TESTS_UCC_RANKS_H_

#include <stdio.h>
#include <stdlib.h>
#include <ucc/api/ucc.h>

enum { kRanks = 3, kPlaces = 64, kBlockBytes = 8192 };

/** One all-gather. */
typedef struct {
  int arrived;
  char blocks[kRanks][kBlockBytes];
} place_t;
/** Of the all-gathers of one group of ranks, one after the other. */
typedef struct {
  place_t places[kPlaces];
} area_t;
/** A rank's end. */
typedef struct {
  area_t* area;
  int rank, ranks, next;
} oob_t;

/** Before any fork: `count` areas. */
area_t* make_areas(int count);
/** `oob` must last as long as what is made with it. */
ucc_oob_coll_t oob_coll(oob_t* oob);

/** Ends the process. */
void fail(const char* file, int line, const char* what, long found, long expected);
#define EXPECT(found, expected)                                                   \
  do {                                                                            \
    const long found_ = (long)(found), expected_ = (long)(expected);              \
    if (found_ != expected_) fail(__FILE__, __LINE__, #found, found_, expected_); \
  } while (0)

typedef struct {
  ucc_lib_h lib;
  ucc_context_h context;
  oob_t oob;
} world_t;
extern int my_rank; /**< in the world */

void open_world(world_t* world, area_t* area);
void close_world(world_t* world);
/** A team of `ranks`, whose out-of-band all-gather is `area`; `oob` is filled in. Waits. */
ucc_status_t open_team(world_t* world, area_t* area, int rank, int ranks, oob_t* oob,
                       ucc_team_h* team);
void close_team(world_t* world, ucc_team_h team);

/** Moves on until it is complete, for a minute at most, and finalizes it. */
ucc_status_t finish(world_t* world, ucc_coll_req_h request);
/** From beginning to end; also a failure of the beginning. */
ucc_status_t call(world_t* world, ucc_team_h team, ucc_coll_args_t* args);

#endif /* MULTITREE_TESTS_UCC_RANKS_H_ */

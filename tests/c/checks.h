/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of a rank in C. */
#ifndef CHECKS_H_
#define CHECKS_H_

#include <multitree.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                                                          \
  do {                                                                                            \
    if (!(condition)) {                                                                           \
      fprintf(stderr, "rank %d, line %d: %s; last error \"%s\"\n", my_rank, __LINE__, #condition, \
              mtGetLastError(NULL));                                                              \
      exit(1);                                                                                    \
    }                                                                                             \
  } while (0)
#define OK(call) CHECK((call) == mtSuccess)

static int my_rank = -1;

#endif /* CHECKS_H_ */

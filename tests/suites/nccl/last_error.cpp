// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// In place of the weak one of nccl-tests, which is not renamed: it would be found before the
/// library's.
#include <multitree.h>

extern "C" const char* ncclGetLastError(mtComm_t comm) { return mtGetLastError(comm); }

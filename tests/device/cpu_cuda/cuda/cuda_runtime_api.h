// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// As cuda_runtime.h.
#pragma once

#include "cuda_runtime.h"

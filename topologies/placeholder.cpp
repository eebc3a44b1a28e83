// SPDX-License-Identifier: BSD-3-Clause
#include "topologies/error.hpp"

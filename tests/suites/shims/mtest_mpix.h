/* SPDX-License-Identifier: BSD-3-Clause */
/* The extensions that MPICH itself would declare here: none. */

// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// CMake compiles headers in advance only beside a source file: this one.
int main() { return 0; }

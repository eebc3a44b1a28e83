# SPDX-License-Identifier: BSD-3-Clause
"""The extension: against the installed torch, and against the C library of a build folder (MULTITREE_BUILD,
default build/release of this source tree) or of pkg-config."""
import os
import pathlib
import subprocess

from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CppExtension

HERE = pathlib.Path(__file__).resolve().parent


def pkg_config(option):
    try:
        text = subprocess.run(["pkg-config", option, "multitree"], check=True, text=True, capture_output=True).stdout
    except (OSError, subprocess.CalledProcessError):
        raise SystemExit("multitree: expected the C library; build it (cmake --build build/release --target "
                         "multitree_c) and set MULTITREE_BUILD, or install it where pkg-config finds it") from None
    return [word[2:] for word in text.split() if word[:2] in ("-I", "-L")]


def folders():
    """(headers, libraries)"""
    root = HERE.parent.parent
    build = pathlib.Path(os.environ.get("MULTITREE_BUILD", root / "build/release"))
    if (build / "lib/libmultitree.so").exists() and (root / "runtime/c/multitree.h").exists():
        return [str(root / "runtime/c")], [str(build / "lib")]
    return pkg_config("--cflags-only-I"), pkg_config("--libs-only-L")


def in_one():
    """The sources as one file: torch's headers take most of a compilation."""
    together = HERE / "build/multitree_torch.cpp"
    together.parent.mkdir(exist_ok=True)
    together.write_text("".join(f'#include "{path}"\n' for path in sorted((HERE / "src").glob("*.cpp"))))
    return str(together.relative_to(HERE))


headers, libraries = folders()
setup(ext_modules=[CppExtension(
    "multitree_torch._c", [in_one()],
    include_dirs=[str(HERE / "src"), *headers], library_dirs=libraries, libraries=["multitree"],
    runtime_library_dirs=libraries, extra_compile_args=["-O1", "-g0", "-std=c++20", "-Wall", "-Wno-unknown-pragmas", "-Wno-attributes"],
    # Where a compiler links its C++ library statically, the C library must not find that one.
    extra_link_args=["-Wl,--exclude-libs,ALL"])],
      cmdclass={"build_ext": BuildExtension})

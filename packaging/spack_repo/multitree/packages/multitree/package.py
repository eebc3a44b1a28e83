# SPDX-License-Identifier: BSD-3-Clause
"""multitree for Spack 1.0 or newer. From a checkout:
spack repo add packaging/spack_repo/multitree && spack dev-build multitree@0.1.0"""
from spack_repo.builtin.build_systems.cmake import CMakePackage

from spack.package import *


class Multitree(CMakePackage):
    """Topology-aware all-reduce: makes schedules of collectives for any network, proves them, and runs them."""

    # The recipe travels with the sources: without dev-build they are cloned from where it lies.
    git = ancestor(__file__, 6)

    license("BSD-3-Clause", checked_by="multitree")

    version("0.1.0", branch="main")

    variant("ucx", default=True, description="Messages over UCX, and not over TCP sockets alone")
    variant("pmix", default=True, description="Join jobs of launchers that speak PMIx")
    variant("hardware", default=False, description="The interface in SystemVerilog, verilated")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("pkgconfig", type="build")

    depends_on("boost@1.74: +graph")
    depends_on("cli11@2.1:")
    depends_on("clp@1.17:")
    depends_on("fmt@9.1:")
    depends_on("hwloc@2:")
    depends_on("nlohmann-json@3.11:")
    depends_on("libsodium@1.0.18:")
    depends_on("openssl@3:")
    depends_on("protobuf@21.4:21")
    depends_on("pugixml@1.13:")
    depends_on("spdlog@1.10:")
    depends_on("xxhash@0.8:")
    depends_on("yaml-cpp@0.7:")
    depends_on("gnuplot", type="run")
    depends_on("ucx@1.13:", when="+ucx")
    depends_on("pmix@4.2:", when="+pmix")
    depends_on("verilator@5.006:", type="build", when="+hardware")
    depends_on("zlib-api", when="+hardware")

    conflicts("%gcc@:11", msg="multitree is C++20: gcc 12 or newer")

    # The page of `multitree view` carries Chart.js 3.9.1, which Debian packs minified.
    resource(
        name="chart.js",
        url="https://deb.debian.org/debian/pool/main/n/node-chart.js/libjs-chart.js_3.9.1+~0.2.1-2_all.deb",
        sha256="16456ab02ad662f480ae3f4d0769a069f69133d0a957821925bbdd648ae5390a",
        placement="chart.js",
        expand=False,
    )

    @property
    def chart(self):
        return join_path(self.stage.source_path, "usr", "share", "javascript", "chart.js", "chart.min.js")

    @run_before("cmake")
    def unpack_chart(self):
        with working_dir(self.stage.source_path):
            Executable("ar")("x", *find("chart.js", "*.deb"), "data.tar.xz")
            Executable("tar")("-xJf", "data.tar.xz", "./usr/share/javascript/chart.js/chart.min.js")

    def cmake_args(self):
        return [
            self.define("MULTITREE_TESTS", False),
            self.define("MULTITREE_BENCH", False),
            self.define_from_variant("MULTITREE_HARDWARE", "hardware"),
            self.define("CMAKE_DISABLE_FIND_PACKAGE_ucx", not self.spec.satisfies("+ucx")),
            self.define("MULTITREE_CHART_JS", self.chart),
        ]

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def check_install(self):
        multitree = Executable(self.prefix.bin.multitree)
        multitree("bounds", "-t", "mesh:3x3")

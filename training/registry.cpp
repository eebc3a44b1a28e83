// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The table of policies.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "topologies/error.hpp"
#include "topologies/units.hpp"
#include "training/policies.hpp"
#include "training/policies_internal.hpp"

namespace multitree::training {
namespace {

constexpr std::array kPolicies{
    Policy{"bsp", "backward pass, then one all-reduce of all gradients",
           "bulk synchronous parallel", "", run_bsp},
    Policy{"wfbp", "each tensor as soon as it is ready, in that order",
           "Poseidon (Zhang et al., ATC 2017)", "", run_wfbp},
    Policy{"ddp", "buckets in the order of the backward pass",
           "PyTorch DistributedDataParallel (Li et al., VLDB 2020)",
           "bucket=25MiB: most bytes of a bucket, or search: as a search finds them; first=1MiB: "
           "of the "
           "first",
           run_ddp},
    Policy{"horovod", "at every tick, what is ready, fused",
           "Horovod (Sergeev, Del Balso, 2018), its fusion buffer and cycle",
           "threshold=64MiB: most bytes that are fused; cycle=1ms: between two ticks", run_horovod},
    Policy{
        "mg-wfbp", "tensors merged where that is predicted to be faster",
        "MG-WFBP (Shi, Chu, Li, INFOCOM 2019)",
        "small=32KiB: less is always merged; costs=1: merging is decided as if collectives cost so "
        "many times what they do",
        run_mg_wfbp},
    Policy{
        "bytescheduler", "partitions of tensors, front layers first, next iteration overlapped",
        "ByteScheduler (Peng et al., SOSP 2019)",
        "partition=4MB: most bytes of one; credit=16MB: most bytes that are started and not over",
        run_bytescheduler},
    Policy{"dear",
           "reduce-scatters beside the backward pass, all-gathers beside the next forward one",
           "DeAR (Zhang et al., ICDCS 2023)",
           "fusion=25MiB: most bytes of a group, none, tuner: the best of DeAR's ten trials, or "
           "search: as a search finds them; barrier=yes: all-gathers after the last "
           "reduce-scatter; no: where they fit in; ahead=all: all-gathers issued, or 1",
           run_dear, true},
    Policy{"fsdp", "parameters in shards: gathered before each pass, gradients scattered",
           "PyTorch FSDP (Zhao et al., VLDB 2023), as ZeRO-3",
           "unit=25MiB: most bytes that are gathered together, or all", run_fsdp, true},
    Policy{"bsp-ps", "bsp through parameter servers", "BytePS (Jiang et al., OSDI 2020)", "",
           run_bsp_ps},
    Policy{"wfbp-ps", "wfbp through parameter servers", "Poseidon (Zhang et al., ATC 2017)", "",
           run_wfbp_ps},
    Policy{"bytescheduler-ps", "bytescheduler through parameter servers",
           "ByteScheduler (Peng et al., SOSP 2019)", "partition=4MB, credit=16MB: as there",
           run_bytescheduler_ps},
    Policy{"pipe-sgd", "gradients of the iteration before, all in one all-reduce",
           "Pipe-SGD (Li et al., NeurIPS 2018)", "", run_pipe_sgd},
    Policy{"local-sgd", "several iterations, then the mean of all parameters",
           "Local SGD (Stich, ICLR 2019)", "every=5: iterations", run_local_sgd},
    Policy{"cocod", "the mean of parameters beside several iterations from them",
           "CoCoD-SGD (Shen et al., IJCAI 2019)", "every=5: iterations", run_cocod},
    Policy{"diloco", "many iterations, then an outer step on the mean of what they changed",
           "DiLoCo (Douillard et al., 2023), Streaming DiLoCo (2025)",
           "every=500: iterations; fragments=1: parts of the model, of which others are averaged "
           "beside the iterations; rate=0.7, momentum=0.9: of the outer step",
           run_diloco},
    Policy{
        "priority", "front layers first, preempted at chunks, all on one packing of trees", "ours",
        "order=preemptive, serial, overlapping: as serial, but the next begins while one drains; "
        "or either, the default where there are switches: serial unless its starts cost over 5 %; "
        "chunk=1MiB (serial, overlapping: search): sent at least before another layer is; "
        "part=32MiB: most bytes of a preemptive transfer",
        run_priority},
};

}  // namespace

std::span<const Policy> policies() { return kPolicies; }

std::uint64_t bytes_option(const Spec& options, std::string_view key, std::string_view fallback) {
  const std::string text = options.get(key, fallback);
  try {
    if (const std::uint64_t bytes = parse_bytes(text); bytes != 0) return bytes;
  } catch (const Error&) {  // told below, with the option
  }
  options.fail(fmt::format("{}: expected a size of at least a byte, got '{}'", key, text));
}

bool has_halves(std::string_view policy) {
  const std::string_view name = policy.substr(0, policy.find_first_of(":?"));
  const auto found = std::ranges::find(kPolicies, name, &Policy::name);
  return found != kPolicies.end() && found->halves;
}

Iteration simulate(std::string_view policy, const Model& model, const Costs& costs) {
  const Spec spec = Spec::parse(policy);
  const auto found = std::ranges::find(kPolicies, std::string_view(spec.name()), &Policy::name);
  if (found == kPolicies.end()) {
    std::string names;
    for (const Policy& row : kPolicies) names += fmt::format(" {}", row.name);
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("unknown policy '{}'; one of:{}", spec.name(), names));
  }
  Iteration iteration = found->run(model, costs, spec);
  spec.check_all_used();
  return iteration;
}

}  // namespace multitree::training

// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The least time of a training iteration on a network, and its proof.
///
/// Model: synchronous data parallelism. Every rank computes all layers one at a time, and all ranks
/// begin a backward pass at the same time; the gradients of a layer are there after its backward
/// pass, and its next forward pass needs the sum over all ranks. No coding, no compression, no
/// reduction inside the network (certificate.hpp). Then
///
///  - an iteration lasts at least as long as computing: F + B;
///  - for every k, the gradients of the first k layers (M_k bytes) have to pass the network between
///    the end of layer k's backward pass, as none of them is there before, and the start of layer
///    k's next forward pass, as the layers before it need theirs earlier still. That is F + sum of
///    backward_j, j >= k, after the start of an iteration, and sum of forward_j, j < k, after its
///    end. As it takes T(M_k) at least, an iteration takes at least
///        T(M_k) + sum over j >= k of (forward_j + backward_j).
///
/// T(M) is the least time of an all-reduce of M bytes, latency included (time_certificate.hpp). Of
/// costs that are only stated T(M) is beta M; in the limit of small chunks and no latency the
/// policy `priority` takes the largest of these times.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/certificate/certificate.hpp"
#include "algorithms/certificate/time_certificate.hpp"
#include "topologies/topology.hpp"
#include "training/model.hpp"

namespace multitree::training {

struct IterationBound {
  double seconds = 0;
  /// The front layers whose gradients take so long; 0: computing alone does.
  std::uint32_t layers = 0;
};

/// \param seconds_per_byte the least that an all-reduce takes. O(layers).
IterationBound iteration_bound(const Model& model, double seconds_per_byte);

/// A proof of it: evaluated without trusting its maker.
struct IterationCertificate {
  IterationBound bound;
  /// Of the gradients of these layers; if computing alone proves the bound, of all.
  TimeCertificate all_reduce;
};

/// The least time of an all-reduce that a certificate claims, in seconds a byte.
double seconds_per_byte(const Certificate& all_reduce, const Topology& topology);

/// Of all front layers that could prove the most, what does. \throws Error(Unsupported) as
/// certify().
IterationCertificate certify_iteration(const Model& model, const Topology& topology);

/// All that is wrong with a certificate, in words; empty: proved.
std::vector<std::string> check(const IterationCertificate& certificate, const Model& model,
                               const Topology& topology);

/// JSON: the bound, the model that it is for, and the certificate of the all-reduce with its
/// network.
std::string write_json(const IterationCertificate& certificate, const Model& model,
                       const Topology& topology);
struct IterationCertificateFile {
  IterationCertificate certificate;
  Model model;
  Topology topology;
};
/// \throws Error(InvalidInput) "file: ...".
IterationCertificateFile parse_iteration_certificate(std::string_view text,
                                                     const std::string& file);

}  // namespace multitree::training

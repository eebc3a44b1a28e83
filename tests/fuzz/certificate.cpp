// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Certificates of bandwidth: those that can be read can be checked.
#include "algorithms/certificate/evaluate.hpp"
#include "algorithms/io/io.hpp"
#include "fuzz.hpp"

using namespace multitree;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return fuzz::read(data, size, [](std::string_view text) {
    const CertificateFile file = parse_certificate_json(text, fuzz::kFile);
    static_cast<void>(check_certificate(file.certificate, file.topology));
    const std::string once = write_certificate_json(file.certificate, file.topology);
    const CertificateFile again = parse_certificate_json(once, fuzz::kFile);
    fuzz::expect(again.certificate == file.certificate, "read as another certificate");
  });
}

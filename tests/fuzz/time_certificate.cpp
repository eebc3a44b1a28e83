// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Certificates of time at a size.
#include "algorithms/certificate/time_certificate.hpp"
#include "algorithms/io/time_certificate_file.hpp"
#include "fuzz.hpp"

using namespace multitree;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return fuzz::read(data, size, [](std::string_view text) {
    const TimeCertificateFile file = parse_time_certificate_json(text, fuzz::kFile);
    static_cast<void>(check_time_certificate(file.certificate, file.topology));
    const std::string once = write_time_certificate_json(file.certificate, file.topology);
    const TimeCertificateFile again = parse_time_certificate_json(once, fuzz::kFile);
    fuzz::expect(again.certificate == file.certificate, "read as another certificate");
  });
}

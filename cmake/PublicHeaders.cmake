# SPDX-License-Identifier: BSD-3-Clause
# The library's public face: these headers are installed, as <multitree/NAME.hpp>, and no others. Each is
# made of the project's headers named after it, in their order; they include each other and the standard
# library alone. When installing, Install.cmake runs this to write them from FACE_SOURCE to FACE_OUTPUT.
set(multitree_public_headers
  # What the network is.
  error.hpp        topologies/error.hpp
  topology.hpp     topologies/units.hpp topologies/topology.hpp
  networks.hpp     topologies/registry.hpp topologies/notes.hpp topologies/degrade.hpp topologies/remaining_network.hpp
  # Who sends what when.
  schedule.hpp     algorithms/collective.hpp algorithms/schedule.hpp
  generators.hpp   algorithms/registry.hpp
  verify.hpp       algorithms/verify.hpp
  certificate.hpp  algorithms/io/proof.hpp
  cost.hpp         algorithms/cost.hpp
  plan.hpp         algorithms/tuning/plan.hpp
  tune.hpp         algorithms/tuning/link_table.hpp algorithms/tuning/choose.hpp algorithms/tuning/tune.hpp
  files.hpp        algorithms/io/files.hpp
  interchange.hpp  algorithms/interchange/interchange.hpp
  # Who executes it.
  bootstrap.hpp    runtime/job/links.hpp runtime/job/whereabouts.hpp runtime/job/bootstrap.hpp
                   runtime/job/unique_id.hpp runtime/job/growth.hpp
  launcher.hpp     runtime/job/launcher.hpp
  recorder.hpp     runtime/execution/recorder.hpp
  communicator.hpp runtime/kernels/data_type.hpp runtime/device/stream_order.hpp
                   runtime/exchange/exchange.hpp runtime/refining.hpp runtime/plans.hpp runtime/communicator.hpp
  auto.hpp         runtime/measure/link_measurement.hpp runtime/tuning.hpp
  # What network interfaces make of it.
  simulate.hpp     nic/link_errors.hpp nic/parameters.hpp nic/hardware.hpp nic/simulate.hpp nic/jobs.hpp
  tables.hpp       nic/table/table.hpp nic/encode/layout.hpp nic/encode/image.hpp)

# Where everything is: multitree_public_of_<path> is the public header that has it.
foreach(item IN LISTS multitree_public_headers)
  if(item MATCHES "/")
    set(multitree_public_of_${item} ${public})
    list(APPEND parts_of_${public} ${item})
  else()
    set(public ${item})
    list(APPEND publics ${public})
  endif()
endforeach()

foreach(public IN LISTS publics)
  set(whole "")
  foreach(part IN LISTS parts_of_${public})
    file(READ ${FACE_SOURCE}/${part} text)
    string(REGEX MATCHALL "#include \"[^\"]+\"[^\n]*\n" includes "${text}")
    foreach(include IN LISTS includes)
      string(REGEX REPLACE "^#include \"([^\"]+)\".*" "\\1" included "${include}")
      set(from "${multitree_public_of_${included}}")
      if(from STREQUAL "")
        message(FATAL_ERROR "${part}: a public header includes ${included}, which cmake/PublicHeaders.cmake does not have")
      elseif(from STREQUAL public)
        string(REPLACE "${include}" "" text "${text}")
      else()
        string(REPLACE "${include}" "#include <multitree/${from}>\n" text "${text}")
      endif()
    endforeach()
    string(APPEND whole "${text}")
  endforeach()
  file(WRITE ${FACE_OUTPUT}/${public} "${whole}")
endforeach()

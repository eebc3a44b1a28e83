// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Blocking calls of ranks that share the memory of a host: most are over before anybody else could
/// ask for them, and need neither a job nor a second turn. Looks, which are over at once anywhere.
#include "runtime/c/comm_turn_internal.hpp"

namespace multitree::runtime::c {

void Comm::call(const std::shared_ptr<Comm>& self, const CallSpec& spec) {
  std::shared_ptr<Job> job;
  {
    const Turn turn(*this);
    check_usable();
    check_root(spec);
    run([&] {
      reap_streams();
      Request request = spec.exchange ? communicator_->start_run(*spec.exchange)
                                      : communicator_->start_run(spec.call);
      if (request.test()) return;
      job = std::make_shared<Job>(self, spec, false);
      job->where = communicator_.get();
      job->attended = job->alone = true;
      job->begin();
      job->request = std::make_shared<Request>(std::move(request));
      outstanding_.push_back(job);
    });
  }
  if (job != nullptr) wait(*job);
}

std::optional<Rank> Comm::probe(const ExchangeCall& call) {
  const Turn turn(*this);
  check_usable();
  std::optional<Rank> sender;
  run([&] { sender = communicator_->probe(call); });
  return sender;
}

}  // namespace multitree::runtime::c

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

bool Job::is_over() const {
  try {
    return request != nullptr && request->test();
  } catch (const std::exception&) {  // it is not, and its communicator says why
    return false;
  }
}

/// What is over is so, whoever was lost since and however late this rank looks.
void Comm::take_out_those_over() {
  std::erase_if(outstanding_, [](const std::shared_ptr<Job>& job) {
    if (!job->is_over()) return false;
    job->request.reset();
    job->end(Job::State::Done);
    return true;
  });
}

std::optional<Rank> Comm::probe(const ExchangeCall& call) {
  const Turn turn(*this);
  check_usable();
  std::optional<Rank> sender;
  run([&] { sender = communicator_->probe(call); });
  return sender;
}

}  // namespace multitree::runtime::c

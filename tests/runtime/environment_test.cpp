// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Which launcher started us, from made-up environments.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "runtime/job/environment_internal.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime {
namespace {

using ::testing::StrEq;
using ::testing::ThrowsMessage;
using Variables = std::map<std::string, std::string>;

Job detect(const Variables& variables) {
  return detect_job([&](const char* name) -> std::optional<std::string> {
    const auto it = variables.find(name);
    return it == variables.end() ? std::nullopt : std::optional(it->second);
  });
}

const Variables kOwn{{"MULTITREE_RANK", "2"},
                     {"MULTITREE_SIZE", "4"},
                     {"MULTITREE_RENDEZVOUS", "host:4711"},
                     {"MULTITREE_TOKEN", "t"}};
const Variables kOpenMpi{
    {"PMIX_RANK", "1"}, {"PMIX_NAMESPACE", "n"}, {"OMPI_COMM_WORLD_RANK", "1"}};
const Variables kMpich{{"PMI_RANK", "3"}, {"PMI_SIZE", "8"}, {"PMI_FD", "6"}};
const Variables kTorchrun{{"RANK", "1"},
                          {"WORLD_SIZE", "2"},
                          {"MASTER_ADDR", "head"},
                          {"MASTER_PORT", "29500"},
                          {"TORCHELASTIC_RUN_ID", "none"}};
const Variables kSlurm{{"SLURM_PROCID", "5"},
                       {"SLURM_NTASKS", "6"},
                       {"SLURM_JOB_ID", "1000"},
                       {"SLURM_STEP_ID", "3"},
                       {"SLURM_STEP_NODELIST", "n[08-11,13],m2"}};

TEST(DetectJob, NothingIsOneRank) {
  const Job job = detect({});
  EXPECT_EQ(job.kind, JobKind::Single);
  EXPECT_EQ(job.size, 1U);
}

TEST(DetectJob, Own) {
  Job job = detect(kOwn);
  EXPECT_EQ(job.kind, JobKind::Address);
  EXPECT_EQ(job.seat, Seat{2});
  EXPECT_EQ(job.size, 4U);
  EXPECT_EQ(job.coordinator, (Address{"host", 4711}));
  EXPECT_EQ(job.token, "t");
  EXPECT_FALSE(job.launcher_hosts);
  Variables launched = kOwn;
  launched["MULTITREE_COORDINATOR"] = "launcher";
  job = detect(launched);
  EXPECT_TRUE(job.launcher_hosts);
  EXPECT_EQ(job.description, "local launcher");
}

TEST(DetectJob, ProcessManagers) {
  EXPECT_EQ(detect(kOpenMpi).kind, JobKind::Pmix);
  EXPECT_EQ(detect(kOpenMpi).description, "Open MPI (PMIx)");
  const Job job = detect(kMpich);
  EXPECT_EQ(job.kind, JobKind::Pmi1);
  EXPECT_EQ(job.seat, Seat{3});
  EXPECT_EQ(job.size, 8U);
  EXPECT_EQ(job.pmi_fd, 6);
  EXPECT_EQ(job.description, "MPICH (PMI-1)");
}

TEST(DetectJob, TorchrunUsesThePortAfterItsStore) {
  const Job job = detect(kTorchrun);
  EXPECT_EQ(job.kind, JobKind::Address);
  EXPECT_EQ(job.coordinator, (Address{"head", 29501}));
  EXPECT_EQ(job.description, "torchrun");
}

TEST(DetectJob, NothingBeyondThisHostWithoutASecret) {
  Variables own = kOwn;
  own.erase("MULTITREE_TOKEN");
  const auto refused = [](const Variables& variables, const std::string& where) {
    EXPECT_THAT([&] { detect(variables); },
                ThrowsMessage<Error>(StrEq(
                    where + " can be reached from other hosts, where anybody could take a rank's "
                            "seat: set MULTITREE_TOKEN to a secret, the same for all ranks, or "
                            "MULTITREE_KEY_FILE to a file that has it")));
  };
  for (const char* host : {"host", "10.1.2.3", "128.0.0.1", "0.0.0.0", "localhost.example"}) {
    own["MULTITREE_RENDEZVOUS"] = std::string(host) + ":4711";
    refused(own, "multitree launcher: MULTITREE_RENDEZVOUS=" + std::string(host));
  }
  own["MULTITREE_TOKEN"] = "";
  refused(own, "multitree launcher: MULTITREE_RENDEZVOUS=localhost.example");
  for (const char* host : {"127.0.0.1", "127.7.7.7", "localhost"}) {
    own["MULTITREE_RENDEZVOUS"] = std::string(host) + ":4711";
    EXPECT_EQ(detect(own).token, "");
    EXPECT_TRUE(detect(own).open);
  }
  Variables torch = kTorchrun;
  torch.erase("TORCHELASTIC_RUN_ID");  // set by hand, or by other programs in torchrun's manner
  refused(torch, "torchrun: MASTER_ADDR=head");
  torch["MULTITREE_TOKEN"] = "secret";
  EXPECT_EQ(detect(torch).token, "secret");
}

TEST(DetectJob, ASecretJoinsTheNameOfTheJob) {
  Variables torch = kTorchrun, slurm = kSlurm;
  EXPECT_EQ(detect(torch).token, "torchrun none");
  EXPECT_TRUE(detect(torch).open);
  EXPECT_TRUE(detect(slurm).open);
  torch["MULTITREE_TOKEN"] = slurm["MULTITREE_TOKEN"] = "secret";
  EXPECT_EQ(detect(torch).token, "torchrun none secret");
  EXPECT_EQ(detect(slurm).token, "slurm 1000.3 secret");
  EXPECT_FALSE(detect(torch).open);
  EXPECT_FALSE(detect(slurm).open);
}

/// A file of so many bytes, with a mode.
class KeyFile : public ::testing::Test {
 protected:
  std::string write(const std::string& text, std::filesystem::perms mode) const {
    std::ofstream(path_, std::ios::trunc) << text;
    std::filesystem::permissions(path_, mode);
    return path_;
  }
  ~KeyFile() override { std::filesystem::remove(path_); }

  const std::string path_ =
      std::filesystem::temp_directory_path() / fmt::format("multitree-key-{}", ::getpid());
  static constexpr auto kOwners =
      std::filesystem::perms::owner_read | std::filesystem::perms::owner_write;
};

TEST_F(KeyFile, IsTheSecretBeforeTheVariable) {
  Variables slurm = kSlurm;
  slurm["MULTITREE_TOKEN"] = "secret";
  slurm["MULTITREE_KEY_FILE"] = write("0123456789abcdef0123\n", kOwners);
  EXPECT_EQ(detect(slurm).token, "slurm 1000.3 0123456789abcdef0123");
  EXPECT_FALSE(detect(slurm).open);
  // What a launcher has told its ranks is theirs.
  Variables launched = kOwn;
  launched["MULTITREE_KEY_FILE"] = path_;
  launched["MULTITREE_COORDINATOR"] = "launcher";
  EXPECT_EQ(detect(launched).token, "t");
}

TEST_F(KeyFile, IsForItsOwnerAndLongEnough) {
  const auto why = [&](const std::string& text, std::filesystem::perms mode) -> std::string {
    try {
      read_key_file(write(text, mode), "K");
    } catch (const Error& error) {
      return std::string(error.what()).substr(path_.size() + 4);
    }
    return "";
  };
  const std::string secret(32, 's');
  EXPECT_EQ(why(secret, kOwners), "");
  EXPECT_EQ(why(secret, std::filesystem::perms::owner_read), "");
  EXPECT_EQ(why(secret, kOwners | std::filesystem::perms::group_read),
            "expected mode 0600, as others could read the secret, found 0640");
  EXPECT_EQ(why(secret, kOwners | std::filesystem::perms::others_write),
            "expected mode 0600, as others could read the secret, found 0602");
  EXPECT_EQ(why("", kOwners), "expected a secret of 16 to 4096 bytes, found 0");
  EXPECT_EQ(why("fifteen bytes..\n", kOwners), "expected a secret of 16 to 4096 bytes, found 15");
  EXPECT_EQ(why(std::string(5000, 's'), kOwners),
            "expected a secret of 16 to 4096 bytes, found 4097");
  EXPECT_THROW(read_key_file("/nowhere/key", "K"), Error);
  EXPECT_THROW(read_key_file("/dev/zero", "K"), Error);
  EXPECT_THROW(read_key_file("/", "K"), Error);
}

TEST(DetectJob, SlurmStepButNotBatchScript) {
  const Job job = detect(kSlurm);
  EXPECT_EQ(job.kind, JobKind::Address);
  EXPECT_EQ(job.seat, Seat{5});
  EXPECT_EQ(job.size, 6U);
  EXPECT_EQ(job.coordinator, (Address{"n08", 10'000 + 7003}));
  EXPECT_EQ(job.token, "slurm 1000.3");
  Variables batch = kSlurm;
  batch.erase("SLURM_STEP_NODELIST");
  EXPECT_EQ(detect(batch).kind, JobKind::Single);
}

TEST(DetectJob, OrderOfPreference) {
  Variables all = kSlurm;
  EXPECT_EQ(detect(all).description, "Slurm");
  all.insert(kTorchrun.begin(), kTorchrun.end());
  EXPECT_EQ(detect(all).description, "torchrun");
  all.insert(kMpich.begin(), kMpich.end());
  EXPECT_EQ(detect(all).description, "Slurm (PMI-1)");
  all.insert(kOpenMpi.begin(), kOpenMpi.end());
  EXPECT_EQ(detect(all).description, "Open MPI (PMIx)");
  all.insert(kOwn.begin(), kOwn.end());
  EXPECT_EQ(detect(all).description, "MULTITREE_RANK");
}

struct Broken {
  Variables variables;
  std::string message;
};
class HalfSet : public ::testing::TestWithParam<Broken> {};

TEST_P(HalfSet, IsOneClearLine) {
  EXPECT_THAT([] { detect(GetParam().variables); },
              ThrowsMessage<Error>(StrEq(GetParam().message)));
}

INSTANTIATE_TEST_SUITE_P(
    Environments, HalfSet,
    ::testing::Values(
        Broken{{{"MULTITREE_RANK", "0"}},
               "multitree launcher: MULTITREE_SIZE is not set, though other variables of it are"},
        Broken{{{"MULTITREE_RANK", "0"}, {"MULTITREE_SIZE", "2"}},
               "multitree launcher: MULTITREE_RENDEZVOUS is not set, though other variables of it "
               "are"},
        Broken{{{"MULTITREE_RANK", "4"}, {"MULTITREE_SIZE", "4"}, {"MULTITREE_RENDEZVOUS", "h:1"}},
               "multitree launcher: MULTITREE_RANK=4 must be less than MULTITREE_SIZE=4"},
        Broken{{{"MULTITREE_RANK", "-1"}, {"MULTITREE_SIZE", "4"}, {"MULTITREE_RENDEZVOUS", "h:1"}},
               "multitree launcher: MULTITREE_RANK must be a number from 0 to 4294967295, found "
               "\"-1\""},
        Broken{{{"MULTITREE_RANK", "0"}, {"MULTITREE_SIZE", "4"}, {"MULTITREE_RENDEZVOUS", "h"}},
               "MULTITREE_RENDEZVOUS: expected host:port, found \"h\""},
        Broken{{{"PMIX_RANK", "0"}},
               "PMIx: PMIX_NAMESPACE is not set, though other variables of it are"},
        Broken{{{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}},
               "PMI-1: PMI_FD is not set, though other variables of it are"},
        Broken{{{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_PORT", "1"}},
               "torchrun: MASTER_ADDR is not set, though other variables of it are"},
        Broken{{{"WORLD_SIZE", "2"}},
               "torchrun: RANK is not set, though other variables of it are"},
        Broken{{{"SLURM_PROCID", "0"}, {"SLURM_STEP_NODELIST", "n1"}, {"SLURM_JOB_ID", "1"}},
               "Slurm: SLURM_NTASKS is not set, though other variables of it are"}));

TEST(FirstHost, OfSlurmNodeLists) {
  EXPECT_EQ(first_host("a"), "a");
  EXPECT_EQ(first_host("a,b"), "a");
  EXPECT_EQ(first_host("node[07-09,12],login"), "node07");
  EXPECT_EQ(first_host("node[3,7-9]"), "node3");
  EXPECT_EQ(first_host("r[1-2]n[05-09].local,x"), "r1n05.local");
}

}  // namespace
}  // namespace multitree::runtime

// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Tables of layers that the program has in it (training/models).
#include <array>

#include "training/model.hpp"

namespace multitree::embedded {
extern const std::string_view alexnet, alphagozero, bert_base, bert_large, densenet201,
    fasterrcnn_r50c4, googlenet, inception_v4, inception_v4_224, lenet5, logreg_784, mlp_784,
    ncf_mlperf, resnet18, resnet18_cifar, resnet50, transformer_base, vgg16, vgg16_cifar, vgg19;
}  // namespace multitree::embedded

namespace multitree::training {
namespace {

struct BuiltIn {
  std::string_view name;
  const std::string_view& table;
};
const std::array kBuiltIn{BuiltIn{"alexnet", embedded::alexnet},
                          BuiltIn{"alphagozero", embedded::alphagozero},
                          BuiltIn{"bert_base", embedded::bert_base},
                          BuiltIn{"bert_large", embedded::bert_large},
                          BuiltIn{"densenet201", embedded::densenet201},
                          BuiltIn{"fasterrcnn_r50c4", embedded::fasterrcnn_r50c4},
                          BuiltIn{"googlenet", embedded::googlenet},
                          BuiltIn{"inception_v4", embedded::inception_v4},
                          BuiltIn{"inception_v4_224", embedded::inception_v4_224},
                          BuiltIn{"lenet5", embedded::lenet5},
                          BuiltIn{"logreg_784", embedded::logreg_784},
                          BuiltIn{"mlp_784", embedded::mlp_784},
                          BuiltIn{"ncf_mlperf", embedded::ncf_mlperf},
                          BuiltIn{"resnet18", embedded::resnet18},
                          BuiltIn{"resnet18_cifar", embedded::resnet18_cifar},
                          BuiltIn{"resnet50", embedded::resnet50},
                          BuiltIn{"transformer_base", embedded::transformer_base},
                          BuiltIn{"vgg16", embedded::vgg16},
                          BuiltIn{"vgg16_cifar", embedded::vgg16_cifar},
                          BuiltIn{"vgg19", embedded::vgg19}};

}  // namespace

Machine reference_machine() { return {.flops = 45e12, .launch = 12e-6}; }

std::vector<std::string_view> built_in_models() {
  std::vector<std::string_view> names;
  for (const BuiltIn& model : kBuiltIn) names.push_back(model.name);
  return names;
}

std::string_view built_in_table(std::string_view name) {
  for (const BuiltIn& model : kBuiltIn) {
    if (model.name == name) return model.table;
  }
  return {};
}

}  // namespace multitree::training

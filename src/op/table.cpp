#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/suggestion.h"
#include "op/families.h"

namespace aoe {
namespace {

using Key = std::pair<std::string_view, std::string_view>;

const std::map<Key, const OpDef*>& by_name() {
  static const std::map<Key, const OpDef*> index = [] {
    std::map<Key, const OpDef*> result;
    for (const OpTable* family : {
             &activation_operators(), &attention_operators(),     &classic_ml_operators(),
             &compare_operators(),    &contraction_operators(),   &control_flow_operators(),
             &conversion_operators(), &convolution_operators(),   &elementwise_operators(),
             &gather_operators(),     &generate_operators(),      &loss_operators(),
             &movement_operators(),   &normalization_operators(), &optimizer_operators(),
             &padding_operators(),    &pooling_operators(),       &quantization_operators(),
             &random_operators(),     &recurrent_operators(),     &reduction_operators(),
             &resize_operators(),     &roi_operators(),           &sampling_operators(),
             &scan_operators(),       &scatter_operators(),       &selection_operators(),
             &sequence_operators(),   &shape_operators(),         &signal_operators(),
             &softmax_operators(),    &string_operators(),        &transformer_operators(),
             &transposed_operators(), &vectorizer_operators(),    &vision_operators(),
         }) {
      for (const OpDef& def : *family) result.emplace(Key{def.domain, def.name}, &def);
    }
    return result;
  }();
  return index;
}

}  // namespace

const OpDef* find_operator(std::string_view domain, std::string_view name, int opset) {
  const auto found = by_name().find({domain, name});
  return found != by_name().end() && found->second->since <= opset ? found->second : nullptr;
}

void require_operators(std::span<const std::string> names, std::string_view option) {
  std::vector<std::string> known;
  for (const auto& [key, def] : by_name()) known.emplace_back(def->name);
  for (const std::string& name : names) {
    require(std::find(known.begin(), known.end(), name) != known.end(),
            "{}: '{}' is no type of operator{}", option, name, did_you_mean(name, known));
  }
}

std::vector<const OpDef*> all_operators() {
  std::vector<const OpDef*> result;
  for (const auto& [key, def] : by_name()) result.push_back(def);
  return result;
}

}  // namespace aoe

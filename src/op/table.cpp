#include <algorithm>
#include <map>

#include "op/families.h"

namespace aoe {
namespace {

using Key = std::pair<std::string_view, std::string_view>;

const std::map<Key, const OpDef*>& by_name() {
  static const std::map<Key, const OpDef*> index = [] {
    std::map<Key, const OpDef*> result;
    for (const OpTable* family : {
             &classic_ml_operators(),
             &control_flow_operators(),
             &gather_operators(),
             &movement_operators(),
             &padding_operators(),
             &reduction_operators(),
             &scatter_operators(),
             &selection_operators(),
             &sequence_operators(),
             &shape_operators(),
             &signal_operators(),
             &string_operators(),
             &vectorizer_operators(),
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

std::vector<const OpDef*> all_operators() {
  std::vector<const OpDef*> result;
  for (const auto& [key, def] : by_name()) result.push_back(def);
  return result;
}

}  // namespace aoe

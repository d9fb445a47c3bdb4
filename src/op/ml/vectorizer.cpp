#include <algorithm>
#include <map>
#include <span>

#include "op/context.h"
#include "op/families.h"
#include "op/host_kernel.h"

namespace aoe {
namespace {

// The n-grams that TfIdfVectorizer counts. Words are mapped to numbers, so that strings and
// integers are counted by the same code; a word that is in no n-gram has no number.
struct Grams {
  struct Gram {
    int64_t column = 0;  // column of the output
    float weight = 1;
  };

  std::map<std::string, int64_t> words;
  std::map<int64_t, int64_t> numbers;
  std::map<std::vector<int64_t>, Gram> known;
  bool once = false;  // an n-gram counts once, however often it occurs (IDF)
  int64_t shortest = 1;
  int64_t longest = 1;
  int64_t max_skip = 0;
  int64_t width = 0;  // columns of the output
};

// Numbers the distinct entries of the pool in order of appearance; `known` maps an entry to its
// number.
template <typename T>
std::vector<int64_t> numbered(const std::vector<T>& pool, std::map<T, int64_t>& known) {
  std::vector<int64_t> result;
  for (const T& entry : pool) {
    const auto next = static_cast<int64_t>(known.size());
    result.push_back(known.emplace(entry, next).first->second);
  }
  return result;
}

Grams read_grams(const OpContext& op) {
  Grams grams;
  grams.shortest = op.integer("min_gram_length");
  grams.longest = op.integer("max_gram_length");
  grams.max_skip = op.integer("max_skip_count");
  require(grams.shortest >= 1 && grams.longest >= grams.shortest && grams.max_skip >= 0,
          "n-grams of {} to {} words with up to {} skipped: 1 <= minimum <= maximum and 0 <= "
          "skipped are expected",
          grams.shortest, grams.longest, grams.max_skip);
  const std::vector<std::string> texts = op.texts("pool_strings");
  const std::vector<int64_t> numbers = op.integers("pool_int64s", {});
  require(texts.empty() != numbers.empty(),
          "one of pool_strings and pool_int64s must be given, and not both");
  const std::vector<int64_t> pool =
      texts.empty() ? numbered(numbers, grams.numbers) : numbered(texts, grams.words);
  const std::string mode = op.text("mode");
  require(mode == "TF" || mode == "IDF" || mode == "TFIDF",
          "mode '{}' is not one of TF, IDF and TFIDF", mode);
  grams.once = mode == "IDF";
  const std::vector<int64_t> columns = op.integers("ngram_indexes");
  std::vector<double> weights = op.reals("weights");
  if (weights.empty() || mode == "TF") weights.assign(columns.size(), 1);
  require(weights.size() == columns.size(), "{} weights for {} n-grams", weights.size(),
          columns.size());
  for (const int64_t column : columns) {
    require(column >= 0, "ngram_indexes has {}", column);
    grams.width = std::max(grams.width, checked_add(column, 1));
  }
  // Start of the 1-grams, 2-grams, ... in the pool.
  std::vector<int64_t> starts = op.integers("ngram_counts");
  grams.longest = std::min(grams.longest, std::ssize(starts));
  starts.push_back(std::ssize(pool));
  size_t gram = 0;  // position in ngram_indexes
  for (int64_t length = 1; length < std::ssize(starts); ++length) {
    const int64_t start = starts[static_cast<size_t>(length) - 1];
    const int64_t end = starts[static_cast<size_t>(length)];
    require(start >= 0 && start <= end && end <= std::ssize(pool),
            "ngram_counts {} do not fit a pool of {}", to_string(starts), pool.size());
    for (int64_t at = start; at + length <= end; at += length, ++gram) {
      require(gram < columns.size(), "ngram_indexes has {} entries, fewer than there are n-grams",
              columns.size());
      if (length < grams.shortest || length > grams.longest) continue;
      grams.known[{pool.begin() + at, pool.begin() + at + length}] = {
          columns[gram], static_cast<float>(weights[gram])};
    }
  }
  return grams;
}

// Maps the words of a text to their numbers, unknown ones to -1.
std::vector<int64_t> words_of(const Tensor& x, const Grams& grams) {
  const auto number = [](const auto& known, const auto& word) {
    const auto found = known.find(word);
    return found == known.end() ? -1 : found->second;
  };
  std::vector<int64_t> result;
  if (x.dtype() == DType::string) {
    for (int64_t i = 0; i < x.count(); ++i) {
      result.push_back(number(grams.words, x.data<std::string>()[i]));
    }
  } else {
    for (const int64_t value : x.to_ints()) result.push_back(number(grams.numbers, value));
  }
  return result;
}

void count_grams(std::span<const int64_t> words, const Grams& grams, float* row) {
  const int64_t count = std::ssize(words);
  for (int64_t distance = 1; distance - 1 <= grams.max_skip && distance <= count; ++distance) {
    for (int64_t start = 0; start < count; ++start) {
      std::vector<int64_t> gram;
      for (int64_t at = start; at < count && std::ssize(gram) < grams.longest; at += distance) {
        gram.push_back(words[static_cast<size_t>(at)]);
        if (gram.back() < 0) break;
        // 1-grams are the same for every skip distance; count them once.
        if (gram.size() == 1 && distance > 1) continue;
        const auto found = grams.known.find(gram);
        if (found == grams.known.end()) continue;
        const auto& [column, weight] = found->second;
        row[column] = grams.once ? weight : row[column] + weight;
      }
    }
  }
}

void tf_idf_vectorizer(OpContext& op) {
  const Grams grams = read_grams(op);
  Shape shape = op.shape(0);
  require(shape.size() <= 2, "{} where shape [C] or [N, C] is expected", to_string(shape));
  const int64_t length = shape.empty() ? 1 : shape.back();
  if (shape.empty()) shape.push_back(1);
  shape.back() = grams.width;
  op.host({TensorType{DType::f32, shape}}, [=](const HostCall& call) -> std::vector<Value> {
    const Tensor& x = call.inputs[0].tensor();
    const std::vector<int64_t> words = words_of(x, grams);
    Tensor result = Tensor::zeros({DType::f32, shape});
    if (words.empty()) return {result};
    float* row = result.data<float>();
    for (int64_t start = 0; start < std::ssize(words); start += length, row += grams.width) {
      count_grams(std::span(words).subspan(static_cast<size_t>(start), static_cast<size_t>(length)),
                  grams, row);
    }
    return {result};
  });
}

}  // namespace

const OpTable& vectorizer_operators() {
  static const OpTable table{{"TfIdfVectorizer", 9, tf_idf_vectorizer}};
  return table;
}

}  // namespace aoe

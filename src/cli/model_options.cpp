#include "cli/model_options.h"

#include <fmt/ranges.h>

#include <charconv>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "cli/words.h"

namespace aoe {

namespace fs = std::filesystem;

namespace {

void check_name(const std::string& output) {
  require(!output.empty(), "--output is empty: the name of a file is expected");
  const std::string last = fs::path(output).filename().string();
  require(!last.empty() && last != "." && last != "..",
          "--output '{}' names a folder: the name of a file is expected", output);
}

}  // namespace

std::vector<CLI::Option*> add_impl_options(CLI::App& command, ImplMode& impl) {
  return {command
              .add_option("--op_select_implmode", impl.mode,
                          "high_performance (default), or high_precision: direct algorithms only")
              ->check(CLI::IsMember({"high_performance", "high_precision"})),
          command
              .add_option("--optypelist_for_implmode", impl.op_types,
                          "Operators that this mode is for (Conv,MatMul); without: all")
              ->delimiter(',')
              ->allow_extra_args(false),  // what follows may be the model
          command.add_flag("--allow_strassen", impl.allow_strassen,
                           "Let policies use Strassen's algorithm, which mixes rows of a batch")};
}

std::map<std::string, Shape> parse_shapes(const std::string& text) {
  constexpr std::string_view kForm = "it must look like \"a:1,3,224,224;b:2\"";
  std::map<std::string, Shape> shapes;
  for (const std::string& part : CLI::detail::split(text, ';')) {
    // Names may contain colons (TensorFlow's "x:0").
    const size_t colon = part.rfind(':');
    if (part.empty()) continue;
    require(colon != std::string::npos && colon > 0, "--input_shape '{}': {}", text, kForm);
    Shape& shape = shapes[part.substr(0, colon)];
    require(shape.empty(), "--input_shape names '{}' twice", part.substr(0, colon));
    if (colon + 1 == part.size()) continue;  // a scalar
    for (const std::string& number : CLI::detail::split(part.substr(colon + 1), ',')) {
      int64_t extent = 0;
      const std::string digits = CLI::detail::trim_copy(number);
      const auto [end, error] =
          std::from_chars(digits.data(), digits.data() + digits.size(), extent);
      require(error == std::errc{} && end == digits.data() + digits.size(),
              "--input_shape '{}': '{}' is not a number; {}", text, number, kForm);
      require(extent >= 0, "--input_shape '{}': {} is negative", text, extent);
      shape.push_back(extent);
    }
  }
  return shapes;
}

std::string bank_text(const StoredPolicies* policies) {
  if (policies == nullptr || policies->banks().empty()) return "";
  const PolicyCounts counts = policies->counts();
  std::vector<std::string> files;
  for (const auto& [file, hits] : counts.by_bank) {
    files.push_back(fmt::format("'{}'{}", file.string(),
                                counts.by_bank.size() > 1 ? fmt::format(" ({})", hits) : ""));
  }
  if (files.empty()) {
    for (const auto& file : policies->banks()) files.push_back(fmt::format("'{}'", file.string()));
  }
  const Target& target = policies->target();
  return fmt::format("{} of {} by policies for {} with {} from bank {}", counts.from_bank,
                     count_text(counts.workloads, "workload"), count_text(target.threads, "thread"),
                     target.instruction_set, fmt::join(files, " and "));
}

std::map<Numerics, int> algorithms_of(const LoadedModel& model) {
  std::map<Numerics, int> counts;
  if (!model.executable()) return counts;
  for (const auto& kernel : model.executable()->kernels()) {
    ++counts[numerics_of(kernel->policy().structure)];
  }
  return counts;
}

std::string algorithms_text(const std::map<Numerics, int>& counts) {
  std::vector<std::string> words;
  for (const auto& [numerics, count] : counts) {
    words.push_back(fmt::format("{} {}", name(numerics), count));
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

void check_output(const std::string& output, const std::string& model) {
  check_name(output);
  fs::path file;
  try {
    file = written_file(output);
  } catch (const Error& found) {
    throw found.within(fmt::format("--output '{}'", output));
  }
  std::error_code error;
  require(!fs::equivalent(file, model, error), "--output '{}' is the model itself", output);
  const fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
  require(fs::is_directory(folder, error), "--output '{}': there is no folder '{}'", output,
          folder.string());
}

std::string om_output(const std::string& given, const std::string& model) {
  check_name(given);
  std::error_code error;
  const fs::file_status status = fs::status(given, error);
  // A folder of this name does not conflict, because .om is appended. A device or a pipe is an
  // error: the user expects that it is written to itself.
  require(!fs::exists(status) || fs::is_regular_file(status) || fs::is_directory(status),
          "--output '{}': it is not a regular file", given);
  std::string output = given.ends_with(".om") ? given : given + ".om";
  check_output(output, model);
  return output;
}

}  // namespace aoe

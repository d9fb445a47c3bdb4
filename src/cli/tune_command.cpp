#include <fmt/format.h>

#include <chrono>

#include "base/error.h"
#include "base/notice.h"
#include "cli/commands.h"
#include "cli/model_options.h"
#include "cli/tune_screen.h"
#include "codegen/cpu_backend.h"
#include "device/device.h"
#include "op/operator.h"
#include "report/result_file.h"
#include "tune/runner/worker_runner.h"
#include "tune/setup/preconditions.h"
#include "tune/setup/settings.h"
#include "tune/tune.h"

// The command `aoe --model M --job_type 2`. In reading order:
//   kUnimplemented, kIgnored     the vendor's options that are refused or ignored
//   CommandLine                  the options as typed
//   options_of                   checks them (check_job, check_model) and makes TuneOptions
//   report_findings, run_job     checks the machine, then tunes, with a screen and a result file
//   add_tune_options             declares the options; its callback calls run_job
//
// Invariant: wrong options and obstacles on the machine end the command with an Error before the
// job begins.

namespace aoe {
namespace {

namespace fs = std::filesystem;

// Options of the vendor's command that are not implemented; using one is an error.
struct Unimplemented {
  const char* name;
  const char* what;
};
constexpr Unimplemented kUnimplemented[] = {
    {"--model_path", "tuning all models of a folder"},
    {"-w,--weight", "reading Caffe models"},
    {"--singleop", "tuning single operators"},
    {"--dynamic_batch_size", "tuning for several batch sizes"},
    {"--dynamic_image_size", "tuning for several image sizes"},
    {"--dynamic_dims", "tuning for several shapes"},
    {"--out_nodes", "cutting the graph"},
    {"--output_type", "changing the type of outputs"},
    {"--tune_ops_file", "tuning some operators only"},
    {"--ip", "tuning on another machine"},
    {"--port", "tuning on another machine"},
};

// Options of the vendor's command that have no effect on CPUs; using one prints a notice.
struct Ignored {
  const char* name;
  const char* why;
};
constexpr Ignored kIgnored[] = {
    {"--host_env_os", "the .om file runs on every system"},
    {"--host_env_cpu", "the .om file runs on every processor"},
    {"--input_format", "an ONNX model defines the layout of its inputs"},
};

// Option values as typed; an empty string means not given.
struct CommandLine {
  std::string job_type;
  std::string model;
  std::string framework;
  std::string input_shape;
  std::optional<std::string> output;
  std::string reload;
  std::string budget;
  std::string level = "O2";
  std::string aicore_num;
  std::string device = "0";
  std::string soc_version;
  std::string precision_mode;
  ImplMode impl;
  std::string progress_bar = "on";
  std::string log = "warning";
  std::optional<std::string> auto_tune_mode;
  bool deeper = false;
  bool op_format = false;
  bool uneven_splits = false;
  std::vector<CLI::Option*> unimplemented;
  std::vector<CLI::Option*> ignored;
  CLI::Option* reload_option = nullptr;
};

LogLevel log_level(const std::string& name) {
  const std::map<std::string, LogLevel> levels{{"null", LogLevel::null},
                                               {"error", LogLevel::error},
                                               {"warning", LogLevel::warning},
                                               {"info", LogLevel::info},
                                               {"debug", LogLevel::debug}};
  return levels.at(name);
}

std::string name_of(const CLI::Option& option) { return "--" + option.get_lnames().front(); }

void check_job(const CommandLine& line) {
  require(!line.job_type.empty(), "--job_type is missing; 2 tunes operators; see aoe --help");
  require(line.job_type == "1" || line.job_type == "2",
          "--job_type is '{}'; 1 (subgraphs) or 2 (operators) is expected", line.job_type);
  for (size_t i = 0; i < std::size(kUnimplemented); ++i) {
    require(line.unimplemented[i]->count() == 0, "{}: {} is not implemented yet",
            name_of(*line.unimplemented[i]), kUnimplemented[i].what);
  }
  require(line.job_type == "2" || !line.op_format,
          "--Fop_format is for operators (--job_type=2) only");
  require(line.job_type == "2", "--job_type=1: tuning of subgraphs is not implemented yet");
  require(!line.uneven_splits, "--Fnonhomo_split is for subgraphs (--job_type=1) only");
  require(line.precision_mode.empty() || line.precision_mode == "must_keep_origin_dtype",
          "--precision_mode={}: lower precision is not implemented yet; must_keep_origin_dtype is",
          line.precision_mode);
  for (size_t i = 0; i < std::size(kIgnored); ++i) {
    if (line.ignored[i]->count() == 0) continue;
    notice(fmt::format("{} is ignored: {}", name_of(*line.ignored[i]), kIgnored[i].why));
  }
}

void check_model(const CommandLine& line) {
  require(!line.model.empty(), "--model is missing: the file of the model to tune");
  const std::map<std::string, std::string> frameworks{
      {"0", "Caffe"}, {"1", "MindSpore"}, {"3", "TensorFlow"}, {"5", "ONNX"}};
  const std::map<std::string, std::string> of_suffix{
      {".onnx", "5"}, {".pb", "3"}, {".prototxt", "0"}, {".air", "1"}, {".mindir", "1"}};
  require(fs::path(line.model).extension() != ".om",
          "--model '{}': an .om file is made for one machine; tune the model that it was made of",
          line.model);
  std::string framework = line.framework;
  if (framework.empty()) {
    const auto known = of_suffix.find(fs::path(line.model).extension().string());
    require(known != of_suffix.end(),
            "--model '{}': its suffix does not tell what it is; --framework=5 says ONNX",
            line.model);
    framework = known->second;
  }
  const auto known = frameworks.find(framework);
  require(known != frameworks.end(),
          "--framework is '{}'; 0 (Caffe), 1 (MindSpore), 3 (TensorFlow) or 5 (ONNX) is expected",
          framework);
  require(framework == "5", "--framework={}: reading {} models is not implemented yet; 5 (ONNX) is",
          framework, known->second);
}

TuneOptions options_of(const CommandLine& line, const Device& device) {
  check_job(line);
  check_model(line);
  const std::string soc_version = device.soc_version();
  require(line.soc_version.empty() || line.soc_version == soc_version,
          "--soc_version is {}, but this machine is {}: models are tuned where they run",
          line.soc_version, soc_version);
  number_within(line.device, 0, 0, "--device");
  TuneOptions options;
  read_settings(process_environment, options);
  options.banks = bank_places(soc_version);
  options.model = line.model;
  options.input_shapes = parse_shapes(line.input_shape);
  if (line.output) options.output = om_output(*line.output, line.model);
  if (line.reload_option->count() > 0) options.reload = line.reload;
  if (!line.budget.empty()) options.budget_s = parse_budget(line.budget);
  options.effort = line.level == "O1" ? Effort::high : Effort::normal;
  options.deeper = line.deeper;
  options.formats = line.op_format || options.effort == Effort::high;
  if (line.auto_tune_mode) options.auto_tune = parse_auto_tune_mode(*line.auto_tune_mode);
  if (!line.aicore_num.empty()) {
    options.threads = number_within(line.aicore_num, 1, 1024, "--aicore_num");
  }
  line.impl.check();
  require_operators(line.impl.op_types, "--optypelist_for_implmode");
  options.impl = line.impl;
  options.progress_bar = line.progress_bar == "on";
  options.log = log_level(line.log);
  return options;
}

// Reports the findings. Throws if there is an obstacle; advice only prints a notice.
void report_findings(const std::vector<Finding>& findings) {
  std::vector<std::string> obstacles;
  for (const auto& [obstacle, text] : findings) {
    if (obstacle) obstacles.push_back(text);
  }
  for (size_t i = 0; i < obstacles.size(); ++i) {
    require(i + 1 < obstacles.size(), "{}", obstacles[i]);
    log_line(LogLevel::error, obstacles[i]);
  }
  for (const Finding& advice : findings) notice(advice.text);
}

int run_job(const CommandLine& line) {
  set_log_level(log_level(line.log));
  const Device& device = host_backend()->device();
  TuneOptions options = options_of(line, device);
  const HostState found = surroundings_of(options, device);
  options = resolved(std::move(options), found);
  report_findings(findings(options, found));
  const ResultFile file(options.result_dir, std::chrono::system_clock::now(),
                        options.auto_tune.has_value());
  TuneScreen screen(options);
  const EndOnSignal ending;
  TuneListener listener;
  listener.on_started = [&](const fs::path& folder) { screen.on_started(folder); };
  listener.on_changed = [&](const TuningOutcome& outcome) { file.write(outcome); };
  listener.on_progress = [&](const JobProgress& progress, const std::string& name) {
    screen.on_progress(progress, name);
  };
  listener.on_written = [&](const fs::path& model) { screen.on_written(model); };
  listener.is_stopped = [] { return EndOnSignal::wanted(); };
  try {
    const TuningOutcome outcome = tune(options, host_backend(), listener);
    screen.on_finished(outcome, file.file());
    return outcome.state == TuningOutcome::State::successful ? 0 : 1;
  } catch (const Interrupted&) {
    screen.on_interrupted();
    return 130;
  }
}

}  // namespace

void add_tune_options(CLI::App& app, int& exit_code) {
  auto line = std::make_shared<CommandLine>();
  const std::vector<CLI::App*> commands = app.get_subcommands(nullptr);
  constexpr const char* kShown = "Tuning";
  constexpr const char* kHidden = "";
  const auto shown = [&](CLI::Option* option) { return option->group(kShown); };
  const auto hidden = [&](CLI::Option* option) { return option->group(kHidden); };

  shown(app.add_option("-m,--model", line->model, "Model to tune"));
  shown(app.add_option("-j,--job_type", line->job_type,
                       "2: operators (1, subgraphs: not implemented)"));
  shown(app.add_option("--input_shape", line->input_shape,
                       "Sizes of symbolic dimensions: \"a:1,3,224,224;b:2\""));
  shown(app.add_option("--output", line->output, "The tuned model; .om is appended"));
  shown(app.add_option("--budget", line->budget, "Stop in time with the best so far: 90s, 10m"));
  shown(app.add_option("--aicore_num", line->aicore_num,
                       "Number of threads (default: all usable cores)"));
  line->reload_option =
      shown(app.add_option("--reload", line->reload, "Resume an interrupted job [its folder]"));
  line->reload_option->expected(0, 1);
  shown(app.add_option("--progress_bar", line->progress_bar, "on (default), off"))
      ->check(CLI::IsMember({"on", "off"}));

  hidden(app.add_option("-f,--framework", line->framework, "5: ONNX; else from the suffix"));
  hidden(app.add_option("--tune_optimization_level", line->level, "O1: high, O2: normal effort"))
      ->check(CLI::IsMember({"O1", "O2"}));
  hidden(
      app.add_option("--auto_tune_mode", line->auto_tune_mode,
                     "Tune cube operators (GA), vector operators (RL), both (RL,GA) or NO_TUNE"));
  hidden(app.add_flag("--Fdeeper_opat", line->deeper, "Search deeper"));
  hidden(app.add_flag("--Fop_format", line->op_format, "Tune layouts too; O1 does"));
  hidden(app.add_flag("--Fnonhomo_split", line->uneven_splits, "Uneven splits of subgraphs"));
  hidden(app.add_option("--precision_mode", line->precision_mode, "must_keep_origin_dtype"));
  for (CLI::Option* option : add_impl_options(app, line->impl)) hidden(option);
  hidden(app.add_option("--device", line->device, "Number of the device; only 0 exists"));
  hidden(app.add_option("--soc_version", line->soc_version, "The machine's, as aoe devices says"));
  hidden(app.add_option("--log", line->log, "debug, info, warning (default), error, null"))
      ->check(CLI::IsMember({"debug", "info", "warning", "error", "null"}));
  for (const auto& [name, what] : kUnimplemented) {
    const std::string text = fmt::format("Not implemented yet: {}", what);
    line->unimplemented.push_back(hidden(app.add_option(name, text)));
    line->unimplemented.back()->expected(0, 1);
  }
  for (const auto& [name, why] : kIgnored) {
    const std::string text = fmt::format("Ignored: {}", why);
    line->ignored.push_back(hidden(app.add_option(name, text)));
  }
  const std::vector<CLI::Option*> all = app.get_options([](const CLI::Option* option) {
    return option->get_group() == kShown || option->get_group() == kHidden;
  });
  for (CLI::App* command : commands) {
    for (CLI::Option* option : all) command->excludes(option);
  }
  app.add_flag_callback(
      "--help-all",
      [all] {
        for (CLI::Option* option : all) option->group(kShown);
        throw CLI::CallForHelp();
      },
      "Print this help with all tuning options");
  app.callback([line, &app, &exit_code] {
    if (!app.get_subcommands().empty()) return;
    const bool asked = app.count_all() > 1;
    require(asked, "a command is expected, or --model and --job_type to tune; see aoe --help");
    exit_code = run_job(*line);
  });
}

}  // namespace aoe

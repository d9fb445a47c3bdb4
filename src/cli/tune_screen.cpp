#include "cli/tune_screen.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>

#include <algorithm>
#include <cmath>

#include "base/utf8.h"
#include "cli/words.h"
#include "measure/statistics/proof.h"
#include "policy/policy_text.h"
#include "report/result_file.h"

namespace aoe {
namespace {

volatile sig_atomic_t end_wanted = 0;

std::string phase_text(JobProgress::Phase phase) {
  switch (phase) {
    case JobProgress::Phase::layouts: return "timing layouts";
    case JobProgress::Phase::searching: return "searching";
    case JobProgress::Phase::racing: return "racing the best";
    case JobProgress::Phase::confirming: return "confirming in new processes";
    case JobProgress::Phase::whole_model: return "the whole model";
  }
  return "";
}

// "1 confirmation was undecided when the time ended (conv1, seems 32 % faster): …"; the one that
// seems fastest.
std::string undecided_text(const TuningOutcome& outcome) {
  const auto best =
      std::max_element(outcome.undecided.begin(), outcome.undecided.end(),
                       [](const auto& a, const auto& b) { return a.speed_up < b.speed_up; });
  const size_t count = outcome.undecided.size();
  return fmt::format(
      "{} {} undecided when the time ended ({}{} seems {:.0f} % faster): more --budget may decide "
      "{}",
      count_text(static_cast<int64_t>(count), "confirmation"), count == 1 ? "was" : "were",
      printable(best->name), count == 1 ? "," : "", 100 * (best->speed_up - 1),
      count == 1 ? "it" : "them");
}

// The reason why no gain of the model is claimed, and what the user can do.
std::string without_gain(const TuningOutcome& outcome, const TuneOptions& options) {
  const TunedCounts& counts = outcome.counts;
  if (outcome.unproven_model) {
    const Gain& seen = *outcome.unproven_model;
    const std::string kept =
        count_text(static_cast<int64_t>(outcome.operators.size()), "operator") +
        " proven faster and kept; the whole model's gain ";
    // With few blocks, the interval is still from 0 to infinity.
    if (!std::isfinite(seen.speedup_high)) return kept + "could not be measured within the budget";
    return fmt::format(
        "{}is too small to be proven here: {:.3f} times as fast, between {:.3f} and {:.3f}; a "
        "proof here needs more than {:.3f}",
        kept, seen.before_ns / seen.after_ns, seen.speedup_low, seen.speedup_high,
        1 + outcome.margin);
  }
  if (outcome.dropped > 0) {
    return fmt::format(
        "{} proven faster, but no speed-up of the whole model was measured: nothing was kept; more "
        "time "
        "(--budget) or a quieter machine may show it",
        count_text(static_cast<int64_t>(outcome.dropped), "operator"));
  }
  if (counts.total() > 0 && counts.total() == counts.reserved) {
    return "nothing was improved: all operators are in the bank (REPEAT_TUNE=True tunes them "
           "again)";
  }
  if (counts.total() == 0) return "nothing was improved: there is no operator to tune";
  if (outcome.tried == 0 && outcome.remembered > 0) {
    return "nothing was improved: earlier jobs tuned all operators that matter (a larger --budget "
           "or REPEAT_TUNE=True tunes them again)";
  }
  if (outcome.chosen == 0) {
    return options.auto_tune ? "nothing was improved: nothing was to be tuned with this "
                               "--auto_tune_mode"
                             : "nothing was improved: every operator that is not in the bank takes "
                               "too little of the model's time to be tuned";
  }
  if (!outcome.undecided.empty()) return "nothing was improved: " + undecided_text(outcome);
  if (outcome.tried == 0) return "nothing was improved: the time ended before anything was tried";
  return "nothing was improved: no policy was proven faster than the baseline";
}

// The command that resumes a job: --reload refuses options that differ from those of its start.
std::string resume_command(const TuneOptions& options, const std::filesystem::path& folder) {
  std::vector<std::string> words{"aoe", "--model=" + options.model.string(), "--job_type=2",
                                 fmt::format("--aicore_num={}", options.threads)};
  std::vector<std::string> shapes;
  for (const auto& [name, shape] : options.input_shapes) {
    shapes.push_back(fmt::format("{}:{}", name, fmt::join(shape, ",")));
  }
  if (!shapes.empty()) {
    words.push_back(fmt::format("--input_shape={}", fmt::join(shapes, ";")));
  }
  for (const std::string& option : options.impl.options()) words.push_back(option);
  if (!options.output.empty()) words.push_back("--output=" + options.output.string());
  words.push_back("--reload=" + folder.string());
  for (std::string& word : words) word = shell_word(word);
  return fmt::format("{}", fmt::join(words, " "));
}

std::string percent_text(double share) { return fmt::format("{:.1f} %", 100 * share); }

// The gain that more tuning is expected to bring.
std::string outlook(const TuningOutcome& outcome) {
  if (!outcome.expected_gain) return "more tuning is not likely to pay";
  return fmt::format(
      "more tuning would gain about {} more (--budget, --tune_optimization_level=O1)",
      percent_text(*outcome.expected_gain));
}

}  // namespace

TuneScreen::TuneScreen(const TuneOptions& options) : options_(options) {
  // At more verbose levels, log lines would be mixed with the progress; at quieter ones, only
  // errors or nothing are wanted.
  if (options.progress_bar && options.log == LogLevel::warning) progress_.emplace();
}

void TuneScreen::on_started(const std::filesystem::path& folder) {
  folder_ = folder;
  fmt::print("Tuning {} on {}; the job's folder is {}\n", options_.model.filename().string(),
             count_text(options_.threads, "thread"), folder.string());
  std::fflush(stdout);
  if (progress_) progress_->begin("loading the model");
}

void TuneScreen::on_progress(const JobProgress& progress, const std::string& name) {
  if (!progress_) return;
  std::string text =
      fmt::format("{}, {}", phase_text(progress.phase),
                  count_text(static_cast<int64_t>(progress.candidates), "candidate"));
  if (progress.proven > 0) {
    text += fmt::format(", {} proven faster",
                        count_text(static_cast<int64_t>(progress.proven), "operator"));
  }
  if (progress.share > 0.02) {
    const double left = progress.elapsed_s * (1 / progress.share - 1);
    text += fmt::format(", about {:.0f} s left", std::ceil(left));
  }
  if (!name.empty()) {
    constexpr size_t kMost = 40;
    text += fmt::format("; {} seems {} faster",
                        printable(name.size() > kMost ? name.substr(0, kMost) + "…" : name),
                        percent_text(progress.best_speed_up - 1));
  }
  progress_->update(std::move(text), progress.share);
}

void TuneScreen::on_written(const std::filesystem::path& model) { model_ = model; }

void TuneScreen::on_finished(const TuningOutcome& outcome, const std::filesystem::path& result) {
  progress_.reset();
  if (!outcome.formats.empty()) fmt::print("{}\n", outcome.formats);
  constexpr size_t kExplained = 5;  // operators are sorted by time saved, largest first
  for (size_t i = 0; i < outcome.operators.size(); ++i) {
    const OperatorOutcome& one = outcome.operators[i];
    fmt::print("  {:>9}  [{:.2f}, {:.2f}] times as fast  {:.1f} -> {:.1f} us  {}\n",
               improvement_text(one.gain.before_ns, one.gain.after_ns), one.gain.speedup_low,
               one.gain.speedup_high, one.gain.before_ns / 1e3, one.gain.after_ns / 1e3,
               printable(one.name));
    if (i < kExplained && one.why) fmt::print("             {}\n", to_string(*one.why));
  }
  if (!outcome.operators.empty()) {
    fmt::print(
        "intervals: {:.0f} % each, from fresh blocks used for nothing else; kept if proven faster "
        "by more than {} (at most {:.0f} % of jobs keep one that is not)\n",
        100 * kConfidence, percent_text(outcome.operators[0].margin), 100 * ErrorBudget::kJobError);
  }
  const auto with_strassen = std::count_if(
      outcome.operators.begin(), outcome.operators.end(), [](const OperatorOutcome& one) {
        return numerics_of(one.policy_after) == Numerics::strassen;
      });
  if (with_strassen > 0) {
    fmt::print("{} of Strassen's algorithm: later runs need --allow_strassen too\n",
               count_text(with_strassen, "new policy"));
  }
  for (const std::string& name : outcome.failed_operators) {
    fmt::print("  failed: {}: its baseline kernel failed its check\n", printable(name));
  }
  const TunedCounts& counts = outcome.counts;
  fmt::print("{}: {} added, {} updated, {} reserved, {} not improved; {} tried in {:.0f} s\n",
             count_text(counts.total(), "operator"), counts.add, counts.update, counts.reserved,
             counts.unsatisfied, count_text(static_cast<int64_t>(outcome.tried), "candidate"),
             outcome.seconds);
  if (outcome.tried > 0) fmt::print("{}\n", outlook(outcome));
  fmt::print("result  {}\nmodel   {}\n", result.string(), model_.string());
  if (outcome.model) {
    const Gain& model = *outcome.model;
    fmt::print("{} process finished. Performance improved by {}\n", outcome.name,
               improvement_text(model.before_ns, model.after_ns));
  } else if (outcome.failed_operators.empty()) {
    fmt::print("{}: {}\n", outcome.name, without_gain(outcome, options_));
  }
  if (outcome.state == TuningOutcome::State::successful) fmt::print("Aoe process finished\n");
}

void TuneScreen::on_interrupted() {
  progress_.reset();
  if (!is_logged(LogLevel::error)) return;
  fmt::print(stderr, "aoe: interrupted; what was measured is kept. Resume with:\n  {}\n",
             resume_command(options_, folder_));
}

EndOnSignal::EndOnSignal() {
  end_wanted = 0;
  struct sigaction action = {};
  action.sa_handler = [](int) { end_wanted = 1; };
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

EndOnSignal::~EndOnSignal() {
  signal(SIGINT, SIG_DFL);
  signal(SIGTERM, SIG_DFL);
}

bool EndOnSignal::wanted() { return end_wanted != 0; }

}  // namespace aoe

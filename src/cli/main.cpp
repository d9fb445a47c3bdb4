#include <fmt/format.h>

#include <csignal>
#include <new>

#include "base/error.h"
#include "base/notice.h"
#include "cli/commands.h"
#include "cli/nearest.h"

namespace {

constexpr int kBadUse = 2;  // exit code for an invalid option or file

constexpr const char* kExamples = R"(Tunes and runs deep-learning models on the processor at hand.

Examples:
  aoe --model=model.onnx --job_type=2     tune its operators for this machine
  aoe run model.onnx --input in.npz       run it; --output keeps the results
  aoe bench model.onnx --profile          measure it, step by step
)";

int complain(std::string_view message) {
  if (aoe::is_logged(aoe::LogLevel::error)) fmt::print(stderr, "aoe: {}\n", message);
  return kBadUse;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // exceeding the file size limit becomes a write error
  CLI::App app(kExamples, "aoe");
  app.require_subcommand(0, 1);
  app.set_version_flag("--version", AOE_VERSION);
  aoe::add_run_command(app);
  aoe::add_compile_command(app);
  aoe::add_bench_command(app);
  aoe::add_bank_command(app);
  aoe::add_devices_command(app);
  int exit_code = 0;
  aoe::add_kernel_command(app, exit_code);
  aoe::add_worker_command(app);
  aoe::add_tune_options(app, exit_code);
  try {
    app.parse(argc, argv);
    const bool written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
    return written ? exit_code : complain("cannot write to standard output");
  } catch (const CLI::Success& success) {  // --help, --version
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    if (!app.remaining(true).empty()) return complain(aoe::unknown_argument(app));
    return complain(fmt::format("{}; see aoe --help", error.what()));
  } catch (const aoe::Error& error) {
    return complain(error.what());
  } catch (const std::bad_alloc&) {
    return complain("not enough memory for this model");
  } catch (const std::exception& error) {
    return complain(error.what());
  }
}

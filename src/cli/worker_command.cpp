#include "cli/commands.h"
#include "codegen/cpu_backend.h"
#include "measure/worker/worker_main.h"

namespace aoe {

void add_worker_command(CLI::App& app) {
  struct Options {
    int socket = -1;
    int page = -1;
    std::string model;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("worker", "Compile, check and time candidates for another process");
  command->group("");  // hidden from help: only aoe itself starts it
  command->add_option("socket", options->socket)->required();
  command->add_option("page", options->page)->required();
  command->add_option("model", options->model);
  command->callback(
      [options] { run_worker(options->socket, options->page, options->model, host_backend()); });
}

}  // namespace aoe

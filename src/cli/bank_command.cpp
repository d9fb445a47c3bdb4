#include "base/error.h"
#include "cli/bank_commands.h"
#include "cli/commands.h"

namespace aoe {

void add_bank_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("bank", "Look into banks of tuned policies, merge them");
  command->require_subcommand(0, 1);
  command->callback([command] {
    require(!command->get_subcommands().empty(),
            "aoe bank: ls, show, check, measure, merge, export, import, diff, rm or prune is "
            "expected; see aoe bank --help");
  });
  add_bank_list_commands(*command);
  add_bank_measure_command(*command);
  add_bank_merge_commands(*command);
  add_bank_remove_commands(*command);
}

}  // namespace aoe

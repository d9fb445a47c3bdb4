// Runs searchers on recorded spaces, without a clock:
//
//   gym WORKLOADS.txt FOLDER [OUTPUT]
//
// FOLDER has the files that gym_record wrote. Prints after how many samples each searcher has
// closed 80 % of the gap between the default and the best known policy, and how much of it is left
// after given numbers of samples; with OUTPUT also writes the curves to OUTPUT.csv and OUTPUT.svg.

#include <fmt/format.h>

#include "base/error.h"
#include "tests/gym/gym_report.h"

int main(int argc, char** argv) {
  if (argc < 3) {
    fmt::print(stderr, "gym WORKLOADS.txt FOLDER [OUTPUT]\n");
    return 2;
  }
  try {
    const aoe::GymReport report =
        aoe::gym_report(aoe::gym_spaces(argv[1], argv[2]), aoe::GymExtent::all);
    fmt::print("{}", to_string(report));
    if (argc > 3) aoe::write_curves(report, argv[3]);
    return 0;
  } catch (const aoe::Error& error) {
    fmt::print(stderr, "gym: {}\n", error.what());
    return 1;
  }
}

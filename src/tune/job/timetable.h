#pragma once

#include <cstddef>
#include <limits>

namespace aoe {

// The timetable of a job: when each round searches, and how long it may check what it found (races
// and confirmations). Times are seconds since the start of the job.
//
// The first round is short, so that a first gain is proven soon. Each further round searches for at
// least twice as long as the one before, and long enough that checks take at most 36 % of the time.
// The search continues between the blocks of a confirmation. It gets 45 % of a budget, less if
// checks take long. 30 % are reserved for the whole model and the final estimate. The rest is for
// checks, a third of it reserved for those of the last round.
class Timetable {
 public:
  explicit Timetable(double budget_s) : budget_s_(budget_s) {}

  // Begins the search of the first round; its end depends on how long opening the model took.
  void begin(double elapsed_s);
  // Whether the current round continues its search, and whether the job continues to search at all.
  bool round_goes_on(double elapsed_s) const;
  bool search_goes_on(double elapsed_s) const;
  // Whether there is time only for the first round.
  bool is_only_round() const { return round_ends_s_ >= search_s(); }

  // The time that the checks of a round may take, if they begin now.
  double allowed_checks_s(double elapsed_s, bool last) const;
  // Records that the checks of a round took so long, and begins the next round. `next_s` is the
  // expected duration of the next checks, at least.
  void record_checks(double took_s, double elapsed_s, double next_s);

 private:
  double searched_s(double elapsed_s) const { return elapsed_s - checked_s_; }
  double search_s() const;
  void end_round_at(double searched_s);

  double budget_s_;
  double round_began_s_ = 0;  // in search time: elapsed time without checks
  double round_ends_s_ = 0;   // in search time
  double checked_s_ = 0;      // duration of all checks so far
  double next_checks_s_ = 0;  // expected duration of the next checks, at least
};

}  // namespace aoe

#pragma once

#include <cstddef>
#include <limits>

namespace aoe {

// When the rounds of a job search, and how long they may check what was found. Times are seconds
// since the job began.
//
// The first round is short, so that a first gain is proven soon; each further one searches for
// twice as long as the one before, and for longer than what was found before took to be checked.
// Of a budget, half is for searching, less where checks take long, and a fifth for the whole model
// at the end. Of what is between them for checks, a third is kept for those of the last round.
class Timetable {
 public:
  explicit Timetable(double budget_s) : budget_s_(budget_s) {}

  // The search of the first round begins: when it ends depends on how long it took to come here.
  void begin(double elapsed_s);
  // Whether the round that searches now is to go on, and whether any round is.
  bool round_goes_on(double elapsed_s) const;
  bool search_goes_on(double elapsed_s) const;
  // Whether there is time for one round only, the first.
  bool is_only_round() const { return round_ends_s_ >= search_s(); }

  // A round has searched: until when what it found may be checked. It was, and the next ones will
  // take `next_s` at least.
  double checks_end_s(double elapsed_s, bool last) const;
  void record_checks(double began_s, double ended_s, double next_s);

 private:
  double searched_s(double elapsed_s) const { return elapsed_s - checked_s_; }
  double search_s() const;
  void end_round_at(double searched_s);

  double budget_s_;
  double round_began_s_ = 0;  // by the time that was searched
  double round_ends_s_ = 0;
  double checked_s_ = 0;
  double next_checks_s_ = 0;  // at least
};

}  // namespace aoe

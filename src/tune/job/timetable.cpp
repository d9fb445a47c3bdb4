#include "tune/job/timetable.h"

#include <algorithm>

namespace aoe {
namespace {

// The search of the first round ends kFirstRoundS after the start of the job, which includes
// opening the model, but lasts for at least kFirstSearchS.
constexpr double kFirstRoundS = 8;
constexpr double kFirstSearchS = 2.5;
constexpr double kLonger = 2;  // minimum factor between the search times of rounds
// Shares of the budget.
constexpr double kSearchShare = 0.45;      // search, at most
constexpr double kLeastSearchShare = 0.3;  // search, at least, if checks take long
constexpr double kCheckedShare = 0.7;      // end of all checks; the rest is for the whole model
constexpr double kEarlyCheckShare = 0.17;  // checks before the last round

}  // namespace

double Timetable::search_s() const { return kSearchShare * budget_s_; }

// If less search time than the round takes is left after it, the round takes that too.
void Timetable::end_round_at(double searched_s) {
  const double length = searched_s - round_began_s_;
  round_ends_s_ = search_s() - searched_s < length ? search_s() : searched_s;
}

void Timetable::begin(double elapsed_s) {
  end_round_at(std::max(kFirstRoundS, elapsed_s + kFirstSearchS));
  round_began_s_ = elapsed_s;
}

bool Timetable::round_goes_on(double elapsed_s) const {
  return search_goes_on(elapsed_s) && searched_s(elapsed_s) < round_ends_s_;
}

bool Timetable::search_goes_on(double elapsed_s) const {
  const double searched = searched_s(elapsed_s);
  const bool has_time_to_check = elapsed_s + next_checks_s_ < kCheckedShare * budget_s_;
  return searched < (has_time_to_check ? search_s() : kLeastSearchShare * budget_s_);
}

double Timetable::allowed_checks_s(double elapsed_s, bool last) const {
  const double all_s = kCheckedShare * budget_s_ - elapsed_s;
  return last ? all_s : std::min(all_s, kEarlyCheckShare * budget_s_ - checked_s_);
}

void Timetable::record_checks(double took_s, double elapsed_s, double next_s) {
  checked_s_ += took_s;
  const double round_s = searched_s(elapsed_s) - round_began_s_;
  round_began_s_ = searched_s(elapsed_s);
  next_checks_s_ = next_s;
  const double share_of_checks = (kCheckedShare - kSearchShare) / kSearchShare;
  end_round_at(round_began_s_ + std::max(kLonger * round_s, took_s / share_of_checks));
  // If the next checks do not fit into the time for early checks, the next round is the last one.
  if (kEarlyCheckShare * budget_s_ - checked_s_ < next_s) round_ends_s_ = search_s();
}

}  // namespace aoe

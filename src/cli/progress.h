#pragma once

#include <string>

#include "base/clock.h"

namespace aoe {

// Shows on the error stream what a command is doing: on a terminal one line that is updated and
// finally removed, otherwise a line from time to time.
class Progress {
 public:
  Progress();
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Begins an activity: "loading resnet50.onnx".
  void begin(std::string what);
  // Updates the completed share of the activity, from 0 to 1.
  void update(double share);
  // The same, with a new description of the activity.
  void update(std::string what, double share);

 private:
  void say(const std::string& text);

  bool terminal_;
  double said_ns_ = 0;
  std::string what_;
};

}  // namespace aoe

#pragma once

#include <string>

#include "base/clock.h"

namespace aoe {

// Says on the error stream what a command is busy with: on a terminal one line that changes and is
// gone at the end, elsewhere a line now and then.
class Progress {
 public:
  Progress();
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Something new begins: "loading resnet50.onnx".
  void begin(std::string what);
  // How much of it is done, from 0 to 1.
  void update(double share);
  // The same, while what is said of it changes all the time.
  void update(std::string what, double share);

 private:
  void say(const std::string& text);

  bool terminal_;
  double said_ns_ = 0;
  std::string what_;
};

}  // namespace aoe

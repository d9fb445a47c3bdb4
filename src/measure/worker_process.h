#pragma once

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <string>

#include "base/file.h"
#include "measure/worker_messages.h"
#include "measure/worker_page.h"

namespace aoe {

// One process that runs `aoe worker`, from its start to its end, which this brings about at the
// latest.
class WorkerProcess {
 public:
  WorkerProcess(const std::filesystem::path& program, const std::filesystem::path& model);
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  pid_t id() const { return id_; }
  Lines& lines() { return lines_; }
  const WorkerPage& page() const { return *page_; }

  void kill();
  // What ended it, which it must have done, or be about to: the number of a signal, or 0.
  int ended_by();
  // What it said last on its error stream.
  std::string last_words() const;

 private:
  File socket_;
  File error_stream_;
  std::shared_ptr<WorkerPage> page_;
  Lines lines_;
  pid_t id_ = -1;
};

}  // namespace aoe

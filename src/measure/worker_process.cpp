#include "measure/worker_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "base/error.h"
#include "base/utf8.h"

extern char** environ;

namespace aoe {
namespace {

// The worker's descriptors for them; its own standard streams come before.
constexpr int kSocket = 3;
constexpr int kPage = 4;

// Moved out of the way of the numbers above, so that none is overwritten before it is passed on.
File high(int descriptor, const char* what) {
  require(descriptor >= 0, "no {} for a worker process: {}", what, std::strerror(errno));
  const File low(descriptor);
  File moved(fcntl(descriptor, F_DUPFD_CLOEXEC, kPage + 1));
  require(static_cast<bool>(moved), "no {} for a worker process: {}", what, std::strerror(errno));
  return moved;
}

pid_t spawn(const std::filesystem::path& program, const std::filesystem::path& model,
            const File& socket, const File& page, const File& error_stream) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, error_stream.get(), STDERR_FILENO);
  posix_spawn_file_actions_adddup2(&actions, socket.get(), kSocket);
  posix_spawn_file_actions_adddup2(&actions, page.get(), kPage);
  // What this process ignores or blocks is not the worker's affair.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::string words[] = {"aoe", "worker", std::to_string(kSocket), std::to_string(kPage),
                         model.empty() ? "" : std::filesystem::absolute(model).string()};
  char* arguments[] = {words[0].data(),
                       words[1].data(),
                       words[2].data(),
                       words[3].data(),
                       model.empty() ? nullptr : words[4].data(),
                       nullptr};
  pid_t id = -1;
  const int error = posix_spawn(&id, program.c_str(), &actions, &attributes, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  require(error == 0, "a worker process cannot be started from '{}': {}", program.string(),
          std::strerror(error));
  return id;
}

std::shared_ptr<WorkerPage> mapped_page(const File& file) {
  require(ftruncate(file.get(), sizeof(WorkerPage)) == 0, "no memory to share with a worker");
  void* const memory =
      mmap(nullptr, sizeof(WorkerPage), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  require(memory != MAP_FAILED, "no memory to share with a worker: {}", std::strerror(errno));
  return {new (memory) WorkerPage, [](WorkerPage* page) { munmap(page, sizeof(WorkerPage)); }};
}

}  // namespace

WorkerProcess::WorkerProcess(const std::filesystem::path& program,
                             const std::filesystem::path& model)
    : socket_(-1), error_stream_(-1), lines_(-1) {
  int ends[2] = {-1, -1};
  const bool paired = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0;
  socket_ = high(paired ? ends[0] : -1, "socket");
  const File other = high(ends[1], "socket");
  const File page = high(memfd_create("aoe worker page", MFD_CLOEXEC), "shared memory");
  error_stream_ = high(memfd_create("aoe worker errors", MFD_CLOEXEC), "error stream");
  page_ = mapped_page(page);
  lines_ = Lines(socket_.get());
  id_ = spawn(program, model, other, page, error_stream_);
}

WorkerProcess::~WorkerProcess() {
  if (id_ < 0) return;
  kill();
  while (waitpid(id_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void WorkerProcess::kill() {
  if (id_ >= 0) ::kill(id_, SIGKILL);
}

int WorkerProcess::ended_by() {
  // Its socket is closed shortly before it is gone. One that only closed its socket is made to go.
  constexpr int kMostTries = 2000;
  int status = 0;
  pid_t ended = 0;
  for (int i = 0; i < kMostTries && ended == 0; ++i) {
    ended = waitpid(id_, &status, WNOHANG);
    if (ended == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (ended == 0) return SIGKILL;  // by the destructor
  id_ = -1;
  return ended > 0 && WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

std::string WorkerProcess::last_words() const {
  constexpr off_t kMost = 300;
  const off_t size = lseek(error_stream_.get(), 0, SEEK_END);
  std::string words(static_cast<size_t>(std::clamp<off_t>(size, 0, kMost)), '\0');
  const ssize_t got =
      pread(error_stream_.get(), words.data(), words.size(), std::max<off_t>(0, size - kMost));
  words.resize(static_cast<size_t>(std::max<ssize_t>(0, got)));
  words.erase(words.find_last_not_of(" \n") + 1);
  return words;
}

}  // namespace aoe

#include "measure/worker/worker_client.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <limits>
#include <optional>
#include <set>
#include <thread>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/utf8.h"
#include "measure/worker/worker_messages.h"
#include "measure/worker/worker_page.h"

// The client's side of a worker, in reading order: WorkerProcess starts `aoe worker` (which runs
// worker_main.cpp) and ends it; Worker::Client sends it requests, waits for the answers, and
// replaces a process that died or hangs; Worker forwards to it.
//
// Invariant: between public calls there is a process with the target open. `known_` has every
// candidate that has not failed; one that the current process has not seen is adopted by it before
// its next use.

extern char** environ;

namespace aoe {
namespace {

// The worker's descriptor numbers of socket and page, right behind its standard streams.
constexpr int kSocket = 3;
constexpr int kPage = 4;

// Duplicates a descriptor above kPage and closes the original, so that no dup2 in `spawn`
// overwrites a descriptor that is still to be passed on.
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
  // The worker does not inherit this process's blocked and ignored signals.
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

// A process that runs `aoe worker`. The destructor kills it if it is still running.
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
  // Waits for the process, which has ended or is about to, and returns the signal that ended it, or
  // 0.
  int ended_by();
  // The end of its error stream.
  std::string stderr_tail() const;

 private:
  File socket_;
  File error_stream_;
  std::shared_ptr<WorkerPage> page_;
  Lines lines_;
  pid_t id_ = -1;
};

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
  // The socket closes shortly before the process ends. A process that only closed its socket is
  // killed after the last try.
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

std::string WorkerProcess::stderr_tail() const {
  constexpr off_t kMost = 300;
  const off_t size = lseek(error_stream_.get(), 0, SEEK_END);
  std::string words(static_cast<size_t>(std::clamp<off_t>(size, 0, kMost)), '\0');
  const ssize_t got =
      pread(error_stream_.get(), words.data(), words.size(), std::max<off_t>(0, size - kMost));
  words.resize(static_cast<size_t>(std::max<ssize_t>(0, got)));
  words.erase(words.find_last_not_of(" \n") + 1);
  return words;
}

using Phase = WorkerPage::Phase;

// Why a request has no answer, and the candidate at fault.
struct Loss {
  CandidateId candidate = CandidateId::baseline;
  Failure failure;
};

}  // namespace

std::string name_of(const OpenWorkload& workload) {
  std::string name;
  for (const auto& node : workload.nodes) name += node.name.empty() ? node.type : node.name;
  return name;
}

class Worker::Client {
 public:
  Client(WorkerTarget target, WorkerOptions options)
      : target_(std::move(target)), options_(std::move(options)) {
    start();
  }

  const std::vector<OpenWorkload>& workloads() const { return workloads_; }
  int64_t losses() const { return losses_; }
  int64_t process_id() const { return process_->id(); }
  void replace() { start(); }

  std::variant<CandidateId, Failure> compile(const Candidate& candidate) {
    const CandidateId id = new_id();
    auto answer = ask(introduction("compile", id, candidate));
    if (const Loss* loss = std::get_if<Loss>(&answer)) {
      require(loss->candidate == id, "workload {} cannot be checked: {}", candidate.workload,
              loss->failure.detail);
      return loss->failure;
    }
    const std::vector<FailedCandidate> failed = failed_of(std::get<Json>(answer).at("failed"));
    if (!failed.empty()) return failed[0].failure;
    known_[id] = {candidate, true};
    return id;
  }

  CandidateId adopt(const Candidate& candidate) {
    const CandidateId id = new_id();
    known_[id] = {candidate, false};
    return id;
  }

  PassesResult passes(const std::vector<Assignment>& assignments,
                      const std::vector<double>& limits_ns) {
    std::set<CandidateId> about;
    for (const Assignment& assignment : assignments) {
      about.insert(assignment.workloads.begin(), assignment.workloads.end());
      about.insert(assignment.plan);
    }
    auto answer = ask(
        {{"do", "passes"}, {"assignments", to_json(assignments)}, {"limits_ns", limits_ns}}, about);
    if (const Loss* loss = std::get_if<Loss>(&answer)) return {{}, {forgotten(*loss)}};
    PassesResult result = passes_of(std::get<Json>(answer));
    for (const FailedCandidate& failed : result.failed) known_.erase(failed.candidate);
    return result;
  }

  AloneResult alone(int workload, const std::vector<CandidateId>& order, Caches caches,
                    double limit_ns) {
    auto answer = ask({{"do", "alone"},
                       {"workload", workload},
                       {"order", order},
                       {"cold", caches == Caches::cold},
                       {"limit_ns", limit_ns}},
                      {order.begin(), order.end()});
    if (const Loss* loss = std::get_if<Loss>(&answer)) return {{}, {forgotten(*loss)}};
    AloneResult result = alone_result_of(std::get<Json>(answer));
    for (const FailedCandidate& failed : result.failed) known_.erase(failed.candidate);
    return result;
  }

  std::vector<std::vector<double>> time_tasks(const std::vector<std::string>& workloads,
                                              int rounds) {
    auto answer = ask({{"do", "time_tasks"}, {"workloads", workloads}, {"rounds", rounds}});
    if (std::holds_alternative<Loss>(answer)) {
      return std::vector<std::vector<double>>(workloads.size());
    }
    return std::get<Json>(answer).at("ns");
  }

 private:
  struct Known {
    Candidate candidate;
    bool introduced = false;  // to the current process
  };

  CandidateId new_id() { return static_cast<CandidateId>(++ids_); }

  static Json introduction(const char* what, CandidateId id, const Candidate& candidate) {
    return {{"do", what},
            {"candidate", id},
            {"workload", candidate.workload},
            {"choice", candidate.choice}};
  }

  void start() {
    process_.reset();
    for (auto& [id, known] : known_) known.introduced = false;
    process_ = std::make_unique<WorkerProcess>(options_.program, target_.model);
    Json request = to_json(target_);
    request["do"] = "open";
    request["cpus"] = options_.cpus;
    request["memory_bytes"] = options_.memory_bytes;
    request["refuse_spills"] = options_.refuse_spills;
    auto answer = exchange(request);
    if (const Loss* loss = std::get_if<Loss>(&answer)) {
      fail("a worker process cannot open it: {}", loss->failure.detail);
    }
    std::vector<OpenWorkload> opened = workloads_of(std::get<Json>(answer).at("workloads"));
    if (workloads_.empty()) {
      workloads_ = std::move(opened);
      return;
    }
    // Callers keep references to the workloads of the first process.
    const bool same =
        std::equal(workloads_.begin(), workloads_.end(), opened.begin(), opened.end(),
                   [](const OpenWorkload& a, const OpenWorkload& b) { return a.text == b.text; });
    require(same, "'{}' has changed since the job began", target_.model.string());
  }

  // Sends the process the candidates that it does not know yet: those of a process that it
  // replaced, or of another Worker.
  std::optional<Loss> introduce(const std::set<CandidateId>& candidates) {
    for (const CandidateId id : candidates) {
      if (id == CandidateId::baseline) continue;
      const auto found = known_.find(id);
      require(found != known_.end(), "candidate {} is unknown or has failed", id);
      Known& known = found->second;
      if (known.introduced) continue;
      auto answer = exchange(introduction("adopt", id, known.candidate));
      if (const Loss* loss = std::get_if<Loss>(&answer)) return *loss;
      known.introduced = true;
    }
    return std::nullopt;
  }

  FailedCandidate forgotten(const Loss& loss) {
    known_.erase(loss.candidate);
    return {loss.candidate, loss.failure};
  }

  // Sends a request and returns its answer, after introducing the candidates that it is about. A
  // lost process is replaced; if it was killed while no candidate was active, the request is
  // repeated.
  std::variant<Json, Loss> ask(const Json& request, const std::set<CandidateId>& about = {}) {
    constexpr int kMostKills = 3;
    for (int kills = 1;; ++kills) {
      const std::optional<Loss> early = introduce(about);
      std::variant<Json, Loss> answer =
          early ? std::variant<Json, Loss>(*early) : exchange(request);
      if (process_alive_) return answer;
      ++losses_;
      const Loss& loss = std::get<Loss>(answer);
      known_.erase(loss.candidate);
      start();
      const bool nobodys_fault =
          loss.candidate == CandidateId::baseline && loss.failure.cause == Cause::killed;
      if (!nobodys_fault || kills == kMostKills) return answer;
    }
  }

  double seconds_for(Phase phase) const {
    switch (phase) {
      case Phase::opening: return options_.open_seconds;
      case Phase::compiling: return options_.compile_seconds;
      default: return options_.run_seconds;
    }
  }

  // One message and its answer. Throws Error if the worker reports the request as invalid.
  std::variant<Json, Loss> exchange(const Json& request) {
    process_alive_ = true;
    const bool written = process_->lines().write(request);
    std::string line;
    if (!written || !wait_for(line)) {
      process_alive_ = false;
      return loss();
    }
    Json answer = Json::parse(line, nullptr, false);
    if (answer.is_discarded() || !answer.is_object()) {
      process_alive_ = false;
      return Loss{process_->page().candidate.load(),
                  {Cause::crash, "its answer cannot be understood"}};
    }
    if (answer.contains("error")) fail("{}", answer.at("error").get<std::string>());
    if (!answer.contains("lost")) return answer;
    const FailedCandidate failed = failed_of(answer.at("lost")).at(0);
    return Loss{failed.candidate, failed.failure};
  }

  // Waits for an answer. False if the process died, or made no progress within the deadline of its
  // phase; then it is killed.
  bool wait_for(std::string& line) {
    const WorkerPage& page = process_->page();
    timed_out_ = false;
    const double slice =
        std::min({options_.open_seconds, options_.compile_seconds, options_.run_seconds});
    const int slice_ms =
        static_cast<int>(std::clamp(slice * 1e3, 1.0, double{std::numeric_limits<int>::max()}));
    uint64_t beats = page.beats.load();
    double since_ns = steady_ns();
    for (;;) {
      const Lines::Read read = process_->lines().read(line, slice_ms);
      if (read != Lines::Read::nothing_yet) return read == Lines::Read::line;
      const uint64_t now = page.beats.load();
      if (now != beats) {
        beats = now;
        since_ns = steady_ns();
      } else if ((steady_ns() - since_ns) / 1e9 >= seconds_for(page.phase.load())) {
        timed_out_ = true;
        process_->kill();
        return false;
      }
    }
  }

  // Determines the cause of a loss from the page, the signal and the error stream.
  Loss loss() {
    const WorkerPage& page = process_->page();
    const Phase phase = page.phase.load();
    const CandidateId candidate = page.candidate.load();
    const int signal = process_->ended_by();
    if (timed_out_) {
      return {candidate,
              {Cause::time_out, fmt::format("no progress for {} s", seconds_for(phase))}};
    }
    if (page.strayed.load()) return {candidate, {Cause::out_of_bounds, to_string(page.stray)}};
    if (signal == SIGKILL) {
      return {candidate, {Cause::killed, "the worker process was killed"}};
    }
    std::string detail = signal != 0 ? fmt::format("signal {} ({})", signal, strsignal(signal))
                                     : "the worker process ended";
    const std::string words = process_->stderr_tail();
    if (!words.empty()) detail += ": " + words;
    return {candidate, {Cause::crash, Error(detail).what()}};
  }

  WorkerTarget target_;
  WorkerOptions options_;
  std::unique_ptr<WorkerProcess> process_;
  bool process_alive_ = true;
  bool timed_out_ = false;
  std::vector<OpenWorkload> workloads_;
  std::map<CandidateId, Known> known_;
  int ids_ = 0;  // assigned so far
  int64_t losses_ = 0;
};

Worker::Worker(WorkerTarget target, WorkerOptions options)
    : client_(std::make_unique<Client>(std::move(target), std::move(options))) {}
Worker::~Worker() = default;

const std::vector<OpenWorkload>& Worker::workloads() const { return client_->workloads(); }
std::variant<CandidateId, Failure> Worker::compile(const Candidate& candidate) {
  return client_->compile(candidate);
}
CandidateId Worker::adopt(const Candidate& candidate) { return client_->adopt(candidate); }
PassesResult Worker::passes(const std::vector<Assignment>& assignments,
                            const std::vector<double>& limits_ns) {
  return client_->passes(assignments, limits_ns);
}
AloneResult Worker::alone(int workload, const std::vector<CandidateId>& order, Caches caches,
                          double limit_ns) {
  return client_->alone(workload, order, caches, limit_ns);
}
std::vector<std::vector<double>> Worker::time_tasks(const std::vector<std::string>& workloads,
                                                    int rounds) {
  return client_->time_tasks(workloads, rounds);
}
void Worker::replace() { client_->replace(); }
int64_t Worker::losses() const { return client_->losses(); }
int64_t Worker::process_id() const { return client_->process_id(); }

}  // namespace aoe

#include "measure/worker/worker_main.h"

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>
#include <utility>

#include "base/error.h"
#include "device/system_text.h"
#include "measure/worker/worker_messages.h"
#include "measure/worker/worker_session.h"

namespace aoe {
namespace {

WorkerPage* page_of_this = nullptr;

// Signal handler: records which guarded memory the faulting address belongs to, then lets the
// signal end the process by its default action.
void record_stray(int signal, siginfo_t* info, void*) {
  if (stray_at(info->si_addr, page_of_this->stray)) page_of_this->strayed.store(true);
  ::signal(signal, SIG_DFL);
  if (info->si_code <= 0) raise(signal);  // sent by kill(): returning would not repeat it
}

void install_fault_handler() {
  struct sigaction action = {};
  action.sa_sigaction = record_stray;
  action.sa_flags = SA_SIGINFO;
  for (const int fault : {SIGSEGV, SIGBUS}) sigaction(fault, &action, nullptr);
}

// Exits the process when the client closes the socket. A separate thread waits for that, so that
// neither an endless loop nor a long computation outlives the client. PR_SET_PDEATHSIG is no
// alternative: it fires when the thread that started this process ends.
void end_with(int socket) {
  std::thread([socket] {
    pollfd ended{socket, POLLRDHUP, 0};
    while ((ended.revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL)) == 0) poll(&ended, 1, -1);
    _exit(0);
  }).detach();
}

void leave_no_core_file() {
  constexpr rlimit kNone{0, 0};
  setrlimit(RLIMIT_CORE, &kNone);
  prctl(PR_SET_DUMPABLE, 0);  // the limit does not apply where cores are piped to a program
}

// Limits the address space to `more` bytes beyond what is in use now.
void limit_memory(int64_t more) {
  const std::vector<std::string> pages = split_text(read_system_text("/proc/self/statm"), ' ');
  require(!pages.empty(), "/proc/self/statm cannot be read");
  const auto used = std::stoull(pages[0]) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const rlimit limit{used + static_cast<uint64_t>(more), used + static_cast<uint64_t>(more)};
  setrlimit(RLIMIT_AS, &limit);
}

void stay_on(const std::vector<int>& cpus) {
  if (cpus.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) CPU_SET(cpu, &set);
  require(sched_setaffinity(0, sizeof set, &set) == 0,
          "the worker cannot run on the processors it was given");
}

// Dispatches the requests of one client to the session.
class Requests {
 public:
  Requests(WorkerPage& page, std::filesystem::path model,
           const std::shared_ptr<const Backend>& backend)
      : page_(page), model_(std::move(model)), backend_(backend) {
    if (const char* faults = std::getenv("AOE_INJECT_FAULT")) faults_ = parse_faults(faults);
  }

  Json answer(const Json& request) {
    const auto what = request.at("do").get<std::string>();
    if (what == "open") return open(request);
    require(session_ != nullptr, "nothing is open");
    if (what == "compile") {
      const CandidateId id = request.at("candidate");
      std::vector<FailedCandidate> failed;
      if (auto failure = session_->compile(id, candidate_of(request))) {
        failed.push_back({id, std::move(*failure)});
      }
      return {{"failed", to_json(failed)}};
    }
    if (what == "adopt") {
      session_->adopt(request.at("candidate"), candidate_of(request));
      return Json::object();
    }
    if (what == "passes") {
      return to_json(
          session_->passes(assignments_of(request.at("assignments")), request.at("limits_ns")));
    }
    if (what == "time_tasks") {
      return {{"ns", session_->time_tasks(request.at("workloads"), request.at("rounds"))}};
    }
    require(what == "alone", "'{}' is no request", what);
    return to_json(session_->alone(request.at("workload"), request.at("order"),
                                   request.at("cold") ? Caches::cold : Caches::hot,
                                   request.at("limit_ns")));
  }

 private:
  static Candidate candidate_of(const Json& request) {
    return {request.at("workload"), request.at("choice")};
  }

  Json open(const Json& request) {
    stay_on(request.at("cpus"));
    WorkerTarget target = target_of(request);
    target.model = model_;
    session_ = std::make_unique<WorkerSession>(target, request.at("refuse_spills"), faults_, page_,
                                               backend_);
    limit_memory(request.at("memory_bytes"));
    return {{"workloads", to_json(session_->workloads())}};
  }

  WorkerPage& page_;
  std::filesystem::path model_;
  std::shared_ptr<const Backend> backend_;
  std::vector<InjectedFault> faults_;
  std::unique_ptr<WorkerSession> session_;
};

// The answer to a request that failed: "lost" if a candidate was active, otherwise "error".
Json given_up(const Failure& failure) {
  const CandidateId candidate = page_of_this->candidate.load();
  if (candidate == CandidateId::baseline) return {{"error", failure.detail}};
  return {{"lost", to_json(std::vector<FailedCandidate>{{candidate, failure}})}};
}

}  // namespace

int run_worker(int socket, int page, const std::filesystem::path& model,
               const std::shared_ptr<const Backend>& backend) {
  void* const shared =
      mmap(nullptr, sizeof(WorkerPage), PROT_READ | PROT_WRITE, MAP_SHARED, page, 0);
  require(shared != MAP_FAILED, "aoe worker is started by aoe itself, not by hand");
  page_of_this = static_cast<WorkerPage*>(shared);
  leave_no_core_file();
  install_fault_handler();
  end_with(socket);
  // Ctrl-C at the terminal also reaches workers, but is for the client, which closes the socket.
  signal(SIGINT, SIG_IGN);
  Lines lines(socket);
  Requests requests(*page_of_this, model, backend);
  for (std::string line; lines.read(line, -1) != Lines::Read::end;) {
    if (line.empty()) continue;
    Json answer;
    try {
      answer = requests.answer(Json::parse(std::exchange(line, {})));
    } catch (const CandidateStopped& stopped) {
      answer = given_up(stopped.failure);
    } catch (const std::bad_alloc&) {
      answer = given_up({Cause::out_of_memory, "the memory of the worker does not suffice"});
    } catch (const std::exception& error) {
      answer = given_up({Cause::wrong_result, error.what()});
    }
    page_of_this->enter(WorkerPage::Phase::waiting);
    if (!lines.write(answer)) break;
  }
  return 0;
}

}  // namespace aoe

#include "measure/worker/worker_messages.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cmath>
#include <limits>

#include "base/error.h"

namespace aoe {
namespace {

// NaN becomes null, because JSON has no NaN.
Json numbers(const std::vector<double>& values) {
  Json list = Json::array();
  for (const double value : values) list.push_back(std::isnan(value) ? Json() : Json(value));
  return list;
}

std::vector<double> numbers_of(const Json& list) {
  std::vector<double> values;
  for (const Json& value : list) {
    values.push_back(value.is_null() ? std::numeric_limits<double>::quiet_NaN()
                                     : value.get<double>());
  }
  return values;
}

}  // namespace

Json to_json(const WorkerTarget& target) {
  return {{"workload", target.workload},
          {"input_shapes", target.input_shapes},
          {"threads", target.threads},
          {"kernels", target.kernels},
          {"impl", {target.impl.mode, target.impl.op_types, target.impl.allow_strassen}}};
}

WorkerTarget target_of(const Json& json) {
  WorkerTarget target;
  json.at("workload").get_to(target.workload);
  json.at("input_shapes").get_to(target.input_shapes);
  json.at("threads").get_to(target.threads);
  json.at("kernels").get_to(target.kernels);
  const Json& impl = json.at("impl");
  target.impl = {impl.at(0), impl.at(1), impl.at(2)};
  return target;
}

Json to_json(const std::vector<OpenWorkload>& workloads) {
  Json list = Json::array();
  for (const OpenWorkload& workload : workloads) {
    Json nodes = Json::array();
    for (const auto& [name, type] : workload.nodes) nodes.push_back({name, type});
    list.push_back({{"text", workload.text},
                    {"policy", workload.policy},
                    {"uses", workload.uses},
                    {"nodes", std::move(nodes)},
                    {"baseline_ns", workload.baseline_ns},
                    {"numerics", workload.numerics}});
  }
  return list;
}

std::vector<OpenWorkload> workloads_of(const Json& json) {
  std::vector<OpenWorkload> workloads;
  for (const Json& item : json) {
    OpenWorkload& workload = workloads.emplace_back();
    item.at("text").get_to(workload.text);
    item.at("policy").get_to(workload.policy);
    item.at("uses").get_to(workload.uses);
    for (const Json& node : item.at("nodes")) workload.nodes.push_back({node.at(0), node.at(1)});
    item.at("baseline_ns").get_to(workload.baseline_ns);
    item.at("numerics").get_to(workload.numerics);
  }
  return workloads;
}

Json to_json(const std::vector<FailedCandidate>& failed) {
  Json list = Json::array();
  for (const auto& [candidate, failure] : failed) {
    list.push_back(
        {{"candidate", candidate}, {"cause", name(failure.cause)}, {"detail", failure.detail}});
  }
  return list;
}

std::vector<FailedCandidate> failed_of(const Json& json) {
  std::vector<FailedCandidate> failed;
  for (const Json& item : json) {
    const auto cause = cause_named(item.at("cause").get<std::string>());
    require(cause.has_value(), "an unknown cause of failure");
    failed.push_back({item.at("candidate"), {*cause, item.at("detail")}});
  }
  return failed;
}

Json to_json(const std::vector<Assignment>& assignments) {
  Json list = Json::array();
  for (const Assignment& assignment : assignments) {
    Json& one = list.emplace_back(Json::array({assignment.plan}));
    for (const CandidateId id : assignment.workloads) one.push_back(id);
  }
  return list;
}

std::vector<Assignment> assignments_of(const Json& json) {
  std::vector<Assignment> assignments;
  for (const Json& one : json) {
    const std::vector<CandidateId> all = one;
    require(!all.empty(), "an assignment names no plan");
    assignments.push_back({{all.begin() + 1, all.end()}, all[0]});
  }
  return assignments;
}

Json to_json(const PassesResult& result) {
  Json passes = Json::array();
  for (const Pass& pass : result.passes) {
    passes.push_back({{"total_ns", pass.total_ns}, {"workload_ns", numbers(pass.workload_ns)}});
  }
  return {{"passes", std::move(passes)}, {"failed", to_json(result.failed)}};
}

PassesResult passes_of(const Json& json) {
  PassesResult result;
  for (const Json& pass : json.at("passes")) {
    result.passes.push_back({pass.at("total_ns"), numbers_of(pass.at("workload_ns"))});
    for (const double ns : result.passes.back().workload_ns) {
      require(std::isnan(ns) || ns >= 0, "a time of {} ns", ns);
    }
  }
  result.failed = failed_of(json.at("failed"));
  return result;
}

Json to_json(const AloneResult& result) {
  return {{"ns", numbers(result.ns)}, {"failed", to_json(result.failed)}};
}

AloneResult alone_result_of(const Json& json) {
  return {numbers_of(json.at("ns")), failed_of(json.at("failed"))};
}

bool Lines::write(const Json& message) const {
  // Names in a model may be any bytes. Invalid UTF-8 is replaced: names are only displayed.
  const std::string line = message.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
  for (size_t at = 0; at < line.size();) {
    const ssize_t sent = send(descriptor_, line.data() + at, line.size() - at, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    at += static_cast<size_t>(sent);
  }
  return true;
}

Lines::Read Lines::read(std::string& line, int milliseconds) {
  for (;;) {
    if (const size_t end = pending_.find('\n'); end != pending_.npos) {
      line = pending_.substr(0, end);
      pending_.erase(0, end + 1);
      return Read::line;
    }
    pollfd ready{descriptor_, POLLIN, 0};
    const int count = poll(&ready, 1, milliseconds);
    if (count == 0 || (count < 0 && errno == EINTR)) return Read::nothing_yet;
    char part[1 << 16];
    const ssize_t size = count < 0 ? -1 : recv(descriptor_, part, sizeof part, 0);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return Read::end;
    pending_.append(part, static_cast<size_t>(size));
  }
}

}  // namespace aoe

#pragma once

#include <filesystem>
#include <memory>

#include "backend/backend.h"

namespace aoe {

// The worker process of a Worker: answers requests on the socket until it is closed. `page` is the
// descriptor of a WorkerPage; `model` may be empty; `backend` is the host's.
//
// The process limits its memory, leaves no core file, and exits as soon as the other end of the
// socket is closed, even in the middle of a request.
int run_worker(int socket, int page, const std::filesystem::path& model,
               const std::shared_ptr<const Backend>& backend);

}  // namespace aoe

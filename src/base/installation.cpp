#include "base/installation.h"

#include <dlfcn.h>

namespace aoe {

std::filesystem::path installation_folder() {
  Dl_info info = {};
  if (dladdr(reinterpret_cast<const void*>(&installation_folder), &info) == 0) return {};
  std::error_code error;
  // For a program, dli_fname is argv[0]: possibly a link, or a bare name that PATH resolved.
  const std::filesystem::path name = info.dli_fname;
  const std::filesystem::path file = std::filesystem::canonical(
      name.has_parent_path() ? name : std::filesystem::path("/proc/self/exe"), error);
  return error ? std::filesystem::path() : file.parent_path();
}

}  // namespace aoe

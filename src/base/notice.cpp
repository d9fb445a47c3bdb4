#include "base/notice.h"

#include <cstdio>

#include "base/error.h"

namespace aoe {

void notice(const std::string& line) { fmt::print(stderr, "aoe: {}\n", Error(line).what()); }

}  // namespace aoe

#pragma once

#include <filesystem>

namespace aoe {

// The folder of the program or library that this code is part of: what is shipped beside it is
// there. Empty where the system does not tell.
std::filesystem::path installation_folder();

}  // namespace aoe

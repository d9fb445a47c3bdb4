#pragma once

#include <filesystem>

namespace aoe {

// Returns the folder of the program or library that contains this code; files shipped with it are
// beside it. Empty if the system does not report it.
std::filesystem::path installation_folder();

}  // namespace aoe

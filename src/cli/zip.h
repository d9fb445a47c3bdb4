#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace aoe {

// Fails, without naming it, unless there is such a file.
void require_file(const std::filesystem::path& file);

// Every entry of a zip file, by name, unpacked.
std::map<std::string, std::string> read_zip(const std::filesystem::path& file);

// Entries are stored, not compressed, as numpy's savez does. Fails without naming the file.
void write_zip(const std::filesystem::path& file,
               const std::map<std::string, std::string>& entries);

}  // namespace aoe

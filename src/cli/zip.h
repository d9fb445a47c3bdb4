#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "base/file.h"

namespace aoe {

// Fails unless it is a regular file. The message does not name it: callers add that.
void require_file(const std::filesystem::path& file);

// All entries of a zip file by name, decompressed.
std::map<std::string, std::string> read_zip(const std::filesystem::path& file);

// Fills a new file with a zip archive whose entries are stored without compression, as numpy's
// savez does. Messages do not name the file: callers add that.
void write_zip(const File& file, const std::map<std::string, std::string>& entries);

}  // namespace aoe

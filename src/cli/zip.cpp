#include "cli/zip.h"

#include <minizip/unzip.h>
#include <minizip/zip.h>

#include <memory>

#include "base/tensor.h"

namespace aoe {
namespace {

struct Close {
  void operator()(unzFile file) const { unzClose(file); }
};

// Reads in pieces, because the size in the zip directory cannot be trusted.
std::string read_entry(unzFile file, int64_t limit) {
  std::string bytes;
  char piece[1 << 16];
  for (;;) {
    const int count = unzReadCurrentFile(file, piece, sizeof piece);
    require(count >= 0, "it is damaged");
    if (count == 0) return bytes;
    bytes.append(piece, static_cast<size_t>(count));
    require(static_cast<int64_t>(bytes.size()) <= limit, "an array in it is too large");
  }
}

}  // namespace

void require_file(const std::filesystem::path& file) {
  std::error_code error;
  require(!std::filesystem::is_directory(file, error), "it is a directory");
  require(std::filesystem::exists(file, error), "there is no such file");
  require(std::filesystem::is_regular_file(file, error), "it is not a regular file");
}

std::map<std::string, std::string> read_zip(const std::filesystem::path& file) {
  try {
    require_file(file);
    const std::unique_ptr<void, Close> zip(unzOpen64(file.c_str()));
    require(zip != nullptr, "it is not an .npz file, or it is damaged");
    std::map<std::string, std::string> entries;
    for (int status = unzGoToFirstFile(zip.get()); status != UNZ_END_OF_LIST_OF_FILE;
         status = unzGoToNextFile(zip.get())) {
      require(status == UNZ_OK, "it is damaged");
      unz_file_info64 entry{};
      char name[4096];
      require(unzGetCurrentFileInfo64(zip.get(), &entry, name, sizeof name, nullptr, 0, nullptr,
                                      0) == UNZ_OK &&
                  unzOpenCurrentFile(zip.get()) == UNZ_OK,
              "it is damaged");
      // A name that does not fit is not terminated.
      require(entry.size_filename < sizeof name, "the name of an array in it is too long");
      entries[name] = read_entry(zip.get(), tensor_limit());
      require(unzCloseCurrentFile(zip.get()) == UNZ_OK, "it is damaged: a checksum is wrong");
    }
    return entries;
  } catch (const Error& error) {
    throw error.within(fmt::format("file '{}'", file.string()));
  }
}

void write_zip(const File& file, const std::map<std::string, std::string>& entries) {
  const zipFile zip = zipOpen64(name_in_proc(file).c_str(), APPEND_STATUS_CREATE);
  require(zip != nullptr, "it cannot be created");
  bool good = true;
  for (const auto& [name, bytes] : entries) {
    const zip_fileinfo when{};
    // The last argument allows entries of 4 GB and more.
    good = good && zipOpenNewFileInZip64(zip, name.c_str(), &when, nullptr, 0, nullptr, 0, nullptr,
                                         0, 0, 1) == ZIP_OK;
    constexpr size_t kPiece = size_t{1} << 30;
    for (size_t at = 0; good && at < bytes.size(); at += kPiece) {
      const auto count = static_cast<unsigned>(std::min(kPiece, bytes.size() - at));
      good = zipWriteInFileInZip(zip, bytes.data() + at, count) == ZIP_OK;
    }
    good = good && zipCloseFileInZip(zip) == ZIP_OK;
  }
  good = zipClose(zip, nullptr) == ZIP_OK && good;
  require(good, "it cannot be written; is the disk full?");
}

}  // namespace aoe

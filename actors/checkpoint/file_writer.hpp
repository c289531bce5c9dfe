// Files that reach the disk whole or fail with an error: written, hashed, synced. Internal to checkpoints.
//
// Threads: one at a time. Errors: errc::io with file, reason and advice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/base/error.hpp"

namespace troupe {

// "FILE: cannot be WHAT: REASON", and what to do about the reason: "; free some space". `instead`, "another folder", is what
// else helps: " or choose INSTEAD".
error file_error(const std::filesystem::path& file, std::string_view what, int error_number,
                 std::string_view instead = {});

// SHA-256 of bytes added in pieces.
class sha256 {
  public:
    sha256();
    ~sha256();
    void add(std::span<const std::byte> bytes);
    std::string hex(); // 64 digits; the object cannot be used after it

  private:
    struct state;
    std::unique_ptr<state> state_;
};

struct written_file {
    std::uint64_t bytes = 0;
    std::string sha256;
};

// A file to create, its name in errors, and the alternative that errors suggest, if there is one.
struct output_file {
    std::filesystem::path path;
    std::filesystem::path shown;
    std::string_view instead = {};
};

// Creates the file, which must not exist, writes the pieces in order and syncs it. After a failure the caller removes the
// file.
result<written_file> write_file(const output_file& file,
                                std::span<const std::span<const std::byte>> pieces);

// Syncs a file that somebody else has written, or a folder: files created, renamed or deleted in it become durable.
result<void> sync_file(const std::filesystem::path& file);
result<void> sync_folder(const std::filesystem::path& folder);

// Reads a whole regular file of at most `bytes_max`. errc::data "FILE: ..." if it is larger.
result<std::vector<std::byte>> read_file(const std::filesystem::path& file,
                                         std::uint64_t bytes_max);

} // namespace troupe

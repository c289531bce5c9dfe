// Files that either reach the disk whole or are reported: written, hashed, synced. Internal to checkpoints.
//
// Threads: one at a time. Errors: errc::io with file, reason and what to do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schemas/base/error.hpp"

namespace troupe {

// An open file descriptor, closed at the end.
class file_handle {
  public:
    file_handle() noexcept = default;
    explicit file_handle(int descriptor) noexcept : descriptor_{descriptor} {}
    file_handle(file_handle&& other) noexcept : descriptor_{std::exchange(other.descriptor_, -1)} {}
    file_handle& operator=(file_handle&& other) noexcept {
        std::swap(descriptor_, other.descriptor_);
        return *this;
    }
    ~file_handle();

    int get() const noexcept { return descriptor_; }

  private:
    int descriptor_ = -1;
};

// "FILE: cannot be WHAT: REASON"
// Where there is no space: "; free some space or choose INSTEAD".
error file_error(const std::filesystem::path& file, std::string_view what, int error_number,
                 std::string_view instead = "another checkpoint.directory");

// SHA-256 of bytes that come in pieces.
class sha256 {
  public:
    sha256();
    ~sha256();
    void add(std::span<const std::byte> bytes);
    std::string hex(); // 64 digits; the end of the object's use

  private:
    struct state;
    std::unique_ptr<state> state_;
};

struct written_file {
    std::uint64_t bytes = 0;
    std::string sha256;
};

// A file to make, what errors call it, and what else they tell the user to choose where there is no space.
struct output_file {
    std::filesystem::path path;
    std::filesystem::path shown;
    std::string_view instead;
};

// Makes the file, which must not exist, writes the pieces one after the other and syncs it. What a failed call wrote
// stays for the caller to remove.
result<written_file> write_file(const output_file& file,
                                std::span<const std::span<const std::byte>> pieces);

// Makes the names in a folder durable: what was made, renamed or deleted in it.
result<void> sync_folder(const std::filesystem::path& folder);

// A whole regular file of at most `bytes_max`. errc::data "FILE: ..." if it is larger.
result<std::vector<std::byte>> read_file(const std::filesystem::path& file,
                                         std::uint64_t bytes_max);

} // namespace troupe

// A data file, plain or gzip, read from start to end.
//
// Errors: errc::io if the file cannot be read; errc::data "FILE: byte OFFSET: SENTENCE" for anything else. For gzip the
// offset counts decompressed bytes. A size claimed by a header is checked by can_hold() before memory is allocated for it.
//
// Threads: each object belongs to one thread at a time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/base/error.hpp"

namespace troupe {

// A source of bytes, compressed or not.
class byte_source {
  public:
    virtual ~byte_source() = default;

    // Reads up to into.size() bytes; 0 at the end. errc::data: damaged; errc::io: a system call failed.
    virtual result<std::size_t> read(std::span<std::uint8_t> into) = 0;
    // True if `bytes` bytes can follow the first `offset`, as far as the stored length tells.
    virtual bool can_hold(std::uint64_t offset, std::uint64_t bytes) const noexcept = 0;
};

// The length of a regular file; an error if it is none.
result<std::uint64_t> file_length(const std::filesystem::path& path);

// The first `bytes` bytes of a file, unpacked, or as many as can be read, whatever it is. Errors: as file_length().
result<std::string> beginning_of(const std::filesystem::path& path, std::size_t bytes);

class input_file {
  public:
    // Files of formats that nothing here reads (foreign_file.hpp) are refused with what they are.
    static result<input_file> open(const std::filesystem::path& path);
    // Reads another source than a file of its own; `name` stands for it in messages.
    input_file(std::string name, std::unique_ptr<byte_source> source)
        : name_{std::move(name)}, source_{std::move(source)} {}

    // Reads up to into.size() bytes; 0 at the end.
    result<std::size_t> read_some(std::span<std::uint8_t> into);
    // Fills `into`; an error says where the file ends.
    result<void> read(std::span<std::uint8_t> into, std::string_view what);
    // Reads all bytes that follow.
    result<std::vector<std::uint8_t>> read_rest();
    // Fails if bytes follow. For gzip this also checks the checksum at the end.
    result<void> expect_end();

    // Reads `bytes` bytes of `what`. Errors: the header claims more than a data set may have or the file can hold, or there
    // is no memory for it.
    result<std::vector<std::uint8_t>> read_claimed(std::uint64_t bytes, std::string_view what);
    // The checks of read_claimed() without reading.
    result<void> check_claim(std::uint64_t bytes, std::string_view what) const;
    // True if `bytes` bytes can follow, as far as the stored length tells.
    bool can_hold(std::uint64_t bytes) const noexcept { return source_->can_hold(offset_, bytes); }

    error fail(std::uint64_t offset, std::string_view sentence) const;
    std::uint64_t offset() const noexcept { return offset_; }
    const std::string& name() const noexcept { return name_; }

  private:
    std::string name_;
    std::unique_ptr<byte_source> source_;
    std::uint64_t offset_ = 0; // in decompressed bytes
};

struct whole_file {
    input_file in; // for error messages
    std::vector<std::uint8_t> bytes;
};
result<whole_file> read_whole(const std::filesystem::path& path);

} // namespace troupe

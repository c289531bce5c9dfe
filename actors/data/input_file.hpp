// A data file, plain or gzip, read from front to back.
//
// Errors: errc::io if the file cannot be read; errc::data "FILE: byte OFFSET: SENTENCE" for anything else. For gzip the
// offset counts decompressed bytes. A size that a header claims is believed only as far as can_hold() says, before memory
// is taken for it.
//
// Threads: an object belongs to one at a time.
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

// Where bytes come from, packed or not.
class byte_source {
  public:
    virtual ~byte_source() = default;

    // At most so many bytes; 0 at the end. errc::data: damaged; errc::io: the system says no.
    virtual result<std::size_t> read(std::span<std::uint8_t> into) = 0;
    // Whether so many bytes can follow the first `offset`, as far as the stored length tells.
    virtual bool can_hold(std::uint64_t offset, std::uint64_t bytes) const noexcept = 0;
};

// The length of an ordinary file, or why it is none.
result<std::uint64_t> file_length(const std::filesystem::path& path);

class input_file {
  public:
    static result<input_file> open(const std::filesystem::path& path);
    // Of another source than a file of its own; `name` stands for it in messages.
    input_file(std::string name, std::unique_ptr<byte_source> source)
        : name_{std::move(name)}, source_{std::move(source)} {}

    // Reads all of `into`, or says where the file ends.
    result<void> read(std::span<std::uint8_t> into, std::string_view what);
    // All that follows.
    result<std::vector<std::uint8_t>> read_rest();
    // Nothing may follow. For gzip this also checks the sum at the end.
    result<void> expect_end();

    // So many bytes for `what`. Errors: the header claims more than a data set may have or the file can hold, or there is no
    // memory for it.
    result<std::vector<std::uint8_t>> read_claimed(std::uint64_t bytes, std::string_view what);
    // The same without reading.
    result<void> check_claim(std::uint64_t bytes, std::string_view what) const;

    error fail(std::uint64_t offset, std::string_view sentence) const;
    std::uint64_t offset() const noexcept { return offset_; }
    const std::string& name() const noexcept { return name_; }

  private:
    result<std::size_t> read_some(std::span<std::uint8_t> into);

    std::string name_;
    std::unique_ptr<byte_source> source_;
    std::uint64_t offset_ = 0; // of unpacked bytes
};

struct whole_file {
    input_file in; // for its messages
    std::vector<std::uint8_t> bytes;
};
result<whole_file> read_whole(const std::filesystem::path& path);

} // namespace troupe

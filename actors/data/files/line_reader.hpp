// The lines of a text file, plain or gzip, from first to last.
//
// Errors: errc::data "FILE: line N: SENTENCE", N from 1; those of input_file.hpp where it cannot be read.
// Threads: each object belongs to one thread at a time.
#pragma once

#include <optional>

#include "actors/data/files/input_file.hpp"

namespace troupe {

class line_reader {
  public:
    static result<line_reader> open(const std::string& path);
    explicit line_reader(input_file in) : in_{std::move(in)} {}

    // The next line without its end, "\n" or "\r\n", and without the byte order mark that may begin a file; valid until the
    // next call. None after the last line. Lines with NUL bytes are refused, and so are files in UTF-16, and those whose
    // lines end by "\r" alone, unless their lines count for nothing.
    result<std::optional<std::string_view>> next();
    // The next line that has more than blanks and tabs, without those around it.
    result<std::optional<std::string_view>> next_filled();

    // The file is one text, in which ends of lines are blanks.
    void ignore_line_ends() noexcept { lines_matter_ = false; }

    // True if `bytes` bytes can follow the last line, as far as the file's length tells.
    bool can_hold(std::uint64_t bytes) const noexcept;
    // At the line that was read last.
    error fail(std::string_view sentence) const;
    std::uint64_t line() const noexcept { return line_; }
    const std::string& name() const noexcept { return in_.name(); }

  private:
    result<bool> read_more();

    input_file in_;
    std::vector<std::uint8_t> buffer_;
    std::size_t first_ = 0; // of what has been read and not given yet
    std::size_t end_ = 0;
    std::uint64_t line_ = 0;
    bool lines_matter_ = true;
};

// Gives each line that follows to `take`, which says why it cannot be taken, and what to do, or nothing.
template <class Take>
result<void> for_each_line(line_reader& lines, Take take) {
    for (;;) {
        const auto line = lines.next();
        if (!line)
            return line.failure();
        if (!*line)
            return {};
        if (const std::string why = take(**line); !why.empty())
            return lines.fail(why);
    }
}

} // namespace troupe

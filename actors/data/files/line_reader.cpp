#include "actors/data/files/line_reader.hpp"

#include <algorithm>
#include <cstring>

#include "actors/data/files/text_number.hpp"
#include "schemas/base/limits.hpp"

namespace troupe {

namespace {

constexpr std::size_t buffer_bytes_min = 1u << 18;
constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
constexpr std::string_view to_utf8 = "convert it by iconv -f UTF-16 -t UTF-8";

} // namespace

result<line_reader> line_reader::open(const std::string& path) {
    auto in = input_file::open(path);
    if (!in)
        return in.failure();
    return line_reader{std::move(*in)};
}

error line_reader::fail(std::string_view sentence) const {
    std::string message =
        name() + ": line " + std::to_string(std::max<std::uint64_t>(line_, 1)) + ": ";
    return {errc::data, message.append(sentence)};
}

bool line_reader::can_hold(std::uint64_t bytes) const noexcept {
    const std::uint64_t read = end_ - first_;
    return bytes <= read || in_.can_hold(bytes - read);
}

// Reads behind what is in the buffer; false at the end of the file.
result<bool> line_reader::read_more() {
    if (first_ > 0) {
        std::memmove(buffer_.data(), buffer_.data() + first_, end_ - first_);
        end_ -= first_;
        first_ = 0;
    }
    if (end_ == buffer_.size()) {
        if (end_ >= limits::text_line_bytes_max) {
            ++line_;
            return fail("a line of more than " + std::to_string(limits::text_line_bytes_max) +
                        " bytes; is this a text file with a row a line?");
        }
        buffer_.resize(std::max(buffer_bytes_min, 2 * end_));
    }
    const auto got = in_.read_some(std::span{buffer_}.subspan(end_));
    if (!got)
        return got.failure();
    end_ += *got;
    return *got > 0;
}

result<std::optional<std::string_view>> line_reader::next() {
    std::size_t searched = 0; // bytes behind first_ that have no line end
    std::size_t length = 0;
    for (;;) {
        const std::size_t left = end_ - first_;
        const auto* found = left == searched
                                ? nullptr
                                : static_cast<const std::uint8_t*>(std::memchr(
                                      buffer_.data() + first_ + searched, '\n', left - searched));
        if (found != nullptr) {
            length = static_cast<std::size_t>(found - (buffer_.data() + first_));
            break;
        }
        searched = left;
        const auto more = read_more();
        if (!more)
            return more.failure();
        if (!*more) {
            if (left == 0)
                return std::optional<std::string_view>{};
            length = left;
            break;
        }
    }
    const bool is_whole_file =
        line_ == 0 && first_ + length + 1 >= end_ && (first_ + length == end_ || !in_.can_hold(1));
    std::string_view line{reinterpret_cast<const char*>(buffer_.data()) + first_, length};
    first_ = std::min(first_ + length + 1, end_);
    if (++line_ == 1 && line.starts_with(byte_order_mark))
        line.remove_prefix(byte_order_mark.size());
    if (line_ == 1 && (line.starts_with("\xff\xfe") || line.starts_with("\xfe\xff")))
        return fail("the file is in UTF-16; " + std::string{to_utf8});
    if (line.find('\0') != std::string_view::npos)
        return fail("a NUL byte, so that this is no text in UTF-8; if it is in UTF-16, " +
                    std::string{to_utf8} + ", else give a file in a format that is read");
    while (line.ends_with('\r'))
        line.remove_suffix(1);
    if (is_whole_file && lines_matter_ && line.find('\r') != std::string_view::npos)
        return fail("the lines end by carriage returns alone; end them by newlines: "
                    "tr '\\r' '\\n' < FILE > OTHER");
    return std::optional{line};
}

result<std::optional<std::string_view>> line_reader::next_filled() {
    for (;;) {
        const auto line = next();
        if (!line || !*line)
            return line;
        if (const std::string_view text = trimmed(**line); !text.empty())
            return std::optional{text};
    }
}

} // namespace troupe

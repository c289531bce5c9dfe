#include "actors/data/files/input_file.hpp"

#include <algorithm>
#include <new>

#include "actors/data/files/file_source.hpp"
#include "schemas/base/foreign_file.hpp"
#include "schemas/base/limits.hpp"

namespace troupe {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t piece_bytes = 1u << 20; // growth of buffers for data of unknown size

} // namespace

result<std::uint64_t> file_length(const fs::path& path) {
    std::error_code failed;
    const auto status = fs::status(path, failed);
    if (!fs::exists(status))
        return error{errc::io, path.string() + ": no such file"};
    if (fs::is_directory(status))
        return error{errc::io, path.string() + ": a folder, where a file is wanted"};
    if (!fs::is_regular_file(status))
        return error{errc::io, path.string() + ": a pipe or device, not a file; write what it "
                                               "gives to a file first"};
    const std::uint64_t bytes = fs::file_size(path, failed);
    if (failed)
        return error{errc::io, path.string() + ": cannot be read: " + failed.message()};
    return bytes;
}

namespace {

result<std::unique_ptr<byte_source>> open_source(const fs::path& path) {
    const auto stored_bytes = file_length(path);
    if (!stored_bytes)
        return stored_bytes.failure();
    auto source = open_file_source(path, *stored_bytes);
    return source ? std::move(source) : source.failure().in(path.string());
}

} // namespace

result<std::string> beginning_of(const fs::path& path, std::size_t bytes) {
    const auto source = open_source(path);
    if (!source)
        return source.failure();
    std::string text(bytes, '\0');
    std::size_t done = 0;
    while (done < bytes) {
        const auto got =
            (*source)->read({reinterpret_cast<std::uint8_t*>(text.data()) + done, bytes - done});
        if (!got || *got == 0)
            break;
        done += *got;
    }
    text.resize(done);
    return text;
}

result<input_file> input_file::open(const fs::path& path) {
    const auto beginning = beginning_of(path, foreign_beginning_bytes);
    if (!beginning)
        return beginning.failure();
    auto source = open_source(path);
    if (!source)
        return source.failure();
    input_file file{path.string(), std::move(*source)};
    if (const std::string why = why_foreign(*beginning); !why.empty())
        return file.fail(0, why);
    return file;
}

error input_file::fail(std::uint64_t offset, std::string_view sentence) const {
    std::string message = name_ + ": byte " + std::to_string(offset) + ": ";
    return {errc::data, message.append(sentence)};
}

result<std::size_t> input_file::read_some(std::span<std::uint8_t> into) {
    auto got = source_->read(into);
    if (got)
        offset_ += *got;
    else if (got.failure().code() == errc::data)
        return fail(offset_, got.failure().message());
    else
        return got.failure().in(name_);
    return got;
}

result<void> input_file::read(std::span<std::uint8_t> into, std::string_view what) {
    std::size_t done = 0;
    while (done < into.size()) {
        auto got = read_some(into.subspan(done));
        if (!got)
            return got.failure();
        if (*got == 0)
            return fail(offset_, "truncated: " + std::string{what} + " ends after " +
                                     std::to_string(done) + " of " + std::to_string(into.size()) +
                                     " bytes; fetch the file again");
        done += *got;
    }
    return {};
}

result<std::vector<std::uint8_t>> input_file::read_rest() {
    std::vector<std::uint8_t> bytes;
    try {
        for (std::size_t done = 0;;) {
            bytes.resize(std::max(done + piece_bytes, done + done / 2));
            auto got = read_some(std::span{bytes}.subspan(done));
            if (!got)
                return got.failure();
            done += *got;
            if (done > limits::dataset_bytes_max)
                return fail(done, "longer than " + std::to_string(limits::dataset_bytes_max) +
                                      " bytes; cut it into parts");
            if (*got == 0) {
                bytes.resize(done);
                return bytes;
            }
        }
    } catch (const std::bad_alloc&) {
        return error{errc::exhausted, name_ + ": no memory for its contents"};
    }
}

result<void> input_file::expect_end() {
    std::uint8_t extra = 0;
    const std::uint64_t end = offset_;
    const auto got = read_some({&extra, 1});
    if (!got)
        return got.failure();
    if (*got > 0)
        return fail(end, "more data than the header says");
    return {};
}

result<void> input_file::check_claim(std::uint64_t bytes, std::string_view what) const {
    if (bytes > limits::dataset_bytes_max)
        return fail(offset_, "the header claims more than " +
                                 std::to_string(limits::dataset_bytes_max) + " bytes of " +
                                 std::string{what});
    if (!can_hold(bytes))
        return fail(offset_, "truncated: the header claims " + std::to_string(bytes) +
                                 " bytes of " + std::string{what} +
                                 ", which the file is too short for; fetch the file again");
    return {};
}

result<std::vector<std::uint8_t>> input_file::read_claimed(std::uint64_t bytes,
                                                           std::string_view what) {
    if (auto fits = check_claim(bytes, what); !fits)
        return fits.failure();
    std::vector<std::uint8_t> contents;
    try {
        contents.resize(bytes);
    } catch (const std::bad_alloc&) {
        return error{errc::exhausted, name_ + ": no memory for " + std::to_string(bytes) +
                                          " bytes of " + std::string{what}};
    }
    if (auto got = read(contents, what); !got)
        return got.failure();
    return contents;
}

result<whole_file> read_whole(const fs::path& path) {
    auto in = input_file::open(path);
    if (!in)
        return in.failure();
    auto bytes = in->read_rest();
    if (!bytes)
        return bytes.failure();
    return whole_file{std::move(*in), std::move(*bytes)};
}

} // namespace troupe

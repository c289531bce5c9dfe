#include "actors/data/idx_reader.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <new>

#include <zlib.h>

#include "schemas/base/limits.hpp"

namespace troupe {

namespace {

namespace fs = std::filesystem;

constexpr std::uint8_t unsigned_byte = 0x08;
constexpr std::uint64_t deflate_ratio_max =
    1032; // of the deflate format: no byte can stand for more

struct gz_closer {
    void operator()(gzFile_s* file) const noexcept { gzclose_r(file); }
};

// A plain or gzip file, read from front to back.
class idx_stream {
  public:
    static result<idx_stream> open(const fs::path& path) {
        std::error_code failed;
        const auto status = fs::status(path, failed);
        if (!fs::exists(status))
            return error{errc::io, path.string() + ": no such file"};
        if (!fs::is_regular_file(status))
            return error{errc::io, path.string() + ": not a file"};
        const std::uint64_t stored_bytes = fs::file_size(path, failed);
        gzFile file = failed ? nullptr : gzopen(path.c_str(), "rb");
        if (file == nullptr)
            return error{errc::io, path.string() + ": cannot be opened; check its permissions"};
        gzbuffer(file, 1u << 18);
        return idx_stream{path, file, stored_bytes};
    }

    error fail(std::uint64_t offset, std::string_view sentence) const {
        std::string message = path_.string() + ": byte " + std::to_string(offset) + ": ";
        return {errc::data, message.append(sentence)};
    }

    // Reads all of `into`, or says where the file ends.
    result<void> read(std::span<std::uint8_t> into, std::string_view what) {
        const std::uint64_t begin = offset_;
        while (offset_ - begin < into.size()) {
            const auto rest = into.subspan(offset_ - begin);
            const int got =
                gzread(file_.get(), rest.data(),
                       static_cast<unsigned>(std::min<std::size_t>(rest.size(), 1u << 30)));
            if (got > 0) {
                offset_ += static_cast<std::uint64_t>(got);
                continue;
            }
            int code = Z_OK;
            const char* reason = gzerror(file_.get(), &code);
            if (code == Z_ERRNO)
                return error{errc::io, path_.string() + ": cannot be read: " + reason};
            if (code != Z_OK && code != Z_BUF_ERROR)
                return fail(offset_, "damaged gzip data; fetch the file again");
            return fail(offset_, "truncated: " + std::string{what} + " ends after " +
                                     std::to_string(offset_ - begin) + " of " +
                                     std::to_string(into.size()) + " bytes; fetch the file again");
        }
        return {};
    }

    // Nothing may follow. For gzip this also checks the sum at the end.
    result<void> expect_end() {
        std::uint8_t extra = 0;
        const int got = gzread(file_.get(), &extra, 1);
        if (got > 0)
            return fail(offset_, "more data than the header says");
        int code = Z_OK; // also set where the file ends in the middle of the checksum
        gzerror(file_.get(), &code);
        if (code != Z_OK)
            return fail(offset_, "damaged gzip data; fetch the file again");
        return {};
    }

    // Whether the file is long enough to hold `bytes` after what was read, as far as its stored length tells.
    bool can_hold(std::uint64_t bytes) const noexcept {
        return gzdirect(file_.get()) ? bytes <= stored_bytes_ - std::min(offset_, stored_bytes_)
                                     : bytes / deflate_ratio_max <= stored_bytes_;
    }

    std::uint64_t offset() const noexcept { return offset_; }

  private:
    idx_stream(fs::path path, gzFile file, std::uint64_t stored_bytes)
        : path_{std::move(path)}, file_{file}, stored_bytes_{stored_bytes} {}

    fs::path path_;
    std::unique_ptr<gzFile_s, gz_closer> file_;
    std::uint64_t stored_bytes_;
    std::uint64_t offset_ = 0; // of decompressed bytes
};

std::string hex(std::span<const std::uint8_t> bytes) {
    std::string out;
    for (const std::uint8_t b : bytes) {
        char digits[4];
        std::snprintf(digits, sizeof digits, "%02x ", b);
        out += digits;
    }
    out.pop_back();
    return out;
}

template <std::size_t Rank>
struct idx_contents {
    std::array<std::uint64_t, Rank> sizes{};
    std::vector<std::uint8_t> elements;
};

template <std::size_t Rank>
result<std::array<std::uint64_t, Rank>> read_header(idx_stream& in, std::string_view what) {
    std::array<std::uint8_t, 4> magic{};
    if (auto got = in.read(magic, "the header"); !got)
        return got.failure();
    const std::array<std::uint8_t, 4> expected{0, 0, unsigned_byte, Rank};
    if (magic != expected)
        return in.fail(0, "not an IDX file of " + std::string{what} + ": begins with " +
                              hex(magic) + ", expected " + hex(expected));
    std::array<std::uint64_t, Rank> sizes{};
    for (std::uint64_t& size : sizes) {
        const std::uint64_t at = in.offset();
        std::array<std::uint8_t, 4> word{};
        if (auto got = in.read(word, "the header"); !got)
            return got.failure();
        for (const std::uint8_t b : word)
            size = size << 8 | b;
        if (size == 0)
            return in.fail(at, "a size of 0: the file holds no " + std::string{what});
    }
    return sizes;
}

// A file whose header has been read and fits its length.
template <std::size_t Rank>
struct opened_idx {
    idx_stream in;
    std::array<std::uint64_t, Rank> sizes{};
    std::uint64_t bytes = 1; // of elements
};

template <std::size_t Rank>
result<opened_idx<Rank>> open_idx(const fs::path& path, std::string_view what) {
    auto in = idx_stream::open(path);
    if (!in)
        return in.failure();
    auto sizes = read_header<Rank>(*in, what);
    if (!sizes)
        return sizes.failure();
    opened_idx<Rank> opened{std::move(*in), *sizes};
    for (const std::uint64_t size :
         *sizes) // each below 2^32, the product before it below 2^36: no overflow
        if ((opened.bytes *= size) > limits::dataset_bytes_max)
            return opened.in.fail(4, "the header claims more than " +
                                         std::to_string(limits::dataset_bytes_max) + " bytes");
    if (!opened.in.can_hold(opened.bytes))
        return opened.in.fail(opened.in.offset(),
                              "truncated: the header claims " + std::to_string(opened.bytes) +
                                  " bytes of " + std::string{what} +
                                  ", which the file is too short for; fetch the file again");
    return opened;
}

template <std::size_t Rank>
result<idx_contents<Rank>> read_idx(const fs::path& path, std::string_view what) {
    auto opened = open_idx<Rank>(path, what);
    if (!opened)
        return opened.failure();
    idx_contents<Rank> contents{opened->sizes, {}};
    try {
        contents.elements.resize(opened->bytes);
    } catch (const std::bad_alloc&) {
        return error{errc::exhausted, path.string() + ": no memory for " +
                                          std::to_string(opened->bytes) + " bytes of " +
                                          std::string{what}};
    }
    if (auto got = opened->in.read(contents.elements, what); !got)
        return got.failure();
    if (auto ended = opened->in.expect_end(); !ended)
        return ended.failure();
    return contents;
}

bool fits(const tensor_shape& input, std::size_t rows, std::size_t columns) {
    const std::size_t pixels = rows * columns;
    return input == tensor_shape{1, rows, columns} || input == tensor_shape{rows, columns} ||
           input == tensor_shape{pixels};
}

error at_images(const idx_files& files, const error& why) {
    return why.in(files.key + "_images");
}
error at_labels(const idx_files& files, const error& why) {
    return why.in(files.key + "_labels");
}

result<dataset> make_dataset(const idx_files& files, idx_images images,
                             std::span<const std::uint8_t> labels, const tensor_shape& input) {
    const auto refuse = [&](const std::string& sentence) {
        return at_images(files, {errc::data, files.images.string() + ": byte " + sentence});
    };
    if (images.count != labels.size())
        return refuse("4: " + std::to_string(images.count) + " images, but " +
                      files.labels.string() + " has " + std::to_string(labels.size()) + " labels");
    if (!fits(input, images.rows, images.columns))
        return refuse("8: images of " + std::to_string(images.rows) + "x" +
                      std::to_string(images.columns) + ", but model.input is " + to_string(input));
    dataset data{files.labels.string(), input, 0, std::move(images.pixels), {}};
    data.labels.assign(labels.begin(), labels.end());
    data.classes = std::size_t{std::ranges::max(labels)} + 1;
    return data;
}

} // namespace

result<idx_images> read_idx_images(const fs::path& file) {
    auto contents = read_idx<3>(file, "images");
    if (!contents)
        return contents.failure();
    const auto& [count, rows, columns] = contents->sizes;
    return idx_images{count, rows, columns, std::move(contents->elements)};
}

result<std::vector<std::uint8_t>> read_idx_labels(const fs::path& file) {
    auto contents = read_idx<1>(file, "labels");
    if (!contents)
        return contents.failure();
    return std::move(contents->elements);
}

result<dataset> read_idx_dataset(const idx_files& files, const tensor_shape& input) {
    auto labels = read_idx_labels(files.labels);
    if (!labels)
        return at_labels(files, labels.failure());
    auto images = read_idx_images(files.images);
    if (!images)
        return at_images(files, images.failure());
    return make_dataset(files, std::move(*images), *labels, input);
}

} // namespace troupe

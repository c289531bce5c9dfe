#include "actors/data/files/idx_file.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include "schemas/base/limits.hpp"
#include "schemas/base/quantities.hpp"

namespace troupe {

namespace {

namespace fs = std::filesystem;

constexpr std::uint8_t unsigned_byte = 0x08;

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

// The kind of an IDX file; empty if it is none.
std::string what_it_is(std::span<const std::uint8_t> magic) {
    constexpr std::pair<std::uint8_t, std::string_view> types[] = {
        {unsigned_byte, "unsigned bytes"}, {0x09, "signed bytes"},  {0x0b, "16-bit numbers"},
        {0x0c, "32-bit numbers"},          {0x0d, "32-bit floats"}, {0x0e, "64-bit floats"}};
    const auto* type =
        std::ranges::find(types, magic[2], &std::pair<std::uint8_t, std::string_view>::first);
    if (magic[0] != 0 || magic[1] != 0 || type == std::end(types) || magic[3] == 0)
        return {};
    return "; its elements are " + std::string{type->second} + " in " +
           counted(magic[3], "dimension") +
           (type->first == unsigned_byte ? ": is it another file's place?"
                                         : ": save them by numpy.save, as data.npy or data.matrix "
                                           "takes them");
}

struct idx_contents {
    std::vector<std::uint64_t> sizes;
    std::vector<std::uint8_t> elements;
};

result<idx_contents> read_idx(const fs::path& path, std::uint8_t rank, std::string_view what) {
    auto in = input_file::open(path);
    if (!in)
        return in.failure();
    auto sizes = read_idx_header(*in, rank, what);
    if (!sizes)
        return sizes.failure();
    std::uint64_t bytes = 1;
    for (const std::uint64_t size :
         *sizes) // each below 2^32, the product before it below 2^36: no overflow
        if ((bytes *= size) > limits::dataset_bytes_max)
            return in->fail(4, "the header claims more than " +
                                   std::to_string(limits::dataset_bytes_max) + " bytes");
    auto elements = in->read_claimed(bytes, what);
    if (!elements)
        return elements.failure();
    if (auto ended = in->expect_end(); !ended)
        return ended.failure();
    return idx_contents{std::move(*sizes), std::move(*elements)};
}

} // namespace

result<std::vector<std::uint64_t>> read_idx_header(input_file& in, std::uint8_t rank,
                                                   std::string_view what) {
    std::array<std::uint8_t, 4> magic{};
    if (auto got = in.read(magic, "the header"); !got)
        return got.failure();
    const std::array<std::uint8_t, 4> expected{0, 0, unsigned_byte, rank};
    if (magic != expected)
        return in.fail(0, "not an IDX file of " + std::string{what} + ": begins with " +
                              hex(magic) + ", expected " + hex(expected) + what_it_is(magic));
    std::vector<std::uint64_t> sizes(rank);
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

result<idx_images> read_idx_images(const fs::path& file) {
    auto contents = read_idx(file, 3, "images");
    if (!contents)
        return contents.failure();
    const std::vector<std::uint64_t>& sizes = contents->sizes;
    return idx_images{sizes[0], sizes[1], sizes[2], std::move(contents->elements)};
}

result<std::vector<std::uint8_t>> read_idx_labels(const fs::path& file) {
    auto contents = read_idx(file, 1, "labels");
    if (!contents)
        return contents.failure();
    return std::move(contents->elements);
}

} // namespace troupe

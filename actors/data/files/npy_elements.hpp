// The elements of a NumPy array as numbers, read from start to end.
//
// Errors: as in input_file.hpp; an element that cannot be taken is named by its place in the array and its byte.
// Threads: each object belongs to one thread at a time.
#pragma once

#include "actors/data/files/npy_header.hpp"

namespace troupe {

// Opens NAME, a .npy file, or an array in an archive: FILE.npz:MEMBER, or FILE.npz if it has only one. The header follows.
result<input_file> open_npy(const std::string& name);

// Whether NAME is FILE.npz:MEMBER.
bool names_npz_member(const std::string& name) noexcept;

class npy_elements {
  public:
    static result<npy_elements> open(const std::string& name, npy_order allowed = npy_order::c);
    // Reads a file from its start.
    static result<npy_elements> open(input_file in, npy_order allowed);

    const npy_header& header() const noexcept { return header_; }
    bool is_whole() const noexcept { return header_.type < npy_type::f2; }
    std::uint64_t done() const noexcept { return done_; }

    // Reads the next into.size() elements; there must be as many. Numbers that are not finite are refused, as float also
    // those that are too large for it; others are rounded.
    result<void> read(std::span<float> into) { return read_as(into); }
    result<void> read(std::span<double> into) { return read_as(into); }
    // As float64; numbers that are too large for float32 are refused nevertheless.
    result<void> read_in_float_range(std::span<double> into) {
        return read_as<double, float>(into);
    }
    // Likewise; is_whole() must be true.
    result<void> read(std::span<std::int64_t> into) { return read_as(into); }
    // After the last element: fails if bytes follow.
    result<void> expect_end() { return in_.expect_end(); }

    // At the element that was read last, or that many before it.
    error fail(std::string_view sentence, std::uint64_t before_last = 0) const;
    // At the header.
    error fail_header(std::string_view sentence) const { return in_.fail(0, sentence); }
    const std::string& name() const noexcept { return in_.name(); }

  private:
    npy_elements(input_file in, npy_header header)
        : in_{std::move(in)}, header_{std::move(header)}, first_{in_.offset()} {}
    template <class Value, class Range = Value>
    result<void> read_as(std::span<Value> into);
    result<void> refill();
    std::string place_of(std::uint64_t element) const;

    input_file in_;
    npy_header header_;
    std::uint64_t first_;             // byte of the first element
    std::uint64_t done_ = 0;          // elements
    std::vector<std::uint8_t> piece_; // elements read ahead
    std::size_t piece_at_ = 0;        // byte of the next one in it
};

} // namespace troupe

// The header of NumPy's .npy format, versions 1 to 3.
//
// Format: "\x93NUMPY", a byte each for the major and minor version, the length of the text that follows (little-endian, 2
// bytes in version 1, 4 later), and that text: a Python dictionary with the keys descr (type), fortran_order and shape. The
// elements follow immediately. Source: NumPy Enhancement Proposal 1 and numpy.lib.format.
#pragma once

#include "actors/data/files/input_file.hpp"

namespace troupe {

// Whole numbers first.
enum class npy_type : std::uint8_t { b1, u1, i1, u2, i2, u4, i4, i8, f2, f4, f8 };

// Order of the elements: the last index runs first, or the first one does (NumPy's Fortran order).
enum class npy_order : std::uint8_t { c, fortran };

struct npy_header {
    npy_type type = npy_type::u1;
    npy_order order = npy_order::c;
    bool is_big_endian = false;
    // Not empty, without zeros; its product times the element's size is bounded.
    std::vector<std::size_t> shape;
    std::uint64_t elements = 1;
};

std::size_t size_of(npy_type type) noexcept;

// Reads the header from the start of a file. errc::data with the byte offset for arrays that Troupe does not read:
// structures, other types, scalars, more bytes than the file can hold; and Fortran order unless it is `allowed`.
result<npy_header> read_npy_header(input_file& in, npy_order allowed = npy_order::c);

// Reads an array that is a single word of up to 64 ASCII characters, as archives of SciPy have.
result<std::string> read_npy_word(input_file& in);

} // namespace troupe

// The arrays of a sparse matrix in an archive of SciPy: private to scipy_rows, whose header says what they are.
//
// Errors: as in input_file.hpp, "FILE.npz:ARRAY: byte OFFSET: SENTENCE".
// Threads: each object belongs to one thread at a time.
#pragma once

#include "actors/data/files/npy_elements.hpp"

namespace troupe {

struct sparse_shape {
    std::uint64_t rows = 0;
    std::uint64_t columns = 0;
};

// Both are at least 1, and within the limits of a matrix.
result<sparse_shape> read_scipy_shape(const std::string& path);
// An array of any kind, from its start.
result<input_file> open_scipy_array(const std::string& path, std::string_view array);
// "data", whose length is the number of entries.
result<npy_elements> open_scipy_values(const std::string& path);
// An array of places, one for each entry.
result<npy_elements> open_scipy_places(const std::string& path, std::string_view array,
                                       std::uint64_t entries);
// Reads places that must be from 0 to less than `end`; `what` there are: "rows" or "columns".
result<void> read_places(npy_elements& from, std::span<std::int64_t> into, std::uint64_t end,
                         std::string_view what);

// The arrays of csr and csc: the entries of one row, or column, after the other, which are its groups.
class compressed_arrays {
  public:
    struct form {
        std::uint64_t groups = 0; // rows of csr, columns of csc
        std::uint64_t places = 0; // the others
        std::string_view what;    // of which the places are: "rows" or "columns"
    };
    static result<compressed_arrays> open(const std::string& path, const form& form);

    std::uint64_t entries() const noexcept { return values_.header().elements; }
    bool at_end() const noexcept { return starts_.done() == starts_.header().elements; }
    // Reads the next group, which then is in places() and values(), in the order of the file.
    result<void> next_group();
    std::span<const std::int64_t> places() const noexcept { return group_places_; }
    std::span<const double> values() const noexcept { return group_values_; }
    // After the last group: fails if there are more entries, or more bytes in a file.
    result<void> expect_end();

    // At an entry of the group.
    error fail_entry(std::size_t entry, std::string_view sentence) const;
    error fail_header(std::string_view sentence) const { return values_.fail_header(sentence); }

  private:
    compressed_arrays(npy_elements starts, npy_elements places, npy_elements values,
                      const form& form);

    npy_elements starts_;
    npy_elements places_;
    npy_elements values_;
    form form_;
    std::vector<std::int64_t> group_places_;
    std::vector<double> group_values_;
};

} // namespace troupe

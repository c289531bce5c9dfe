#include "actors/data/matrix/scipy_arrays.hpp"

#include "actors/data/files/zip_member.hpp"
#include "schemas/base/limits.hpp"

namespace troupe {

namespace {

result<npy_elements> open_vector(const std::string& path, std::string_view array) {
    auto in = open_scipy_array(path, array);
    if (!in)
        return in.failure();
    auto elements = npy_elements::open(std::move(*in), npy_order::c);
    if (elements && elements->header().shape.size() != 1)
        return elements->fail_header("an array of several dimensions, where SciPy has a vector; "
                                     "save the matrix by scipy.sparse.save_npz");
    return elements;
}

result<npy_elements> open_whole_numbers(const std::string& path, std::string_view array) {
    auto elements = open_vector(path, array);
    if (elements && !elements->is_whole())
        return elements->fail_header("not whole numbers; save the matrix by "
                                     "scipy.sparse.save_npz");
    return elements;
}

error wrong_length(const npy_elements& array, std::uint64_t wanted, std::string_view by) {
    return array.fail_header(std::to_string(array.header().elements) + " elements, but " +
                             std::to_string(wanted) + " by " + std::string{by} +
                             "; save the matrix anew");
}

result<std::int64_t> next_whole(npy_elements& from) {
    std::int64_t number = 0;
    if (auto got = from.read(std::span{&number, 1}); !got)
        return got.failure();
    return number;
}

} // namespace

result<input_file> open_scipy_array(const std::string& path, std::string_view array) {
    return open_zip_member(path, std::string{array}, ".npy");
}

result<sparse_shape> read_scipy_shape(const std::string& path) {
    auto elements = open_whole_numbers(path, "shape");
    if (!elements)
        return elements.failure();
    if (elements->header().elements != 2)
        return elements->fail_header("a matrix of " + std::to_string(elements->header().elements) +
                                     " dimensions; features have rows and columns");
    std::int64_t sizes[2];
    if (auto got = elements->read(std::span<std::int64_t>{sizes}); !got)
        return got.failure();
    const std::int64_t most[2] = {limits::matrix_rows_max, limits::matrix_columns_max};
    for (const int i : {0, 1})
        if (sizes[i] < 1 || sizes[i] > most[i])
            return elements->fail("is " + std::to_string(sizes[i]) +
                                      (i == 0 ? " rows" : " columns") + "; from 1 to " +
                                      std::to_string(most[i]) + " are read",
                                  i == 0 ? 1 : 0);
    return sparse_shape{static_cast<std::uint64_t>(sizes[0]), static_cast<std::uint64_t>(sizes[1])};
}

result<npy_elements> open_scipy_values(const std::string& path) {
    return open_vector(path, "data");
}

result<npy_elements> open_scipy_places(const std::string& path, std::string_view array,
                                       std::uint64_t entries) {
    auto places = open_whole_numbers(path, array);
    if (places && places->header().elements != entries)
        return wrong_length(*places, entries, "the array \"data\"");
    return places;
}

result<void> read_places(npy_elements& from, std::span<std::int64_t> into, std::uint64_t end,
                         std::string_view what) {
    if (auto got = from.read(into); !got)
        return got;
    for (std::size_t i = 0; i < into.size(); ++i)
        if (static_cast<std::uint64_t>(into[i]) >= end)
            return from.fail("is " + std::to_string(into[i]) + ", but the shape says " +
                                 std::to_string(end) + " " + std::string{what} +
                                 "; save the matrix anew",
                             into.size() - 1 - i);
    return {};
}

// --- csr and csc

compressed_arrays::compressed_arrays(npy_elements starts, npy_elements places, npy_elements values,
                                     const form& form)
    : starts_{std::move(starts)}, places_{std::move(places)}, values_{std::move(values)},
      form_{form} {}

result<compressed_arrays> compressed_arrays::open(const std::string& path, const form& form) {
    auto values = open_scipy_values(path);
    if (!values)
        return values.failure();
    auto places = open_scipy_places(path, "indices", values->header().elements);
    if (!places)
        return places.failure();
    auto starts = open_whole_numbers(path, "indptr");
    if (!starts)
        return starts.failure();
    if (starts->header().elements != form.groups + 1)
        return wrong_length(*starts, form.groups + 1, "the shape");
    const auto first = next_whole(*starts);
    if (!first)
        return first.failure();
    if (*first != 0)
        return starts->fail("is " + std::to_string(*first) +
                            ", but the entries begin at 0; save the matrix anew");
    return compressed_arrays{std::move(*starts), std::move(*places), std::move(*values), form};
}

result<void> compressed_arrays::next_group() {
    const auto start = next_whole(starts_);
    if (!start)
        return start.failure();
    const std::uint64_t done = values_.done();
    if (static_cast<std::uint64_t>(*start) < done || static_cast<std::uint64_t>(*start) > entries())
        return starts_.fail("is " + std::to_string(*start) + ", which is not from " +
                            std::to_string(done) + " to " + std::to_string(entries()) +
                            "; save the matrix anew");
    const std::uint64_t count = static_cast<std::uint64_t>(*start) - done;
    group_places_.resize(count);
    if (auto got = read_places(places_, group_places_, form_.places, form_.what); !got)
        return got;
    group_values_.resize(count);
    return values_.read_in_float_range(std::span{group_values_});
}

result<void> compressed_arrays::expect_end() {
    if (values_.done() != entries())
        return starts_.fail("is " + std::to_string(values_.done()) + ", but there are " +
                            std::to_string(entries()) + " values; save the matrix anew");
    for (npy_elements* array : {&starts_, &places_, &values_})
        if (auto ended = array->expect_end(); !ended)
            return ended.failure();
    return {};
}

error compressed_arrays::fail_entry(std::size_t entry, std::string_view sentence) const {
    return places_.fail(sentence, group_places_.size() - 1 - entry);
}

} // namespace troupe

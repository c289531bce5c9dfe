#include "actors/data/matrix/scipy_rows.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "actors/data/matrix/held_rows.hpp"
#include "actors/data/matrix/scipy_arrays.hpp"
#include "schemas/base/limits.hpp"
#include "schemas/base/printable.hpp"

namespace troupe {

namespace {

constexpr std::string_view advice = "; call matrix.sum_duplicates() before it is saved";

compressed_arrays::form csr(const sparse_shape& shape) {
    return {shape.rows, shape.columns, "columns"};
}
compressed_arrays::form csc(const sparse_shape& shape) {
    return {shape.columns, shape.rows, "rows"};
}

class csr_rows final : public table_rows {
  public:
    csr_rows(std::string path, sparse_shape shape, compressed_arrays arrays)
        : path_{std::move(path)}, shape_{shape}, arrays_{std::move(arrays)},
          form_{.is_sparse = true, .columns = shape.columns} {}

    const table_form& form() const noexcept override { return form_; }

    result<bool> append_row(row_block& to) override {
        if (arrays_.at_end()) {
            const auto ended = arrays_.expect_end();
            return ended ? result<bool>{false} : ended.failure();
        }
        if (auto got = arrays_.next_group(); !got)
            return got.failure();
        if (auto sorted = sort(); !sorted)
            return sorted.failure();
        for (const std::size_t entry : order_) {
            to.indices.push_back(static_cast<std::int32_t>(arrays_.places()[entry]));
            to.values.push_back(arrays_.values()[entry]);
        }
        return true;
    }

    result<void> rewind() override {
        auto again = compressed_arrays::open(path_, csr(shape_));
        if (!again)
            return again.failure();
        if (again->entries() != arrays_.entries())
            return again->fail_header(file_changed);
        arrays_ = std::move(*again);
        return {};
    }

    error fail(std::string_view sentence) const override { return arrays_.fail_header(sentence); }

  private:
    // The order in which the columns of a row ascend.
    result<void> sort() {
        const auto column_of = [&](std::size_t entry) { return arrays_.places()[entry]; };
        order_.resize(arrays_.places().size());
        std::iota(order_.begin(), order_.end(), std::size_t{0});
        if (!std::ranges::is_sorted(arrays_.places()))
            std::ranges::stable_sort(order_, {}, column_of);
        const auto twice = std::ranges::adjacent_find(order_, {}, column_of);
        if (twice == order_.end())
            return {};
        return arrays_.fail_entry(*(twice + 1), "is " + std::to_string(column_of(*twice)) +
                                                    ", as one before it in this row" +
                                                    std::string{advice});
    }

    std::string path_;
    sparse_shape shape_;
    compressed_arrays arrays_;
    table_form form_;
    std::vector<std::size_t> order_;
};

// --- formats that are held

// Takes an entry; returns why it cannot, or an empty text.
using take_entry = std::function<std::string_view(const matrix_entry&)>;

result<void> read_csc(const std::string& path, const sparse_shape& shape, const take_entry& take) {
    auto arrays = compressed_arrays::open(path, csc(shape));
    if (!arrays)
        return arrays.failure();
    for (std::int32_t column = 0; !arrays->at_end(); ++column) {
        if (auto got = arrays->next_group(); !got)
            return got;
        for (std::size_t i = 0; i < arrays->places().size(); ++i) {
            const auto row = static_cast<std::uint32_t>(arrays->places()[i]);
            if (const auto why = take({row, column, arrays->values()[i]}); !why.empty())
                return arrays->fail_entry(i, why);
        }
    }
    return arrays->expect_end();
}

result<void> read_coo(const std::string& path, const sparse_shape& shape, const take_entry& take) {
    auto values = open_scipy_values(path);
    if (!values)
        return values.failure();
    const std::uint64_t entries = values->header().elements;
    auto rows = open_scipy_places(path, "row", entries);
    if (!rows)
        return rows.failure();
    auto columns = open_scipy_places(path, "col", entries);
    if (!columns)
        return columns.failure();
    while (values->done() < entries) {
        std::int64_t row = 0;
        if (auto got = read_places(*rows, {&row, 1}, shape.rows, "rows"); !got)
            return got;
        std::int64_t column = 0;
        if (auto got = read_places(*columns, {&column, 1}, shape.columns, "columns"); !got)
            return got;
        double value = 0;
        if (auto got = values->read_in_float_range(std::span{&value, 1}); !got)
            return got;
        if (const auto why =
                take({static_cast<std::uint32_t>(row), static_cast<std::int32_t>(column), value});
            !why.empty())
            return rows->fail(why);
    }
    for (npy_elements* array : {&*rows, &*columns, &*values})
        if (auto ended = array->expect_end(); !ended)
            return ended;
    return {};
}

// Says where the second of two entries of the same place is.
error find_twice(const std::string& path, const sparse_shape& shape, decltype(read_coo)& read,
                 const matrix_entry& twice) {
    bool is_second = false;
    const auto found = read(path, shape, [&](const matrix_entry& entry) {
        const bool is_it = entry.row == twice.row && entry.column == twice.column;
        return is_it && std::exchange(is_second, true)
                   ? std::string_view{"has the row and column of one before it; call "
                                      "matrix.sum_duplicates() before it is saved"}
                   : std::string_view{};
    });
    return found ? error{errc::data, path + ": byte 0: " + std::string{file_changed}}
                 : found.failure();
}

result<std::unique_ptr<table_rows>> hold(const std::string& path, const sparse_shape& shape,
                                         decltype(read_coo)& read) {
    const auto values = open_scipy_values(path);
    if (!values)
        return values.failure();
    const held_form form{values->name() + ": byte 0", shape.rows, shape.columns};
    const std::uint64_t entries = values->header().elements;
    if (const std::string why = why_not_held(form, entries, sizeof(matrix_entry)); !why.empty())
        return values->fail_header(why);
    auto held = std::make_unique<held_entries>(form, entries);
    const auto all = read(path, shape, [&](const matrix_entry& entry) {
        held->add(entry);
        return std::string_view{};
    });
    if (!all)
        return all.failure();
    const auto twice = held->sort();
    if (!twice)
        return std::unique_ptr<table_rows>{std::move(held)};
    held.reset();
    return find_twice(path, shape, read, *twice);
}

} // namespace

bool looks_like_scipy(const std::vector<std::string>& members) {
    const auto has = [&](const char* name) { return std::ranges::count(members, name) > 0; };
    return has("format") && has("shape");
}

result<std::unique_ptr<table_rows>> open_scipy_rows(const std::string& path) {
    auto in = open_scipy_array(path, "format");
    if (!in)
        return in.failure();
    const auto format = read_npy_word(*in);
    if (!format)
        return format.failure();
    const auto shape = read_scipy_shape(path);
    if (!shape)
        return shape.failure();
    if (*format == "csc")
        return hold(path, *shape, read_csc);
    if (*format == "coo")
        return hold(path, *shape, read_coo);
    if (*format != "csr")
        return in->fail(0, "a matrix of the format \"" +
                               printable(*format, limits::name_bytes_max) +
                               "\"; csr, csc and coo are read, as by matrix.tocsr()");
    auto arrays = compressed_arrays::open(path, csr(*shape));
    if (!arrays)
        return arrays.failure();
    return std::unique_ptr<table_rows>{
        std::make_unique<csr_rows>(path, *shape, std::move(*arrays))};
}

} // namespace troupe

#include "actors/scheduled/sparse_pieces.hpp"

#include <algorithm>

namespace troupe::scheduled {

namespace {

constexpr std::size_t entry_bytes = sizeof(std::int32_t) + sizeof(float);
constexpr std::size_t row_bytes = 2 * sizeof(std::int64_t) + sizeof(double);

std::uint64_t entries_of(const sparse_rows& rows, std::uint64_t row) {
    return static_cast<std::uint64_t>(rows.starts[row + 1] - rows.starts[row]);
}

// A few rows, as the tensors of a piece have them.
struct cut_rows {
    std::vector<std::int64_t> starts;
    std::span<const std::int32_t> indices;
    std::span<const float> values;
};

cut_rows cut(const sparse_rows& rows, std::uint64_t first, std::uint64_t count) {
    const std::int64_t start = rows.starts[first];
    const auto entries = static_cast<std::size_t>(rows.starts[first + count] - start);
    cut_rows made;
    for (std::uint64_t r = first; r <= first + count; ++r)
        made.starts.push_back(rows.starts[r] - start);
    made.indices = std::span{rows.indices}.subspan(static_cast<std::size_t>(start), entries);
    made.values = std::span{rows.values}.subspan(static_cast<std::size_t>(start), entries);
    return made;
}

class sparse_pieces final : public piece_source {
  public:
    sparse_pieces(sparse_data data, std::uint64_t bytes_max)
        : data_{std::move(data)}, bytes_max_{bytes_max}, column_work_(data_.columns) {
        for (std::size_t i = 0; i < data_.rows.indices.size(); ++i)
            column_work_[static_cast<std::size_t>(data_.rows.indices[i])] += work(i);
    }

    data_shape shape() const override {
        return {data_.rows.rows(), data_.columns, data_.rows.entries(), true};
    }
    std::uint64_t row_entries(std::uint64_t row) const override {
        return entries_of(data_.rows, row);
    }
    std::uint64_t row_work(std::uint64_t row) const override {
        if (data_.work == work_of_entry::one)
            return entries_of(data_.rows, row);
        std::uint64_t sum = 0;
        for (auto i = data_.rows.starts[row]; i < data_.rows.starts[row + 1]; ++i)
            sum += work(static_cast<std::size_t>(i));
        return sum;
    }
    std::uint64_t column_work(std::uint64_t column) const override { return column_work_[column]; }
    std::vector<std::string> column_names() const override { return data_.column_names; }
    std::vector<std::string> row_names() const override { return data_.row_names; }
    std::vector<data_digest> digests() const override { return data_.digests; }
    std::vector<std::string> notes() const override { return data_.notes; }

    result<std::optional<rows_piece>> next(std::uint64_t rows_max, memory_pool& memory) override {
        const std::uint64_t count = rows_that_fit(rows_max);
        if (count == 0)
            return std::optional<rows_piece>{};
        auto tensors = tensors_of(count, memory);
        if (!tensors)
            return tensors.failure();
        rows_piece piece{row_, count, std::move(*tensors)};
        row_ += count;
        return std::optional{std::move(piece)};
    }

    result<void> rewind() override {
        row_ = 0;
        return {};
    }

  private:
    std::uint64_t work(std::size_t entry) const {
        return data_.work == work_of_entry::one
                   ? 1
                   : static_cast<std::uint64_t>(data_.rows.values[entry]);
    }

    std::uint64_t bytes_of(std::uint64_t row) const {
        const std::uint64_t held_out = data_.held_out ? entries_of(*data_.held_out, row) : 0;
        return row_bytes + (entries_of(data_.rows, row) + held_out) * entry_bytes;
    }

    std::uint64_t rows_that_fit(std::uint64_t rows_max) const {
        const std::uint64_t end = row_ + std::min(rows_max, data_.rows.rows() - row_);
        std::uint64_t row = row_, bytes = 0;
        while (row < end && (bytes += bytes_of(row)) <= bytes_max_)
            ++row;
        return std::min(std::max(row, row_ + 1), end) - row_;
    }

    result<payload> tensors_of(std::uint64_t count, memory_pool& memory) const {
        const std::vector<double> targets(count);
        const cut_rows rows = cut(data_.rows, row_, count);
        if (!data_.held_out)
            return payload_of(memory, rows.starts, rows.indices, rows.values, targets);
        const cut_rows out = cut(*data_.held_out, row_, count);
        return payload_of(memory, rows.starts, rows.indices, rows.values, targets, out.starts,
                          out.indices, out.values);
    }

    const sparse_data data_;
    const std::uint64_t bytes_max_;
    std::vector<std::uint64_t> column_work_;
    std::uint64_t row_ = 0; // that comes next
};

} // namespace

std::shared_ptr<piece_source> pieces_of(sparse_data data, std::uint64_t piece_bytes_max) {
    TROUPE_CHECK(!data.held_out || data.held_out->rows() == data.rows.rows(),
                 "what is held out is of the same rows");
    return std::make_shared<sparse_pieces>(std::move(data), piece_bytes_max);
}

} // namespace troupe::scheduled

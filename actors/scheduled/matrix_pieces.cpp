#include "actors/scheduled/matrix_pieces.hpp"

#include <algorithm>
#include <utility>

namespace troupe::scheduled {

namespace {

class matrix_pieces final : public piece_source {
  public:
    matrix_pieces(matrix_source source, std::uint64_t bytes_max, matrix_facts facts)
        : source_{std::move(source)}, bytes_max_{bytes_max}, facts_{std::move(facts)} {}

    data_shape shape() const override {
        const matrix_shape& s = source_.shape();
        return {s.rows, s.columns, s.entries, s.is_sparse};
    }
    std::uint64_t row_work(std::uint64_t row) const override { return source_.row_entries(row); }
    std::uint64_t column_work(std::uint64_t column) const override {
        return source_.column_entries(column);
    }
    std::vector<std::string> column_names() const override { return source_.shape().column_names; }
    std::vector<double> offsets() const override { return source_.shape().offsets; }
    std::vector<data_digest> digests() const override { return facts_.digests; }
    std::vector<std::string> notes() const override { return facts_.notes; }

    result<std::optional<rows_piece>> next(std::uint64_t rows_max, memory_pool& memory) override {
        if (std::exchange(is_to_rewind_, false))
            if (auto again = source_.rewind(); !again)
                return again.failure();
        if (taken_ == block_.rows) {
            auto block = source_.next(bytes_max_);
            if (!block)
                return block.failure();
            if (!*block)
                return std::optional<rows_piece>{};
            block_ = std::move(**block);
            taken_ = 0;
        }
        const auto count =
            static_cast<std::uint32_t>(std::min<std::uint64_t>(rows_max, block_.rows - taken_));
        auto tensors = rows_of_block(count, memory);
        if (!tensors)
            return tensors.failure();
        rows_piece piece{block_.first_row + taken_, count, std::move(*tensors)};
        taken_ += count;
        return std::optional{std::move(piece)};
    }

    // Files are opened when rows are asked for: a run that needs none at its end ends without them.
    result<void> rewind() override {
        block_ = {};
        taken_ = 0;
        is_to_rewind_ = true;
        return {};
    }

  private:
    // The next `count` rows of the block that is being dealt.
    result<payload> rows_of_block(std::uint32_t count, memory_pool& memory) const {
        const std::vector<double> none(source_.shape().has_targets ? 0 : count);
        const std::span<const double> targets =
            none.empty() ? std::span<const double>{block_.targets}.subspan(taken_, count) : none;
        if (block_.starts.empty()) {
            const std::size_t columns = source_.shape().columns;
            return payload_of(
                memory, std::span<const std::int64_t>{}, std::span<const std::int32_t>{},
                std::span<const float>{kept(taken_ * columns, count * columns)}, targets);
        }
        const auto first = static_cast<std::size_t>(block_.starts[taken_]);
        const auto entries = static_cast<std::size_t>(block_.starts[taken_ + count]) - first;
        std::vector<std::int64_t> starts;
        for (std::uint32_t r = 0; r <= count; ++r)
            starts.push_back(block_.starts[taken_ + r] - static_cast<std::int64_t>(first));
        return payload_of(memory, starts, std::span{block_.indices}.subspan(first, entries),
                          std::span<const float>{kept(first, entries)}, targets);
    }

    // Values of the block as float32, less the offsets of their columns. Dense ones begin with a row.
    std::vector<float> kept(std::size_t first, std::size_t count) const {
        const auto values = std::span{block_.values}.subspan(first, count);
        const std::vector<double>& offsets = source_.shape().offsets;
        std::vector<float> all(count);
        if (offsets.empty())
            std::ranges::transform(values, all.begin(),
                                   [](double x) { return static_cast<float>(x); });
        else
            for (std::size_t at = 0; at < count; at += offsets.size())
                for (std::size_t j = 0; j < offsets.size(); ++j)
                    all[at + j] = static_cast<float>(values[at + j] - offsets[j]);
        return all;
    }

    matrix_source source_;
    const std::uint64_t bytes_max_;
    const matrix_facts facts_;
    row_block block_; // that is being dealt
    std::uint32_t taken_ = 0;
    bool is_to_rewind_ = false;
};

} // namespace

std::shared_ptr<piece_source> pieces_of(matrix_source source, std::uint64_t piece_bytes_max,
                                        matrix_facts facts) {
    return std::make_shared<matrix_pieces>(std::move(source), piece_bytes_max, std::move(facts));
}

} // namespace troupe::scheduled

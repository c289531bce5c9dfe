#include "actors/scheduled/matrix_pieces.hpp"

#include <algorithm>
#include <utility>

namespace troupe::scheduled {

namespace {

// As float32; and what that leaves of each, or nothing if that is 0 of all.
struct kept_numbers {
    std::vector<float> values, remainders;
};

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
        const auto tensors_of = [&](std::span<const std::int64_t> starts,
                                    std::span<const std::int32_t> indices,
                                    const kept_numbers& kept) {
            return kept.remainders.empty()
                       ? payload_of(memory, starts, indices, kept.values, targets)
                       : payload_of(memory, starts, indices, kept.values, targets, kept.remainders);
        };
        if (block_.starts.empty()) {
            const std::size_t columns = source_.shape().columns;
            return tensors_of({}, {}, kept(taken_ * columns, count * columns));
        }
        const auto first = static_cast<std::size_t>(block_.starts[taken_]);
        const auto entries = static_cast<std::size_t>(block_.starts[taken_ + count]) - first;
        std::vector<std::int64_t> starts;
        for (std::uint32_t r = 0; r <= count; ++r)
            starts.push_back(block_.starts[taken_ + r] - static_cast<std::int64_t>(first));
        return tensors_of(starts, std::span{block_.indices}.subspan(first, entries),
                          kept(first, entries));
    }

    // Numbers of the block, less the offsets of their columns. Dense ones begin with a row.
    kept_numbers kept(std::size_t first, std::size_t count) const {
        const matrix_shape& shape = source_.shape();
        std::span<const double> numbers = std::span{block_.values}.subspan(first, count);
        std::vector<double> moved;
        if (!shape.offsets.empty()) {
            moved.assign(numbers.begin(), numbers.end());
            for (std::size_t at = 0; at < count; at += shape.offsets.size())
                for (std::size_t j = 0; j < shape.offsets.size(); ++j)
                    moved[at + j] -= shape.offsets[j];
            numbers = moved;
        }
        kept_numbers all{std::vector<float>(count), {}};
        std::ranges::transform(numbers, all.values.begin(),
                               [](double x) { return static_cast<float>(x); });
        if (!shape.has_remainders)
            return all;
        all.remainders.resize(count);
        std::ranges::transform(numbers, all.values, all.remainders.begin(), [](double x, float v) {
            return static_cast<float>(x - static_cast<double>(v));
        });
        if (std::ranges::all_of(all.remainders, [](float x) { return x == 0; }))
            all.remainders.clear();
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

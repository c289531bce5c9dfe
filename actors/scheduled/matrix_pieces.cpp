#include "actors/scheduled/matrix_pieces.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace troupe::scheduled {

namespace {

// As float32; and what that leaves of each, or nothing if that is 0 of all.
struct kept_numbers {
    tensor values;
    std::optional<tensor> remainders;
};

result<kept_numbers> kept(std::span<const double> numbers, bool has_remainders,
                          memory_pool& memory) {
    auto values = tensor::allocate(memory, data_type::float32, {numbers.size()});
    if (!values)
        return values.failure();
    const std::span<float> rounded = values->mutable_values<float>();
    if (!has_remainders) {
        std::ranges::transform(numbers, rounded.begin(),
                               [](double x) { return static_cast<float>(x); });
        return kept_numbers{std::move(*values), {}};
    }
    auto remainders = tensor::allocate(memory, data_type::float32, {numbers.size()});
    if (!remainders)
        return remainders.failure();
    const std::span<float> left = remainders->mutable_values<float>();
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        rounded[i] = static_cast<float>(numbers[i]);
        left[i] = static_cast<float>(numbers[i] - static_cast<double>(rounded[i]));
    }
    if (std::ranges::all_of(left, [](float x) { return x == 0; }))
        return kept_numbers{std::move(*values), {}};
    return kept_numbers{std::move(*values), std::move(*remainders)};
}

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
            subtract_offsets();
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
        const std::span<const double> numbers = block_.values;
        if (block_.starts.empty()) {
            const std::size_t columns = source_.shape().columns;
            return tensors_of(count, {}, {}, numbers.subspan(taken_ * columns, count * columns),
                              memory);
        }
        const auto first = static_cast<std::size_t>(block_.starts[taken_]);
        const auto entries = static_cast<std::size_t>(block_.starts[taken_ + count]) - first;
        std::vector<std::int64_t> starts;
        for (std::uint32_t r = 0; r <= count; ++r)
            starts.push_back(block_.starts[taken_ + r] - static_cast<std::int64_t>(first));
        return tensors_of(count, starts, std::span{block_.indices}.subspan(first, entries),
                          numbers.subspan(first, entries), memory);
    }

    result<payload> tensors_of(std::uint32_t count, std::span<const std::int64_t> starts,
                               std::span<const std::int32_t> indices,
                               std::span<const double> numbers, memory_pool& memory) const {
        auto made = payload_of(memory, starts, indices);
        auto split = kept(numbers, source_.shape().has_remainders, memory);
        const std::vector<double> none(source_.shape().has_targets ? 0 : count);
        auto targets = numbers_of<double>(
            memory, none.empty() ? std::span{block_.targets}.subspan(taken_, count) : none);
        if (const error* failure = first_failure(made, split, targets))
            return *failure;
        made->push_back(std::move(split->values));
        made->push_back(std::move(*targets));
        if (split->remainders)
            made->push_back(std::move(*split->remainders));
        return made;
    }

    // From the numbers of the block.
    void subtract_offsets() {
        const std::vector<double>& offsets = source_.shape().offsets;
        if (offsets.empty())
            return;
        for (std::size_t i = 0; i < block_.indices.size(); ++i) // of a sparse matrix
            block_.values[i] -= offsets[static_cast<std::size_t>(block_.indices[i])];
        for (std::size_t at = 0; block_.starts.empty() && at < block_.values.size();
             at += offsets.size())
            for (std::size_t j = 0; j < offsets.size(); ++j)
                block_.values[at + j] -= offsets[j];
    }

    matrix_source source_;
    const std::uint64_t bytes_max_;
    const matrix_facts facts_;
    row_block block_; // that is being dealt, less the offsets of its columns
    std::uint32_t taken_ = 0;
    bool is_to_rewind_ = false;
};

} // namespace

std::shared_ptr<piece_source> pieces_of(matrix_source source, std::uint64_t piece_bytes_max,
                                        matrix_facts facts) {
    return std::make_shared<matrix_pieces>(std::move(source), piece_bytes_max, std::move(facts));
}

} // namespace troupe::scheduled

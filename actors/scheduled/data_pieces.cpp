#include "actors/scheduled/data_pieces.hpp"

#include <algorithm>

namespace troupe::scheduled {

namespace {

constexpr std::size_t remainders_at = 4; // the last tensor, if there are any

error bad(const std::string& sentence) {
    return {errc::protocol, "a piece of a matrix: " + sentence};
}

// A row's entries are stored one after the other, from the first row's to the last one's.
result<void> check_rows(const matrix_piece& m, std::uint64_t columns) {
    if (m.starts.size() != m.targets.size() + 1)
        return bad("its rows are not as many as its targets");
    if (m.indices.size() != m.values.size())
        return bad("its indices are not as many as its values");
    if (m.starts.front() != 0 || m.starts.back() != static_cast<std::int64_t>(m.values.size()) ||
        !std::ranges::is_sorted(m.starts))
        return bad("its rows do not lie one behind the other");
    const auto is_outside = [&](std::int32_t j) {
        return j < 0 || static_cast<std::uint64_t>(j) >= columns;
    };
    if (std::ranges::any_of(m.indices, is_outside))
        return bad("it has a column that the matrix has not");
    return {};
}

// Tensors from `first` on, which are as the first three of a matrix.
result<matrix_piece> read_rows(const payload& piece, std::size_t first, std::uint64_t columns) {
    const auto starts = read<std::int64_t>(piece, first, "the starts of the rows of a piece");
    const auto indices = read<std::int32_t>(piece, first + 1, "the indices of a piece");
    const auto values = read<float>(piece, first + 2, "the values of a piece");
    const auto targets = read<double>(piece, 3, "the targets of a piece");
    if (const error* failure = first_failure(starts, indices, values, targets))
        return *failure;
    const matrix_piece m{*starts, *indices, *values, *targets, {}};
    if (!m.is_sparse())
        return m;
    auto rows = check_rows(m, columns);
    return rows ? result<matrix_piece>{m} : rows.failure();
}

} // namespace

result<matrix_piece> read_matrix_piece(const payload& piece, std::uint64_t columns) {
    auto m = read_rows(piece, 0, columns);
    if (m && !m->is_sparse() && m->values.size() != m->rows() * columns)
        return bad("its values do not fill its rows");
    if (m && piece.size() == remainders_at + 1) {
        const auto remainders = read<float>(piece, remainders_at, "the remainders of a piece");
        if (!remainders)
            return remainders.failure();
        if (remainders->size() != m->values.size())
            return bad("its remainders are not as many as its values");
        m->remainders = *remainders;
    }
    return m;
}

result<std::optional<matrix_piece>> read_held_out(const payload& piece, std::uint64_t columns) {
    if (piece.size() <= remainders_at + 1)
        return std::optional<matrix_piece>{};
    const auto m = read_rows(piece, 4, columns);
    if (!m)
        return m.failure();
    if (!m->is_sparse())
        return bad("what is held out is not sparse");
    return std::optional{*m};
}

result<void> share_dealer::begin(std::vector<bool> wanted) {
    wanted_ = std::move(wanted);
    worker_ = 0;
    row_ = 0;
    return source_->rewind();
}

result<void> share_dealer::go_to_next_share() {
    ++worker_;
    if (worker_ == shares_.size() || shares_[worker_].first == row_)
        return {};
    row_ = 0;
    return source_->rewind();
}

result<std::optional<share_dealer::dealt>> share_dealer::next(memory_pool& memory) {
    for (;;) {
        if (std::find(wanted_.begin() + worker_, wanted_.end(), true) == wanted_.end())
            return std::optional<dealt>{};
        while (!wanted_[worker_] && shares_[worker_ + 1].first == row_)
            ++worker_; // the next one has the same rows
        const std::uint64_t end = shares_[worker_].first + shares_[worker_].count;
        auto piece = source_->next(end - row_, memory);
        if (!piece)
            return piece.failure();
        if (!*piece || (*piece)->first != row_ || (*piece)->count == 0 ||
            (*piece)->count > end - row_)
            return error{errc::data, "the data has other rows than when it was opened"};
        row_ += (*piece)->count;
        const bool is_last = row_ == end, is_wanted = wanted_[worker_];
        dealt made{worker_, is_last, std::move((*piece)->tensors)};
        if (is_last)
            if (auto gone = go_to_next_share(); !gone)
                return gone.failure();
        if (is_wanted)
            return std::optional{std::move(made)};
    }
}

} // namespace troupe::scheduled

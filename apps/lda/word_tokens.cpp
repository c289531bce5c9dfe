#include "apps/lda/word_tokens.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "apps/lda/lda_limits.hpp"

namespace troupe::lda {

namespace {

// Calls visit(row, column, value) for all entries of a piece.
template <class Visit>
void each_value(const scheduled::matrix_piece& m, std::uint64_t columns, Visit visit) {
    for (std::size_t row = 0; row < m.rows(); ++row) {
        if (!m.is_sparse()) {
            for (std::size_t j = 0; j < columns; ++j)
                visit(row, j, m.values[row * columns + j]);
            continue;
        }
        for (auto i = static_cast<std::size_t>(m.starts[row]);
             i < static_cast<std::size_t>(m.starts[row + 1]); ++i)
            visit(row, static_cast<std::size_t>(m.indices[i]), m.values[i]);
    }
}

std::string text_of(float value) {
    std::string text = std::to_string(value);
    while (text.find('.') != std::string::npos && (text.back() == '0' || text.back() == '.')) {
        const bool is_point = text.back() == '.';
        text.pop_back();
        if (is_point)
            break;
    }
    return text;
}

bool is_count(float value) {
    return value >= 0 && value == std::floor(value) && std::isfinite(value);
}

error no_count(float value) {
    return {errc::data, "a document has " + text_of(value) +
                            " of a word, but topics are of counts: whole numbers, 0 or more; use "
                            "counts of words instead of weights"};
}

} // namespace

result<void> count_rule::take_values(std::span<const double> values) {
    const auto bad = std::ranges::find_if_not(values, is_count);
    return bad == values.end() ? result<void>{} : no_count(*bad);
}

result<void> token_builder::append(const scheduled::payload& piece) {
    const auto m = scheduled::read_matrix_piece(piece, words_);
    if (!m)
        return m.failure();
    if (sizes_.size() + m->rows() > documents_)
        return error{errc::protocol, "a worker is dealt more documents than its share has"};
    std::vector<std::uint64_t> sizes(m->rows());
    counts_.resize(words_);
    std::optional<float> bad;
    each_value(*m, words_, [&](std::size_t row, std::size_t word, float value) {
        if (!is_count(value)) {
            bad = bad.value_or(value);
            return;
        }
        // Bounded, so that the sum does not wrap; what is above the limit is refused below.
        const auto count = static_cast<std::uint64_t>(
            std::min(value, static_cast<float>(limits::document_tokens_max)));
        sizes[row] += count;
        counts_[word] += count;
    });
    if (bad)
        return no_count(*bad);
    for (const std::uint64_t size : sizes) {
        if (size > limits::document_tokens_max)
            return error{errc::data, "a document has more than " +
                                         std::to_string(limits::document_tokens_max) +
                                         " words; divide it"};
        sizes_.push_back(static_cast<std::uint32_t>(size));
    }
    pieces_.push_back(piece);
    return {};
}

template <class Visit>
void token_builder::each_entry(Visit visit) const {
    std::size_t first = 0;
    for (const scheduled::payload& piece : pieces_) {
        const auto m = scheduled::read_matrix_piece(piece, words_);
        each_value(*m, words_, [&](std::size_t row, std::size_t word, float value) {
            visit(static_cast<std::int32_t>(first + row), word, static_cast<std::uint32_t>(value));
        });
        first += m->rows();
    }
}

result<word_tokens> token_builder::finish() {
    if (sizes_.size() != documents_)
        return error{errc::protocol, "a worker is dealt fewer documents than its share has"};
    counts_.resize(words_);
    word_tokens made;
    made.starts_.assign(1, 0);
    for (const std::uint64_t count : counts_)
        made.starts_.push_back(made.starts_.back() + count);
    const std::uint64_t tokens = made.tokens();
    auto documents = tensor::allocate(memory_, data_type::int32, {tokens});
    auto topics = tensor::allocate(memory_, data_type::uint8, {2 * tokens});
    if (const error* failure = scheduled::first_failure(documents, topics))
        return *failure;
    std::vector<std::uint64_t> next{made.starts_.begin(), made.starts_.end() - 1};
    const std::span<std::int32_t> to = documents->mutable_values<std::int32_t>();
    each_entry([&](std::int32_t document, std::size_t word, std::uint32_t count) {
        std::fill_n(to.begin() + static_cast<std::ptrdiff_t>(next[word]), count, document);
        next[word] += count;
    });
    pieces_.clear();
    made.sizes_ = std::move(sizes_);
    made.documents_ = std::move(*documents);
    made.topics_ = std::move(*topics);
    std::ranges::fill(made.topics(), no_topic);
    return made;
}

} // namespace troupe::lda

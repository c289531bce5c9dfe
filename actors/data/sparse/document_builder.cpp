#include "actors/data/sparse/document_builder.hpp"

#include <algorithm>
#include <numeric>

#include "schemas/base/limits.hpp"

namespace troupe {

namespace {

constexpr auto nowhere = static_cast<std::uint32_t>(-1);
constexpr std::uint64_t entries_max =
    limits::dataset_bytes_max / (sizeof(std::int32_t) + sizeof(float));
constexpr std::uint64_t tokens_max = limits::dataset_bytes_max / sizeof(std::int32_t);

std::string more_than(std::uint64_t most, const std::string& what) {
    return "more than " + std::to_string(most) + " " + what + "; leave some out";
}

} // namespace

std::string document_builder::end_document(std::string name) {
    all_.names.push_back(std::move(name));
    return close_document();
}

std::string document_builder::end_document(std::uint64_t number) {
    all_.numbers.push_back(number);
    return close_document();
}

std::string document_builder::close_document() {
    std::ranges::sort(open_, {}, &counted_word::word);
    for (std::size_t i = 0; i < open_.size();) {
        const std::uint32_t word = open_[i].word;
        if (word >= limits::matrix_columns_max)
            return more_than(limits::matrix_columns_max, "words");
        std::uint64_t count = 0;
        for (; i < open_.size() && open_[i].word == word; ++i)
            count += open_[i].count;
        if (count > word_count_max)
            return "a document has a word more than " + std::to_string(word_count_max) +
                   " times; cut the document into parts";
        all_.counts.indices.push_back(static_cast<std::int32_t>(word));
        all_.counts.values.push_back(static_cast<float>(count));
        all_.tokens += count;
    }
    open_.clear();
    all_.counts.starts.push_back(static_cast<std::int64_t>(all_.counts.values.size()));
    if (all_.counts.rows() > limits::matrix_rows_max)
        return more_than(limits::matrix_rows_max, "documents");
    if (all_.counts.entries() > entries_max)
        return more_than(entries_max, "counts of words");
    return all_.tokens > tokens_max ? more_than(tokens_max, "words in all documents") : "";
}

std::vector<document_builder::word_use> document_builder::uses() const {
    std::vector<word_use> all;
    for (std::size_t i = 0; i < all_.counts.indices.size(); ++i) {
        const auto word = static_cast<std::size_t>(all_.counts.indices[i]);
        if (word >= all.size())
            all.resize(word + 1);
        ++all[word].documents;
        all[word].count += static_cast<std::uint64_t>(all_.counts.values[i]);
    }
    return all;
}

// The words that are kept, in their order.
std::vector<std::uint32_t> document_builder::chosen(const word_list& words,
                                                    const vocabulary_bounds& bounds) const {
    const std::vector<word_use> all = uses();
    const double documents_max = bounds.documents_max_share * static_cast<double>(documents_read());
    std::vector<std::uint32_t> kept;
    for (std::uint32_t w = 0; w < all.size(); ++w)
        if (all[w].documents >= std::max<std::uint64_t>(bounds.documents_min, 1) &&
            static_cast<double>(all[w].documents) <= documents_max &&
            (!words.is_kept || words.is_kept(words.names[w])))
            kept.push_back(w);
    const auto is_before = [&](std::uint32_t a, std::uint32_t b) {
        if (!words.numbers.empty() && words.numbers[a] != words.numbers[b])
            return words.numbers[a] < words.numbers[b];
        return words.names[a] < words.names[b];
    };
    if (bounds.words_max > 0 && bounds.words_max < kept.size()) {
        const auto end = kept.begin() + static_cast<std::ptrdiff_t>(bounds.words_max);
        std::nth_element(kept.begin(), end, kept.end(), [&](std::uint32_t a, std::uint32_t b) {
            return all[a].count != all[b].count ? all[a].count > all[b].count : is_before(a, b);
        });
        kept.erase(end, kept.end());
    }
    std::ranges::sort(kept, is_before);
    return kept;
}

// Leaves out entries of other words than those, which become columns 0, 1, ...; in place.
void document_builder::renumber(const std::vector<std::uint32_t>& kept, std::size_t words) {
    std::vector<std::uint32_t> column_of(words, nowhere);
    for (std::uint32_t column = 0; column < kept.size(); ++column)
        column_of[kept[column]] = column;
    std::vector<counted_word> row;
    std::size_t end = 0, next = 0;
    all_.tokens = 0;
    for (std::size_t r = 0; r < all_.counts.rows(); ++r) {
        row.clear();
        for (const auto row_end = static_cast<std::size_t>(all_.counts.starts[r + 1]);
             next < row_end; ++next) {
            const auto word = static_cast<std::size_t>(all_.counts.indices[next]);
            if (column_of[word] != nowhere)
                row.push_back(
                    {column_of[word], static_cast<std::uint64_t>(all_.counts.values[next])});
        }
        std::ranges::sort(row, {}, &counted_word::word);
        for (const auto& [column, count] : row) {
            all_.counts.indices[end] = static_cast<std::int32_t>(column);
            all_.counts.values[end++] = static_cast<float>(count);
            all_.tokens += count;
        }
        all_.counts.starts[r + 1] = static_cast<std::int64_t>(end);
    }
    all_.counts.indices.resize(end);
    all_.counts.values.resize(end);
}

void document_builder::drop_empty_documents() {
    std::size_t kept = 0;
    auto& starts = all_.counts.starts;
    const std::size_t rows = all_.counts.rows();
    for (std::size_t r = 0; r < rows; ++r) {
        if (starts[r + 1] == starts[kept])
            continue;
        if (!all_.names.empty())
            std::swap(all_.names[kept], all_.names[r]);
        if (!all_.numbers.empty())
            all_.numbers[kept] = all_.numbers[r];
        starts[++kept] = starts[r + 1];
    }
    starts.resize(kept + 1);
    all_.names.resize(std::min(all_.names.size(), kept));
    all_.numbers.resize(std::min(all_.numbers.size(), kept));
    all_.left_out = rows - kept + passed_over_;
}

result<documents> document_builder::finish(word_list words, const vocabulary_bounds& bounds) && {
    if (all_.counts.entries() == 0)
        return error{errc::data, "the vocabulary is empty: " + std::to_string(documents_read()) +
                                     " documents have no words that are kept; give others, or "
                                     "leave out stop_words and length_min"};
    const std::vector<std::uint32_t> kept = chosen(words, bounds);
    if (kept.empty()) {
        std::string remedies;
        const auto add = [&](const std::string& one) {
            remedies += (remedies.empty() ? "" : ", or ") + one;
        };
        if (bounds.documents_min > 1)
            add("lower documents_min");
        if (bounds.documents_max_share < 1)
            add("raise documents_max_share");
        if (words.is_kept)
            add("leave out stop_words and length_min");
        return error{errc::data, "the vocabulary is empty: none of " +
                                     std::to_string(words.names.size()) + " words in " +
                                     std::to_string(documents_read()) + " documents is kept; " +
                                     remedies};
    }
    renumber(kept, words.names.size());
    drop_empty_documents();
    for (const std::uint32_t word : kept)
        all_.words.push_back(std::move(words.names[word]));
    return std::move(all_);
}

} // namespace troupe

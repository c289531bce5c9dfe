#include "apps/lda/model_use.hpp"

#include <array>
#include <cmath>
#include <functional>
#include <string>
#include <unordered_map>

#include "actors/data/sparse/word_forms.hpp"
#include "actors/scheduled/data_pieces.hpp"
#include "apps/lda/lda_limits.hpp"
#include "apps/lda/topic_model.hpp"

namespace troupe::lda {

namespace {

using scheduled::matrix_piece;
using scheduled::result_use;

constexpr std::int32_t unknown = -1;

// Words of a model by their names. A word that is spelled otherwise in the data, or by an earlier version that had other
// tables of letters, is the first one that folds to the same.
class words_by_name {
  public:
    explicit words_by_name(const std::vector<std::string>& names) {
        for (std::size_t i = 0; i < names.size(); ++i) {
            numbers_.emplace(names[i], static_cast<std::int32_t>(i));
            by_folding_.emplace(folding_of(names[i]), static_cast<std::int32_t>(i));
        }
    }
    std::int32_t number_of(const std::string& name) const {
        if (const auto found = numbers_.find(name); found != numbers_.end())
            return found->second;
        const auto found = by_folding_.find(folding_of(name));
        return found == by_folding_.end() ? unknown : found->second;
    }

  private:
    static std::string folding_of(const std::string& name) { return folded(lower_case_of(name)); }

    std::unordered_map<std::string, std::int32_t> numbers_, by_folding_;
};

// The model's word of each column of the data.
result<std::vector<std::int32_t>> words_of_columns(const topic_model& model,
                                                   const result_use& use) {
    std::vector<std::int32_t> words;
    if (!model.names.empty() && !use.column_names.empty()) {
        const words_by_name known{model.names};
        bool knows_any = false;
        for (const std::string& name : use.column_names) {
            words.push_back(known.number_of(name));
            knows_any = knows_any || words.back() != unknown;
        }
        if (!knows_any)
            return error{errc::usage, "the data has no word that " + use.directory.string() +
                                          " knows; give documents in its language"};
        return words;
    }
    if (use.data.columns > model.words)
        return error{errc::usage, "the data has " + std::to_string(use.data.columns) +
                                      " columns, but " + use.directory.string() + " is of " +
                                      std::to_string(model.words) +
                                      " words; give data with the same columns"};
    for (std::uint64_t column = 0; column < use.data.columns; ++column)
        words.push_back(static_cast<std::int32_t>(column));
    return words;
}

// A document as the model takes it.
struct document {
    std::vector<std::int32_t> words, counts;

    document_words view() const noexcept { return {words, counts}; }
};

class document_reader {
  public:
    document_reader(const result_use& use, std::vector<std::int32_t> words)
        : use_{use}, words_{std::move(words)} {}

    // Calls `with` for each document, in order; ends at its first failure.
    result<void> each(const std::function<result<void>(const document&)>& with) {
        for (;;) {
            auto rows = use_.rows->next(use_.data.rows, *use_.memory);
            if (!rows)
                return rows.failure();
            if (!*rows)
                return {};
            const auto piece = scheduled::read_matrix_piece((*rows)->tensors, words_.size());
            if (!piece)
                return piece.failure();
            for (std::size_t row = 0; row < piece->rows(); ++row) {
                const auto d = read(*piece, row);
                if (!d)
                    return d.failure();
                if (auto done = with(*d); !done)
                    return done;
            }
        }
    }

  private:
    result<document> read(const matrix_piece& piece, std::size_t row) const {
        document d;
        double size = 0;
        const auto add = [&](std::size_t column, double value) {
            if (!(value >= 0) || value != std::floor(value))
                return false;
            size += value;
            if (value == 0 || words_[column] == unknown || size > document_max)
                return true;
            d.words.push_back(words_[column]);
            d.counts.push_back(static_cast<std::int32_t>(value));
            return true;
        };
        bool are_counts = true;
        if (piece.is_sparse())
            for (auto i = static_cast<std::size_t>(piece.starts[row]);
                 i < static_cast<std::size_t>(piece.starts[row + 1]); ++i)
                are_counts &= add(static_cast<std::size_t>(piece.indices[i]),
                                  static_cast<double>(piece.values[i]));
        else
            for (std::size_t column = 0; column < words_.size(); ++column)
                are_counts &=
                    add(column, static_cast<double>(piece.values[row * words_.size() + column]));
        if (!are_counts)
            return error{errc::data, "the data has values that are no counts of words: whole "
                                     "numbers, 0 or more"};
        if (size > document_max)
            return error{errc::data, "a document has more than " + std::to_string(document_max) +
                                         " words; divide it"};
        return d;
    }

    // Topics of all tokens of a document are kept.
    static constexpr std::int32_t document_max = 100'000'000;

    const result_use& use_;
    std::vector<std::int32_t> words_;
};

struct opened {
    topic_model model;
    document_reader documents;
};

result<opened> open(const result_use& use) {
    auto model = load_model(use.directory);
    if (!model)
        return model.failure();
    auto words = words_of_columns(*model, use);
    if (!words)
        return words.failure();
    return opened{std::move(*model), {use, std::move(*words)}};
}

} // namespace

result<std::vector<std::vector<named_number>>> score(const result_use& use) {
    auto from = open(use);
    if (!from)
        return from.failure();
    perplexity_sum sum;
    double tokens = 0, documents = 0;
    auto done = from->documents.each([&](const document& d) {
        sum.add(from->model, d.view(), {.seed = use.seed});
        ++documents;
        for (const std::int32_t count : d.counts)
            tokens += count;
        return result<void>{};
    });
    if (!done)
        return done.failure();
    if (sum.scored() == 0)
        return error{errc::data, "no document of the data has two words that " +
                                     use.directory.string() + " knows; give longer ones"};
    using enum proto::NumberStyle;
    return std::vector<std::vector<named_number>>{{{"perplexity", sum.value(), PRECISE},
                                                   {"documents", documents, COUNT},
                                                   {"tokens", tokens, COUNT}}};
}

result<void> predict(const result_use& use, scheduled::prediction_table& to) {
    auto from = open(use);
    if (!from)
        return from.failure();
    std::vector<std::string> names{"document"};
    for (std::uint32_t k = 0; k < from->model.topics; ++k)
        names.push_back("topic " + std::to_string(k));
    if (auto begun = to.begin(names); !begun)
        return begun;
    // Documents without words are not among the rows: a document is known by its name, not by its line.
    const std::vector<std::string> documents = use.rows->row_names();
    std::size_t row = 0;
    return from->documents.each([&](const document& d) {
        const std::string name = row < documents.size() ? documents[row] : std::to_string(row);
        ++row;
        return to.add(std::array{name}, infer(from->model, d.view(), {.seed = use.seed}));
    });
}

} // namespace troupe::lda

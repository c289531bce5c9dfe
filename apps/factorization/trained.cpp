#include "apps/factorization/trained.hpp"

#include <array>
#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>

#include "actors/scheduled/data_pieces.hpp"
#include "apps/factorization/model.hpp"

namespace troupe::factorization {

namespace {

using scheduled::result_use;

// Users, or items: of the model, or of the data.
struct named_side {
    const std::vector<std::string>& names; // of all, or none
    std::uint64_t count = 0;
};

// The model's numbers of the data's users, or items: by their names, or if neither has any by their places.
class known_numbers {
  public:
    // `what`: "users" or "items".
    static result<known_numbers> make(const std::string& what, const named_side& model,
                                      const named_side& data, const std::string& folder) {
        const bool model_has = !model.names.empty() && model.names.size() == model.count,
                   data_has = !data.names.empty() && data.names.size() == data.count;
        if (model_has != data_has)
            return error{errc::usage,
                         "the " + what + " of " +
                             (model_has
                                  ? folder + " have names, but those of the data have none"
                                  : "the data have names, but those of " + folder + " have none") +
                             "; give data from the same kind of file"};
        if (!model_has && model.count != data.count)
            return error{errc::usage, "the data has " + std::to_string(data.count) + " " + what +
                                          ", but " + folder + " is of " +
                                          std::to_string(model.count) +
                                          "; without names both must have the same"};
        return known_numbers{model.names, model_has ? data.names : std::vector<std::string>{},
                             data.count};
    }

    std::optional<std::uint64_t> of(std::uint64_t i) const { return numbers_.at(i); }
    std::string shown(std::uint64_t i) const {
        return i < names_.size() ? names_[i] : std::to_string(i);
    }

  private:
    known_numbers(const std::vector<std::string>& model, std::vector<std::string> data,
                  std::uint64_t count)
        : names_{std::move(data)}, numbers_(count) {
        std::unordered_map<std::string, std::uint64_t> by_name;
        for (std::uint64_t i = 0; i < model.size(); ++i)
            by_name.emplace(model[i], i);
        for (std::uint64_t i = 0; i < count; ++i)
            if (names_.empty())
                numbers_[i] = i;
            else if (const auto found = by_name.find(names_[i]); found != by_name.end())
                numbers_[i] = found->second;
    }

    std::vector<std::string> names_;
    std::vector<std::optional<std::uint64_t>> numbers_;
};

struct opened_model {
    factor_model model;
    known_numbers users, items;

    double predict(std::uint64_t user, std::uint64_t item) const {
        return predict_known(model, users.of(user), items.of(item));
    }
    bool knows(std::uint64_t user, std::uint64_t item) const {
        return users.of(user).has_value() && items.of(item).has_value();
    }
};

result<opened_model> open(const result_use& use) {
    auto model = load_model(use.directory);
    if (!model)
        return model.failure();
    if (!use.data.is_sparse)
        return error{errc::data, "the data is a dense matrix, and factorization predicts ratings; "
                                 "give it ratings"};
    const std::string folder = use.directory.string();
    const std::vector<std::string> row_names = use.rows->row_names();
    auto users = known_numbers::make("users", {model->user_names, model->users},
                                     {row_names, use.data.rows}, folder);
    auto items = known_numbers::make("items", {model->item_names, model->items},
                                     {use.column_names, use.data.columns}, folder);
    if (const error* failure = scheduled::first_failure(users, items))
        return *failure;
    return opened_model{std::move(*model), std::move(*users), std::move(*items)};
}

// Called for each rating that the data has, and for each that is held out: user, item, rating.
using rating_function =
    std::function<result<void>(std::uint64_t, std::uint64_t, double, bool is_held_out)>;

result<void> each_rating(const scheduled::matrix_piece& piece, std::uint64_t first_user,
                         bool is_held_out, const rating_function& with) {
    for (std::size_t row = 0; row < piece.rows(); ++row)
        for (auto k = static_cast<std::size_t>(piece.starts[row]);
             k < static_cast<std::size_t>(piece.starts[row + 1]); ++k)
            if (auto done = with(first_user + row, static_cast<std::uint64_t>(piece.indices[k]),
                                 static_cast<double>(piece.values[k]), is_held_out);
                !done)
                return done;
    return {};
}

result<void> each_rating(const result_use& use, const rating_function& with) {
    for (std::uint64_t first = 0;;) {
        const auto rows = use.rows->next(use.data.rows, *use.memory);
        if (!rows)
            return rows.failure();
        if (!*rows)
            return {};
        const auto piece = scheduled::read_matrix_piece((*rows)->tensors, use.data.columns);
        const auto held_out = scheduled::read_held_out((*rows)->tensors, use.data.columns);
        if (const error* failure = scheduled::first_failure(piece, held_out))
            return *failure;
        if (piece->rows() > use.data.rows - first || (piece->rows() > 0 && !piece->is_sparse()))
            return error{errc::protocol, "a piece of the ratings does not fit"};
        if (auto done = each_rating(*piece, first, false, with); !done)
            return done;
        if (*held_out)
            if (auto done = each_rating(**held_out, first, true, with); !done)
                return done;
        first += piece->rows();
    }
}

struct error_sum {
    double count = 0, squares = 0;

    void add(double e) {
        count += 1;
        squares += e * e;
    }
    double rmse() const { return std::sqrt(squares / count); }
};

} // namespace

result<std::vector<std::vector<named_number>>> score(const result_use& use) {
    const auto opened = open(use);
    if (!opened)
        return opened.failure();
    error_sum sums[2]; // of ratings that are there, and of those that are held out
    double unknown = 0;
    auto done = each_rating(use,
                            [&](std::uint64_t user, std::uint64_t item, double rating,
                                bool is_held_out) -> result<void> {
                                sums[is_held_out ? 1 : 0].add(rating - opened->predict(user, item));
                                unknown += opened->knows(user, item) ? 0 : 1;
                                return {};
                            });
    if (!done)
        return done.failure();
    if (sums[0].count + sums[1].count == 0)
        return error{errc::data, "the data has no ratings; there is nothing to compare with"};
    std::vector<named_number> numbers;
    const auto add = [&](const char* name, const error_sum& sum) {
        if (sum.count > 0)
            numbers.push_back({name, sum.rmse(), proto::NumberStyle::PRECISE});
    };
    add("rmse", sums[1]);
    add(use.has_other_data ? "rmse" : "training_rmse", sums[0]); // others hold nothing out
    if (unknown > 0)
        numbers.push_back({"unknown", unknown, proto::NumberStyle::COUNT});
    for (const named_number& n : numbers)
        if (!std::isfinite(n.value))
            return error{errc::data, use.directory.string() +
                                         ": its factors predict no finite numbers; train again "
                                         "with a smaller rate"};
    return std::vector<std::vector<named_number>>{std::move(numbers)};
}

result<void> predict_ratings(const result_use& use, scheduled::prediction_table& to) {
    const auto opened = open(use);
    if (!opened)
        return opened.failure();
    if (auto begun = to.begin({"user", "item", "prediction"}); !begun)
        return begun;
    return each_rating(use, [&](std::uint64_t user, std::uint64_t item, double, bool) {
        return to.add(std::array{opened->users.shown(user), opened->items.shown(item)},
                      std::array{opened->predict(user, item)});
    });
}

} // namespace troupe::factorization

#include "apps/factorization/user_ratings.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <iterator>

#include "actors/data/sparse/ratings.hpp"
#include "actors/scheduled/named_numbers.hpp"
#include "apps/factorization/factorization_limits.hpp"

namespace troupe::factorization {

namespace {

template <class T>
std::span<const T> row_of(std::span<const T> all, std::span<const std::int64_t> starts,
                          std::size_t row) {
    return all.subspan(static_cast<std::size_t>(starts[row]),
                       static_cast<std::size_t>(starts[row + 1] - starts[row]));
}

void append(rating_rows& to, std::span<const std::int32_t> items, std::span<const float> values) {
    to.items.insert(to.items.end(), items.begin(), items.end());
    to.values.insert(to.values.end(), values.begin(), values.end());
    to.starts.push_back(static_cast<std::int64_t>(to.items.size()));
}

} // namespace

user_ratings::user_ratings(options o)
    : options_{std::move(o)}, learned_{options_.tiles}, held_out_{options_.tiles} {
    counts_.reserve(options_.users);
}

result<void> user_ratings::check_row(std::span<const std::int32_t> items,
                                     std::span<const float> values) const {
    // Also false of what is no number.
    if (!std::ranges::all_of(values, [](float r) { return std::abs(r) <= rating_max; }))
        return error{errc::data, "a rating is beyond 1e9; leave it out, or divide all ratings"};
    if (std::ranges::adjacent_find(items, std::greater_equal{}) != items.end())
        return error{errc::protocol, "a piece of a matrix: the columns of a row do not rise"};
    return {};
}

result<void> user_ratings::take(const scheduled::payload& piece) {
    const auto learned = scheduled::read_matrix_piece(piece, options_.items);
    if (!learned)
        return learned.failure();
    const auto held_out = scheduled::read_held_out(piece, options_.items);
    if (!held_out)
        return held_out.failure();
    if (learned->rows() > 0 && !learned->is_sparse())
        return error{errc::protocol, "a piece of the ratings is dense"};
    if (counts_.size() + learned->rows() > options_.users)
        return error{errc::protocol, "a worker is dealt more users than its share has"};
    for (std::size_t row = 0; row < learned->rows(); ++row) {
        const auto user = static_cast<std::uint32_t>(counts_.size());
        const auto items = row_of(learned->indices, learned->starts, row);
        const auto values = row_of(learned->values, learned->starts, row);
        if (auto fits = check_row(items, values); !fits)
            return fits;
        learned_.append(user, items, values);
        moments_.add(moments_of(values));
        counts_.push_back(static_cast<std::uint32_t>(items.size()));
        if (options_.keeps_rated)
            append(rated_, items, {});
        if (!*held_out) {
            append(held_out_rows_, {}, {});
            continue;
        }
        const auto hidden = row_of((*held_out)->indices, (*held_out)->starts, row);
        const auto hidden_values = row_of((*held_out)->values, (*held_out)->starts, row);
        if (auto fits = check_row(hidden, hidden_values); !fits)
            return fits;
        held_out_.append(user, hidden, hidden_values);
        append(held_out_rows_, hidden, hidden_values);
    }
    return {};
}

result<void> user_ratings::complete() {
    if (counts_.size() != options_.users)
        return error{errc::protocol, "a worker is dealt fewer users than its share has"};
    learned_.finish();
    held_out_.finish();
    return {};
}

result<void> user_ratings::save(memory_pool& memory, scheduled::saved_part& to) const {
    scheduled::state_writer write{memory};
    write("users", std::array{static_cast<std::int64_t>(options_.users)});
    if (!held_out_rows_.items.empty())
        write("held out starts", held_out_rows_.starts)("held out items", held_out_rows_.items)(
            "held out ratings", held_out_rows_.values);
    if (options_.keeps_rated)
        write("rated starts", rated_.starts)("rated items", rated_.items);
    auto written = std::move(write).finish();
    if (!written)
        return written.failure();
    std::ranges::move(written->names, std::back_inserter(to.names));
    std::ranges::move(written->tensors, std::back_inserter(to.tensors));
    return {};
}

result<void> user_ratings::check_saved(const scheduled::saved_part& saved) const {
    const auto users = scheduled::read_state<std::int64_t>(saved, "users");
    if (!users)
        return users.failure();
    bool fits = users->size() == 1 && users->front() == static_cast<std::int64_t>(options_.users);
    const auto check = [&](const rating_rows& rows, const std::string& name) -> result<void> {
        const auto starts = scheduled::read_state<std::int64_t>(saved, name + " starts");
        const auto items = scheduled::read_state<std::int32_t>(saved, name + " items");
        if (const error* failure = scheduled::first_failure(starts, items))
            return *failure;
        fits = fits && std::ranges::equal(*starts, rows.starts) &&
               std::ranges::equal(*items, rows.items);
        return {};
    };
    if (options_.keeps_rated)
        if (auto checked = check(rated_, "rated"); !checked)
            return checked;
    if (!held_out_rows_.items.empty()) {
        if (auto checked = check(held_out_rows_, "held out"); !checked)
            return checked;
        const auto values = scheduled::read_state<float>(saved, "held out ratings");
        if (!values)
            return values.failure();
        fits = fits && std::ranges::equal(*values, held_out_rows_.values);
    }
    if (!fits)
        return error{errc::protocol, "the saved ratings of factorization are of other data"};
    return {};
}

} // namespace troupe::factorization

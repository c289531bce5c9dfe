#include "apps/factorization/coordinate_users.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "actors/scheduled/named_numbers.hpp"
#include "apps/factorization/coordinate_start.hpp"

namespace troupe::factorization {

namespace {

error of_another_build(const coordinate_step& step, const coordinate_rows& rows) {
    return {errc::protocol, "a scheduler of factorization has other phases than its worker (" +
                                text_of(step, rows) + "); start nodes of the same build"};
}

double square_of(float f) {
    return static_cast<double>(f) * static_cast<double>(f);
}

// Calls f(place, value) for each value of the tiles: its place in the order of users, and of items for each, which is the
// same however items are divided into tiles.
template <class Tile, class Function>
void in_order_of_users(std::span<Tile> tiles, const std::vector<std::uint32_t>& counts,
                       Function f) {
    std::vector<std::size_t> next(counts.size());
    std::exclusive_scan(counts.begin(), counts.end(), next.begin(), std::size_t{0});
    for (Tile& tile : tiles)
        for (std::size_t v = 0; v < tile.users.size(); ++v)
            for (std::size_t k = tile.starts[v]; k < tile.starts[v + 1]; ++k)
                f(next[tile.users[v]]++, tile.values[k]);
}

} // namespace

coordinate_options coordinates_of(const scheduled::worker_site& site,
                                  const factorization_settings& settings) {
    const coordinate_rows form{settings.rank, settings.has_biases};
    const coordinate_order order = order_of(site, form.groups());
    return {site.memory, settings, site.seed,           site.data.columns,
            site.rows,   order,    sets_of(site, order)};
}

coordinate_users::coordinate_users(coordinate_options options)
    : options_{std::move(options)}, form_{options_.settings.rank, options_.settings.has_biases},
      ratings_{{options_.users.count, options_.items,
                tiles_of(options_.sets, std::numeric_limits<std::uint64_t>::max() / 2),
                options_.settings.rankings > 0}} {}

result<void> coordinate_users::data_is_complete() {
    if (auto complete = ratings_.complete(); !complete)
        return complete;
    auto made = tensor::allocate(*options_.memory, data_type::float32,
                                 {form_.count(), std::size_t{options_.users.count}});
    auto all = tensor::allocate(*options_.memory, data_type::float32,
                                {form_.count(), std::size_t{options_.items}});
    if (const error* failure = scheduled::first_failure(made, all))
        return failure->in("the factors of " + std::to_string(options_.users.count) +
                           " users and of all " + std::to_string(options_.items) +
                           " items; use a smaller rank, or by: sgd, which keeps fewer items");
    users_ = std::move(*made);
    items_ = std::move(*all);
    std::ranges::fill(users_.mutable_values<float>(), 0.0F);
    std::ranges::fill(items_.mutable_values<float>(), 0.0F);
    if (form_.has_biases)
        std::ranges::fill(users(form_.item_biases()), 1.0F);
    return {};
}

std::span<float> coordinate_users::users(std::size_t row) {
    return users_.mutable_values<float>().subspan(row * options_.users.count, options_.users.count);
}
std::span<float> coordinate_users::items(std::size_t row) {
    return items_.mutable_values<float>().subspan(row * options_.items, options_.items);
}

// ---- phases ----

result<void> coordinate_users::begin(const rating_moments& all) {
    all_ = all;
    const auto mean = static_cast<float>(level_of(all, form_.has_biases).mean);
    for (rating_tile& tile : ratings_.learned().tiles())
        for (float& r : tile.values)
            r -= mean;
    draw_items(items_.mutable_values<float>(), form_, options_.seed, {0, options_.items}, all);
    return {};
}

result<void> coordinate_users::apply(const scheduled::phase_deltas& deltas) {
    const coordinate_step step = options_.order.step(deltas.number);
    const bool has_changes =
        step.what == coordinate_step::kind::moments || step.what == coordinate_step::kind::items;
    if (deltas.changes.empty() == has_changes)
        return of_another_build(step, form_);
    if (!has_changes)
        return {};
    if (step.what == coordinate_step::kind::moments) {
        const auto m = scheduled::read<double>(deltas.changes, 0, 3, "the mean of the ratings");
        if (!m)
            return m.failure();
        return begin({(*m)[0], (*m)[1], (*m)[2]});
    }
    const scheduled::number_range set =
        options_.sets[step.scheduler * options_.order.sets + step.set];
    const auto changed =
        scheduled::read<float>(deltas.changes, 0, set.count, "the factors of a set of items");
    if (!changed)
        return changed.failure();
    std::ranges::copy(*changed, items(form_.of_group(step.group)).subspan(set.first).begin());
    return {};
}

void coordinate_users::begin_group(std::uint64_t group) {
    const std::size_t row = form_.of_group(group);
    const bool is_of_biases = form_.has_biases && group == 0;
    if (is_of_biases)
        take_out(form_.user_biases(), true);
    take_out(row, !is_of_biases);
}

// Puts the product of the row that is out back into the residuals, as it is now, and takes this one's out; the users' become
// the best ones if they are to fit.
void coordinate_users::take_out(std::optional<std::size_t> row, bool fits_users) {
    const std::size_t in = out_.value_or(0), out = row.value_or(0);
    const float is_in = out_ ? 1.0F : 0.0F, is_out = row ? 1.0F : 0.0F;
    const std::span<float> in_users = users(in), in_items = items(in), out_users = users(out),
                           out_items = items(out);
    std::vector<double> products(fits_users ? out_users.size() : 0), squares(products.size());
    for (rating_tile& tile : ratings_.learned().tiles())
        for (std::size_t v = 0; v < tile.users.size(); ++v) {
            const std::uint32_t u = tile.users[v];
            const float p_in = is_in * in_users[u], p_out = is_out * out_users[u];
            const float* const q_in = in_items.data() + tile.range.first;
            const float* const q_out = out_items.data() + tile.range.first;
            float product = 0, square = 0;
            for (std::size_t k = tile.starts[v]; k < tile.starts[v + 1]; ++k) {
                const std::uint32_t i = tile.items[k];
                const float q = q_out[i];
                const float r = tile.values[k] - p_in * q_in[i] + p_out * q;
                tile.values[k] = r;
                product += r * q;
                square += q * q;
            }
            if (fits_users) {
                products[u] += static_cast<double>(product);
                squares[u] += static_cast<double>(square);
            }
        }
    out_ = row;
    if (!fits_users)
        return;
    for (std::size_t u = 0; u < products.size(); ++u) {
        const double weight = squares[u] + options_.settings.penalty * ratings_.counts()[u];
        out_users[u] = weight > 0 ? static_cast<float>(products[u] / weight) : 0.0F;
    }
}

// For each item of a set: the products of its users' factors with the residuals, and their squares with the penalty.
result<scheduled::payload> coordinate_users::partial_of(std::size_t set) {
    const std::span<float> factors = users(*out_);
    const scheduled::number_range range = options_.sets[set];
    std::vector<double> products(range.count), weights(range.count);
    for (const rating_tile& tile : ratings_.learned().tiles(set)) {
        double* const product = products.data() + (tile.range.first - range.first);
        double* const weight = weights.data() + (tile.range.first - range.first);
        for (std::size_t v = 0; v < tile.users.size(); ++v) {
            const double p = static_cast<double>(factors[tile.users[v]]);
            const double square = p * p + options_.settings.penalty;
            for (std::size_t k = tile.starts[v]; k < tile.starts[v + 1]; ++k) {
                product[tile.items[k]] += p * static_cast<double>(tile.values[k]);
                weight[tile.items[k]] += square;
            }
        }
    }
    return scheduled::payload_of(*options_.memory, products, weights);
}

result<scheduled::payload> coordinate_users::push(const scheduled::phase& p, compute_context&) {
    const coordinate_step step = options_.order.step(p.number);
    switch (step.what) {
    case coordinate_step::kind::moments: {
        const rating_moments& m = ratings_.moments();
        return scheduled::payload_of(*options_.memory, std::array{m.count, m.mean, m.squares});
    }
    case coordinate_step::kind::items:
        if (step.begins_group)
            begin_group(step.group);
        if (!out_)
            return error{errc::protocol, "a phase of factorization does not follow its group's"};
        return partial_of(step.scheduler * options_.order.sets + step.set);
    case coordinate_step::kind::idle:
        return scheduled::payload{};
    default:
        return of_another_build(step, form_);
    }
}

// Row by row, as all of a row are close to each other.
void coordinate_users::add_held_out(sweep_sums& to) {
    const auto mean = static_cast<float>(level_of(all_, form_.has_biases).mean);
    for (const rating_tile& tile : ratings_.held_out().tiles()) {
        std::vector<float> errors = tile.values;
        for (float& e : errors)
            e -= mean;
        for (std::size_t row = 0; row < form_.count(); ++row) {
            const std::span<float> p = users(row), q = items(row).subspan(tile.range.first);
            for (std::size_t v = 0; v < tile.users.size(); ++v)
                for (std::size_t k = tile.starts[v]; k < tile.starts[v + 1]; ++k)
                    errors[k] -= p[tile.users[v]] * q[tile.items[k]];
        }
        to.held_out += static_cast<double>(errors.size());
        for (const float e : errors)
            to.held_out_squares += square_of(e);
    }
}

sweep_sums coordinate_users::sums() {
    sweep_sums s;
    s.ratings = ratings_.moments().count;
    for (const rating_tile& tile : ratings_.learned().tiles())
        for (const float r : tile.values)
            s.squares += square_of(r);
    std::vector<std::uint32_t> item_counts(options_.items);
    for (const rating_tile& tile : ratings_.learned().tiles())
        for (const std::uint32_t item : tile.items)
            ++item_counts[tile.range.first + item];
    for (std::size_t row = 0; row < form_.count(); ++row) {
        const std::span<float> p = users(row), q = items(row);
        if (!form_.has_biases || row != form_.item_biases())
            for (std::size_t u = 0; u < p.size(); ++u)
                s.penalised += ratings_.counts()[u] * square_of(p[u]);
        if (!form_.has_biases || row != form_.user_biases())
            for (std::size_t i = 0; i < q.size(); ++i)
                s.penalised += item_counts[i] * square_of(q[i]);
    }
    add_held_out(s);
    return s;
}

// All for scheduler 0.
result<scheduled::payload> coordinate_users::probe(const scheduled::phase& p,
                                                   std::uint32_t scheduler, compute_context&) {
    if (const coordinate_step step = options_.order.step(p.number);
        step.what != coordinate_step::kind::probe)
        return of_another_build(step, form_);
    if (scheduler > 0)
        return to_payload(*options_.memory, {});
    take_out({}, false);
    return to_payload(*options_.memory, sums());
}

result<void> coordinate_users::pass(const scheduled::phase& p, std::uint32_t, compute_context&) {
    const coordinate_step step = options_.order.step(p.number);
    if (step.what == coordinate_step::kind::probe)
        take_out({}, false);
    else if (step.begins_group)
        begin_group(step.group);
    return {};
}

std::string coordinate_users::describe(const scheduled::phase& p) const {
    return text_of(options_.order.step(p.number), form_);
}

// ---- as it is saved ----

result<scheduled::saved_part> coordinate_users::save() const {
    std::vector<float> residuals(ratings_.learned().ratings());
    in_order_of_users(ratings_.learned().tiles(), ratings_.counts(),
                      [&](std::size_t at, float r) { residuals[at] = r; });
    scheduled::state_writer write{*options_.memory};
    write("user factors", users_.values<float>())("item factors", items_.values<float>())(
        "residuals", residuals)("moments", std::array{all_.count, all_.mean, all_.squares})(
        "row that is out", std::array{out_ ? static_cast<std::int64_t>(*out_) : std::int64_t{-1}});
    auto saved = std::move(write).finish();
    if (!saved)
        return saved;
    if (auto more = ratings_.save(*options_.memory, *saved); !more)
        return more.failure();
    return saved;
}

result<void> coordinate_users::load(const scheduled::saved_part& saved) {
    if (auto fits = ratings_.check_saved(saved); !fits)
        return fits;
    const auto users = scheduled::read_state<float>(saved, "user factors");
    const auto items = scheduled::read_state<float>(saved, "item factors");
    const auto residuals = scheduled::read_state<float>(saved, "residuals");
    const auto moments = scheduled::read_state<double>(saved, "moments");
    const auto out = scheduled::read_state<std::int64_t>(saved, "row that is out");
    if (const error* failure = scheduled::first_failure(users, items, residuals, moments, out))
        return *failure;
    if (users->size() != users_.elements() || items->size() != items_.elements() ||
        residuals->size() != ratings_.learned().ratings() || moments->size() != 3 ||
        out->size() != 1 || out->front() < -1 ||
        out->front() >= static_cast<std::int64_t>(form_.count()))
        return error{errc::protocol, "the saved users of factorization have other sizes"};
    std::ranges::copy(*users, users_.mutable_values<float>().begin());
    std::ranges::copy(*items, items_.mutable_values<float>().begin());
    in_order_of_users(ratings_.learned().tiles(), ratings_.counts(),
                      [&](std::size_t at, float& r) { r = (*residuals)[at]; });
    all_ = {(*moments)[0], (*moments)[1], (*moments)[2]};
    out_ = out->front() < 0 ? std::optional<std::size_t>{} : static_cast<std::size_t>(out->front());
    return {};
}

} // namespace troupe::factorization

#include "apps/factorization/rotating_users.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "actors/scheduled/named_numbers.hpp"
#include "apps/factorization/factorization_limits.hpp"
#include "apps/factorization/first_factors.hpp"

namespace troupe::factorization {

namespace {

constexpr std::uint64_t order_streams = 0x6f72646572; // apart from those of factors

template <class T>
void shuffle(std::vector<T>& values, random_stream& random) {
    for (std::size_t i = values.size(); i > 1; --i)
        std::swap(values[i - 1], values[random.below(i)]);
}

double square_of(std::span<const float> factors) {
    float sum = 0;
    for (const float f : factors)
        sum += f * f;
    return static_cast<double>(sum);
}

} // namespace

rotating_options options_of(const scheduled::worker_site& site,
                            const factorization_settings& settings) {
    return {site.memory, settings,          site.seed, site.ring(),
            site.worker, site.data.columns, site.rows, site.blocks};
}

rotating_users::rotating_users(rotating_options options)
    : options_{std::move(options)}, stride_{stride_of(options_.settings.rank)},
      loops_{fastest_sgd_loops()}, ratings_{
                                       {options_.users.count, options_.items,
                                        tiles_of(options_.blocks,
                                                 limits::tile_bytes / (stride_ * sizeof(float))),
                                        options_.settings.rankings > 0}} {}

result<void> rotating_users::data_is_complete() {
    if (auto complete = ratings_.complete(); !complete)
        return complete;
    auto made = tensor::allocate(*options_.memory, data_type::float32,
                                 {std::size_t{options_.users.count}, stride_});
    if (!made)
        return made.failure().in("the factors of " + std::to_string(options_.users.count) +
                                 " users; use a smaller rank or more workers");
    factors_ = std::move(*made);
    biases_.assign(options_.users.count, 0.0F);
    const bool has_biases = options_.settings.has_biases;
    level_ = level_of(ratings_.moments(), has_biases);
    const float scale = first_user_scale(ratings_.moments(), has_biases);
    const std::span<float> all = factors_.mutable_values<float>();
    std::ranges::fill(all, 0.0F);
    for (std::size_t u = 0; u < biases_.size(); ++u) {
        if (ratings_.counts()[u] == 0)
            continue; // what the penalty alone makes of it
        const std::span<float> own = all.subspan(u * stride_, options_.settings.rank);
        draw_factors(own, options_.seed, factor_kind::user, options_.users.first + u, has_biases);
        for (float& f : own)
            f *= scale;
    }
    return {};
}

// ---- blocks ----

result<scheduled::payload> rotating_users::make_block(std::uint32_t block) {
    const scheduled::number_range items = options_.blocks.at(block);
    std::vector<float> factors(items.count * stride_);
    for (std::uint64_t i = 0; i < items.count; ++i)
        draw_factors(std::span{factors}.subspan(i * stride_, options_.settings.rank), options_.seed,
                     factor_kind::item, items.first + i, options_.settings.has_biases);
    return scheduled::payload_of(*options_.memory, factors, std::vector<float>(items.count),
                                 std::vector<std::int32_t>(items.count));
}

result<rotating_users::open_block> rotating_users::open(scheduled::held_block& block) const {
    if (block.number >= options_.blocks.size())
        return error{errc::protocol, "a block of items that the run has not"};
    const std::size_t items = options_.blocks[block.number].count;
    const auto factors =
        scheduled::read<float>(block.content, 0, items * stride_, "the factors of a block");
    const auto biases = scheduled::read<float>(block.content, 1, items, "the biases of a block");
    const auto counts =
        scheduled::read<std::int32_t>(block.content, 2, items, "the counts of a block");
    if (const error* failure = scheduled::first_failure(factors, biases, counts))
        return *failure;
    return open_block{block.content[0].mutable_values<float>(),
                      block.content[1].mutable_values<float>(),
                      block.content[2].mutable_values<std::int32_t>()};
}

// The first two sweeps do this with a block, beside learning.
void rotating_users::begin(const open_block& b, const scheduled::held_block& block) {
    if (block.turn < options_.ring.per_worker) {
        const float scale = first_scale(ratings_.moments(), options_.settings.has_biases);
        for (float& f : b.factors)
            f *= scale;
    }
    const std::uint64_t sweep = options_.ring.sweep_of_turn(block.turn);
    const scheduled::number_range items = options_.blocks[block.number];
    if (sweep == 0)
        for (const rating_tile& tile : ratings_.learned().tiles(block.number))
            for (const std::uint32_t item : tile.items)
                if (std::int32_t& n = b.counts[tile.range.first - items.first + item];
                    n < std::numeric_limits<std::int32_t>::max())
                    ++n;
    if (sweep == 1) // items without ratings: what the penalty alone makes of them
        for (std::size_t i = 0; i < b.counts.size(); ++i)
            if (b.counts[i] == 0)
                std::ranges::fill(b.factors.subspan(i * stride_, stride_), 0.0F);
}

// ---- turns ----

// One step on a rating and, with it, on its share of the penalty: p = (p + rate (e q)) / (1 + rate penalty), which no
// penalty makes diverge.
sgd_step rotating_users::step_in(std::uint64_t sweep) const {
    const factorization_settings& s = options_.settings;
    const double rate = s.rate * std::pow(1 - s.decay, static_cast<double>(sweep));
    const double scaled = rate / level_.spread;
    const double keep = 1 / (1 + scaled * s.penalty), bias_keep = 1 / (1 + rate * s.penalty);
    if (!s.has_biases)
        return {static_cast<float>(scaled * keep), static_cast<float>(keep), 0, 1};
    return {static_cast<float>(scaled * keep), static_cast<float>(keep),
            static_cast<float>(rate * bias_keep), static_cast<float>(bias_keep)};
}

// `first_item` counts from the block's first one.
factor_view rotating_users::view_of(const open_block& b, std::uint64_t first_item) {
    return {stride_,
            factors_.mutable_values<float>().data(),
            biases_.data(),
            b.factors.data() + first_item * stride_,
            b.biases.data() + first_item,
            static_cast<float>(level_.mean)};
}

double rotating_users::learn(const open_block& b, const scheduled::held_block& block) {
    const auto tiles = ratings_.learned().tiles(block.number);
    random_stream random{options_.seed ^ order_streams,
                         block.turn * options_.ring.workers + options_.worker};
    std::vector<std::size_t> order(tiles.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    shuffle(order, random);
    const sgd_step step = step_in(options_.ring.sweep_of_turn(block.turn));
    double squares = 0;
    std::vector<std::size_t> groups;
    for (const std::size_t t : order) {
        const rating_tile& tile = tiles[t];
        const std::size_t visits = tile.users.size();
        const std::size_t together =
            std::clamp<std::size_t>(visits / limits::users_together, 1, limits::users_together);
        groups.resize((visits + together - 1) / together);
        std::iota(groups.begin(), groups.end(), std::size_t{0});
        shuffle(groups, random);
        const factor_view view = view_of(b, tile.range.first - options_.blocks[block.number].first);
        for (const std::size_t group : groups)
            squares += loops_.learn(tile.view(), group * together,
                                    std::min(visits, (group + 1) * together), view, step);
    }
    return squares;
}

double rotating_users::squares(const open_block& b, std::uint32_t block) {
    double sum = 0;
    for (const rating_tile& tile : ratings_.held_out().tiles(block))
        sum += loops_.squares(tile.view(),
                              view_of(b, tile.range.first - options_.blocks[block].first));
    return sum;
}

result<scheduled::payload> rotating_users::turn(const scheduled::phase&,
                                                scheduled::held_block& block, compute_context&) {
    const auto b = open(block);
    if (!b)
        return b.failure();
    begin(*b, block);
    sweep_sums sums;
    for (const rating_tile& tile : ratings_.learned().tiles(block.number))
        sums.ratings += static_cast<double>(tile.items.size());
    sums.squares = learn(*b, block);
    for (const rating_tile& tile : ratings_.held_out().tiles(block.number))
        sums.held_out += static_cast<double>(tile.items.size());
    if (sums.held_out > 0)
        sums.held_out_squares = squares(*b, block.number);
    if (options_.ring.is_last_of_sweep(block.turn))
        for (std::size_t i = 0; i < b->counts.size(); ++i)
            sums.penalised += b->counts[i] * (square_of(b->factors.subspan(i * stride_, stride_)) +
                                              square_of(b->biases.subspan(i, 1)));
    auto partial = to_payload(*options_.memory, sums);
    if (!partial || block.turn > 0)
        return partial;
    const rating_moments& m = ratings_.moments();
    auto level =
        scheduled::numbers_of<double>(*options_.memory, std::array{m.count, m.mean, m.squares});
    if (!level)
        return level.failure();
    partial->push_back(std::move(*level));
    return partial;
}

result<scheduled::payload> rotating_users::probe(const scheduled::phase&, std::uint32_t,
                                                 compute_context&) {
    sweep_sums sums;
    const std::span<const float> all = factors_.values<float>();
    for (std::size_t u = 0; u < biases_.size(); ++u)
        sums.penalised += ratings_.counts()[u] * (square_of(all.subspan(u * stride_, stride_)) +
                                                  square_of(std::span{biases_}.subspan(u, 1)));
    return to_payload(*options_.memory, sums);
}

result<scheduled::payload> rotating_users::push(const scheduled::phase&, compute_context&) {
    return error{errc::usage, "factorization by sgd needs blocks that rotate"};
}

result<void> rotating_users::apply(const scheduled::phase_deltas& deltas) {
    if (deltas.changes.empty())
        return {};
    const auto level = scheduled::read<double>(deltas.changes, 0, 2, "the mean of the ratings");
    if (!level)
        return level.failure();
    shift_to({(*level)[0], (*level)[1]});
    return {};
}

// Predictions stay as they are.
void rotating_users::shift_to(const rating_level& level) {
    const auto shift = static_cast<float>(level_.mean - level.mean);
    for (std::size_t u = 0; u < biases_.size(); ++u)
        if (ratings_.counts()[u] > 0)
            biases_[u] += shift;
    level_ = level;
}

std::string rotating_users::describe(const scheduled::phase& p) const {
    if (p.is_probe)
        return "probe";
    const std::uint64_t turn = options_.ring.turns_before(p.number);
    return "items of block " + std::to_string(options_.ring.block_of(options_.worker, turn));
}

// ---- as it is saved ----

result<scheduled::saved_part> rotating_users::save() const {
    scheduled::state_writer write{*options_.memory};
    write("user factors", factors_.values<float>())("user biases", biases_)(
        "level", std::array{level_.mean, level_.spread});
    auto saved = std::move(write).finish();
    if (!saved)
        return saved;
    if (auto more = ratings_.save(*options_.memory, *saved); !more)
        return more.failure();
    return saved;
}

result<void> rotating_users::load(const scheduled::saved_part& saved) {
    if (auto fits = ratings_.check_saved(saved); !fits)
        return fits;
    const auto factors = scheduled::read_state<float>(saved, "user factors");
    const auto biases = scheduled::read_state<float>(saved, "user biases");
    const auto level = scheduled::read_state<double>(saved, "level");
    if (const error* failure = scheduled::first_failure(factors, biases, level))
        return *failure;
    if (factors->size() != factors_.elements() || biases->size() != biases_.size() ||
        level->size() != 2)
        return error{errc::protocol, "the saved users of factorization have other sizes"};
    std::ranges::copy(*factors, factors_.mutable_values<float>().begin());
    biases_.assign(biases->begin(), biases->end());
    level_ = {(*level)[0], (*level)[1]};
    return {};
}

} // namespace troupe::factorization

// Ants and their trails. A walk is serial, and so are its random numbers; what a step does with the candidates of a city,
// and the search for the nearest city where none is left, are loops whose lanes share them.
#include <algorithm>
#include <cmath>

#include "kernels/cpu/cpu_operations.hpp"
#include "kernels/cpu/tour_loops.hpp"
#include "schemas/base/random.hpp"

namespace troupe {

namespace {

using cpu::tour_loops;

constexpr std::size_t axes_max = 3;

// Memory for a walk: eight bytes for each number.
class walk_memory {
  public:
    explicit walk_memory(const buffer_ref& memory) : next_{memory->data()} {}

    static std::size_t bytes(std::size_t cities, std::size_t axes, std::size_t count) noexcept {
        return 8 * ((axes + 3) * cities + 2 * count);
    }

    template <class T>
    T* take(std::size_t count) noexcept {
        T* const taken = reinterpret_cast<T*>(next_);
        next_ += 8 * count;
        return taken;
    }

  private:
    std::byte* next_;
};

// The cities that an ant has not visited. Swaps the last one into the place of the one that goes.
class left_list {
  public:
    left_list(const construct_tours& op, walk_memory& memory)
        : cities_{op.tours.shape()[1]}, axes_{op.places != nullptr ? op.places->shape()[1] : 0},
          mask_{memory.take<std::uint64_t>(cities_)}, at_{memory.take<std::uint32_t>(cities_)},
          numbers_{memory.take<double>(cities_)} {
        for (std::size_t a = 0; a < axes_; ++a)
            along_[a] = memory.take<double>(cities_);
    }

    void fill(const double* places) noexcept {
        count_ = cities_;
        std::fill_n(mask_, cities_, ~std::uint64_t{0});
        for (std::size_t c = 0; c < cities_; ++c) {
            at_[c] = static_cast<std::uint32_t>(c);
            numbers_[c] = static_cast<double>(c);
            for (std::size_t a = 0; a < axes_; ++a)
                along_[a][c] = places[c * axes_ + a];
        }
    }
    void remove(std::size_t c) noexcept {
        mask_[c] = 0;
        const std::size_t at = at_[c];
        --count_;
        numbers_[at] = numbers_[count_];
        for (std::size_t a = 0; a < axes_; ++a)
            along_[a][at] = along_[a][count_];
        at_[static_cast<std::size_t>(numbers_[at])] = static_cast<std::uint32_t>(at);
    }

    std::size_t count() const noexcept { return count_; }
    const std::uint64_t* mask() const noexcept { return mask_; }
    cpu::left_cities all() const noexcept {
        return {count_, numbers_, {along_[0], along_[1], along_[2]}};
    }

  private:
    const std::size_t cities_, axes_;
    std::size_t count_ = 0;
    std::uint64_t* mask_;
    std::uint32_t* at_; // in the list
    double* numbers_;
    double* along_[axes_max] = {};
};

std::size_t nearest_by_length(const cpu::left_cities& left, const std::int32_t* row) noexcept {
    std::size_t nearest = static_cast<std::size_t>(left.numbers[0]);
    for (std::size_t i = 1; i < left.count; ++i)
        if (const auto c = static_cast<std::size_t>(left.numbers[i]);
            row[c] < row[nearest] || (row[c] == row[nearest] && c < nearest))
            nearest = c;
    return nearest;
}

// One ant after the other.
class walk {
  public:
    walk(const construct_tours& op, const tour_loops& loops, walk_memory& memory)
        : op_{op}, loops_{loops}, cities_{op.tours.shape()[1]}, count_{op.on.candidates.shape()[1]},
          candidates_{op.on.candidates.values<std::int32_t>().data()},
          nearness_{op.on.nearness.values<double>().data()},
          trails_{op.on.trails.mutable_values<double>().data()},
          all_weights_{op.on.weights.mutable_values<double>().data()},
          places_{op.places != nullptr ? op.places->values<double>().data() : nullptr},
          lengths_{op.lengths != nullptr ? op.lengths->values<std::int32_t>().data() : nullptr},
          left_{op, memory}, weights_{memory.take<double>(count_)}, sums_{memory.take<double>(
                                                                        count_)} {}

    void run(random_stream random, std::int32_t* tour) {
        left_.fill(places_);
        std::size_t at = random.below(cities_);
        for (;;) {
            *tour++ = static_cast<std::int32_t>(at);
            left_.remove(at);
            if (left_.count() == 0)
                return;
            const std::size_t k = choose(at, random);
            if (k == count_) {
                at = nearest(at);
                continue;
            }
            const auto next = static_cast<std::size_t>(candidates_[at * count_ + k]);
            if (op_.taken.share > 0)
                take_up(at, next);
            at = next;
        }
    }

  private:
    std::size_t choose(std::size_t at, random_stream& random) {
        const cpu::candidate_row row{candidates_ + at * count_, all_weights_ + at * count_, count_};
        const bool is_greedy = op_.greed > 0 && random.uniform() < op_.greed;
        if (!is_greedy && op_.choice == city_choice::exact) {
            loops_.left_sums(row, left_.mask(), weights_, sums_);
            return choose_exactly(random);
        }
        loops_.left_weights(row, left_.mask(), weights_);
        if (!is_greedy)
            for (std::size_t k = 0; k < count_; ++k)
                weights_[k] *= 1 - random.uniform();
        return loops_.first_of_largest(weights_, count_);
    }

    std::size_t choose_exactly(random_stream& random) {
        if (count_ == 0 || !(sums_[count_ - 1] > 0))
            return count_;
        const std::size_t k =
            loops_.first_above(sums_, count_, random.uniform() * sums_[count_ - 1]);
        if (k < count_)
            return k;
        std::size_t last = count_ - 1;
        while (!(weights_[last] > 0))
            --last;
        return last;
    }

    std::size_t nearest(std::size_t from) const {
        return lengths_ != nullptr
                   ? nearest_by_length(left_.all(), lengths_ + from * cities_)
                   : loops_.nearest(left_.all(), places_ + from * op_.places->shape()[1]);
    }

    void take_up(std::size_t from, std::size_t to) {
        take_up_way(from, to);
        if (op_.on.both_ways)
            take_up_way(to, from);
    }
    void take_up_way(std::size_t from, std::size_t to) {
        const std::int32_t* const row = candidates_ + from * count_;
        const std::size_t k = static_cast<std::size_t>(
            std::find(row, row + count_, static_cast<std::int32_t>(to)) - row);
        if (k == count_)
            return;
        const std::size_t e = from * count_ + k;
        trails_[e] = (1 - op_.taken.share) * trails_[e] + op_.taken.share * op_.taken.to;
        all_weights_[e] = trail_power(trails_[e], op_.on.power) * nearness_[e];
    }

    const construct_tours& op_;
    const tour_loops& loops_;
    const std::size_t cities_, count_;
    const std::int32_t* const candidates_;
    const double* const nearness_;
    double* const trails_;
    double* const all_weights_;
    const double* const places_;
    const std::int32_t* const lengths_;
    left_list left_;
    double* const weights_; // of the candidates that are left
    double* const sums_;
};

result<void> check_cities(const tour_loops& loops, const tensor& numbers, std::size_t cities) {
    const auto all = numbers.values<std::int32_t>();
    if (all.empty() || loops.largest(all.data(), all.size()) < cities)
        return {};
    const auto wrong = std::ranges::find_if(
        all, [cities](std::int32_t c) { return static_cast<std::uint32_t>(c) >= cities; });
    return no_city(numbers, static_cast<std::size_t>(wrong - all.begin()), cities);
}

} // namespace

result<void> cpu_operations::compute(const construct_tours& op) {
    const std::size_t ants = op.tours.shape()[0], cities = op.tours.shape()[1];
    if (auto fits = check_cities(tour_loops_, op.on.candidates, cities); !fits)
        return fits;
    const std::size_t axes = op.places != nullptr ? op.places->shape()[1] : 0;
    const auto taken =
        pool_.allocate(walk_memory::bytes(cities, axes, op.on.candidates.shape()[1]));
    if (!taken)
        return taken.failure();
    walk_memory memory{*taken};
    walk one{op, tour_loops_, memory};
    std::int32_t* const tours = op.tours.mutable_values<std::int32_t>().data();
    for (std::size_t i = 0; i < ants; ++i)
        one.run(random_stream{op.seed, op.first_ant + i}, tours + i * cities);
    return {};
}

result<void> cpu_operations::compute(const update_trails& op) {
    const std::size_t cities = op.tours.shape()[1];
    for (const tensor* numbers : {&op.on.candidates, &op.tours})
        if (auto fits = check_cities(tour_loops_, *numbers, cities); !fits)
            return fits;
    const auto trails = op.on.trails.mutable_values<double>();
    const auto nearness = op.on.nearness.values<double>();
    const auto weights = op.on.weights.mutable_values<double>();
    if (!op.evaporates_laid_alone && op.kept != 1)
        tour_loops_.scale(op.kept, trails.data(), trails.size());
    for (std::size_t i = 0; i < op.tours.shape()[0] && cities > 0; ++i)
        tour_loops_.lay({.trails = trails.data(),
                         .candidates = op.on.candidates.values<std::int32_t>().data(),
                         .count = op.on.candidates.shape()[1],
                         .tour = op.tours.values<std::int32_t>().data() + i * cities,
                         .cities = cities,
                         .kept = op.evaporates_laid_alone ? op.kept : 1,
                         .amount = op.amounts.values<double>()[i],
                         .both_ways = op.on.both_ways});
    tour_loops_.limit({op.low, op.high}, trails.data(), trails.size());
    if (op.on.power <= 8 && op.on.power == std::floor(op.on.power))
        tour_loops_.weigh(static_cast<std::size_t>(op.on.power), trails.data(), nearness.data(),
                          weights.data(), weights.size());
    else
        for (std::size_t e = 0; e < weights.size(); ++e)
            weights[e] = trail_power(trails[e], op.on.power) * nearness[e];
    return {};
}

} // namespace troupe

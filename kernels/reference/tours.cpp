#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/reference/city_choice.hpp"
#include "kernels/reference/reference_operations.hpp"

namespace troupe {

namespace {

// The trails of an operation, by city and place among its candidates.
class trail_table {
  public:
    explicit trail_table(const trail_operands& on)
        : on_{on}, count_{on.candidates.shape()[1]}, candidates_{
                                                         on.candidates.values<std::int32_t>()} {}

    std::size_t count() const { return count_; }
    std::size_t candidate(std::size_t city, std::size_t k) const {
        return static_cast<std::size_t>(candidates_[city * count_ + k]);
    }
    double weight(std::size_t city, std::size_t k) const {
        return on_.weights.values<double>()[city * count_ + k];
    }
    // The place of `to` among the candidates of `from`, if it is one.
    std::optional<std::size_t> place(std::size_t from, std::size_t to) const {
        for (std::size_t k = 0; k < count_; ++k)
            if (candidate(from, k) == to)
                return k;
        return {};
    }

    // trail = kept * trail + amount on a way, and on the way back.
    void lay(std::size_t from, std::size_t to, double kept, double amount) {
        change(from, to, kept, amount);
        if (on_.both_ways)
            change(to, from, kept, amount);
    }
    void weigh(std::size_t e) {
        on_.weights.mutable_values<double>()[e] =
            trail_power(on_.trails.values<double>()[e], on_.power) *
            on_.nearness.values<double>()[e];
    }

  private:
    void change(std::size_t from, std::size_t to, double kept, double amount) {
        if (const auto k = place(from, to)) {
            double& trail = on_.trails.mutable_values<double>()[from * count_ + *k];
            trail = kept * trail + amount;
            weigh(from * count_ + *k);
        }
    }

    const trail_operands& on_;
    const std::size_t count_;
    const std::span<const std::int32_t> candidates_;
};

std::optional<error> first_wrong(const tensor& numbers, std::size_t cities) {
    const auto all = numbers.values<std::int32_t>();
    for (std::size_t i = 0; i < all.size(); ++i)
        if (all[i] < 0 || static_cast<std::size_t>(all[i]) >= cities)
            return no_city(numbers, i, cities);
    return {};
}

// How far it is, as what orders cities by nearness.
double distance(const construct_tours& op, std::size_t from, std::size_t to) {
    if (op.lengths != nullptr)
        return op.lengths->values<std::int32_t>()[from * op.lengths->shape()[0] + to];
    const auto places = op.places->values<double>();
    const std::size_t axes = op.places->shape()[1];
    double sum = 0;
    for (std::size_t a = 0; a < axes; ++a) {
        const double along = places[from * axes + a] - places[to * axes + a];
        sum += along * along;
    }
    return sum;
}

// The place among the candidates, or their count.
std::size_t choose_candidate(const construct_tours& op, const trail_table& trails, std::size_t from,
                             const std::vector<bool>& is_left, random_stream& random) {
    std::vector<double> weights;
    for (std::size_t k = 0; k < trails.count(); ++k)
        weights.push_back(is_left[trails.candidate(from, k)] ? trails.weight(from, k) : 0);
    if (op.greed > 0 && random.uniform() < op.greed) {
        std::size_t best = trails.count();
        for (std::size_t k = 0; k < weights.size(); ++k)
            if (weights[k] > (best < k ? weights[best] : 0))
                best = k;
        return best;
    }
    return choose(op.choice, weights, random);
}

std::size_t nearest_left(const construct_tours& op, std::size_t from,
                         const std::vector<bool>& is_left) {
    std::optional<std::pair<double, std::size_t>> nearest;
    for (std::size_t to = 0; to < is_left.size(); ++to)
        if (const std::pair way{distance(op, from, to), to};
            is_left[to] && (!nearest || way < *nearest))
            nearest = way;
    return nearest->second;
}

void construct(const construct_tours& op, trail_table& trails, random_stream random,
               std::span<std::int32_t> tour) {
    std::vector<bool> is_left(tour.size(), true);
    std::size_t at = random.below(tour.size());
    for (std::size_t i = 0; i < tour.size(); ++i) {
        tour[i] = static_cast<std::int32_t>(at);
        is_left[at] = false;
        if (i + 1 == tour.size())
            break;
        const std::size_t k = choose_candidate(op, trails, at, is_left, random);
        const bool is_candidate = k < trails.count();
        const std::size_t next =
            is_candidate ? trails.candidate(at, k) : nearest_left(op, at, is_left);
        if (is_candidate && op.taken.share > 0)
            trails.lay(at, next, 1 - op.taken.share, op.taken.share * op.taken.to);
        at = next;
    }
}

} // namespace

result<void> reference_operations::compute(const construct_tours& op) {
    const std::size_t ants = op.tours.shape()[0], cities = op.tours.shape()[1];
    if (const auto wrong = first_wrong(op.on.candidates, cities))
        return *wrong;
    trail_table trails{op.on};
    const auto tours = op.tours.mutable_values<std::int32_t>();
    for (std::size_t i = 0; i < ants; ++i)
        construct(op, trails, random_stream{op.seed, op.first_ant + i},
                  tours.subspan(i * cities, cities));
    return {};
}

result<void> reference_operations::compute(const update_trails& op) {
    const std::size_t cities = op.tours.shape()[1];
    for (const tensor* numbers : {&op.on.candidates, &op.tours})
        if (const auto wrong = first_wrong(*numbers, cities))
            return *wrong;
    trail_table trails{op.on};
    const auto values = op.on.trails.mutable_values<double>();
    if (!op.evaporates_laid_alone)
        for (double& v : values)
            v *= op.kept;
    for (std::size_t i = 0; i < op.tours.shape()[0]; ++i) {
        const auto tour = op.tours.values<std::int32_t>().subspan(i * cities, cities);
        for (std::size_t j = 0; j < cities; ++j)
            trails.lay(static_cast<std::size_t>(tour[j == 0 ? cities - 1 : j - 1]),
                       static_cast<std::size_t>(tour[j]), op.evaporates_laid_alone ? op.kept : 1,
                       op.amounts.values<double>()[i]);
    }
    for (std::size_t e = 0; e < values.size(); ++e) {
        values[e] = std::clamp(values[e], op.low, op.high);
        trails.weigh(e);
    }
    return {};
}

} // namespace troupe

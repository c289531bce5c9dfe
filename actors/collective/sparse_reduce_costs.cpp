// The part of sparse_reduce.hpp that sends nothing: costs, and the choice of an algorithm.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "actors/collective/sparse_reduce.hpp"

namespace troupe {

namespace {

// The messages and bytes that the busiest rank sends.
struct sparse_cost {
    double messages = 0;
    double bytes = 0;
};

// The bytes of a part of a vector.
template <class Union>
struct part_bytes {
    const sparse_load& load;
    double numbers; // that a rank keeps
    // The ratio of the numbers in a sum of so many ranks' vectors to those in one vector.
    Union union_of;
    bool lie_evenly; // else all numbers may lie in one part

    // This part (a fraction) of the sum over so many ranks; `is_sum`: it is a final sum.
    double operator()(double among, double part, bool is_sum) const {
        const double each = is_sum ? load.values.bytes_each() : sizeof(float);
        const double count = numbers * union_of(among) * (lie_evenly ? part : 1);
        return std::min((sizeof(std::uint32_t) + each) * count,
                        each * part * static_cast<double>(load.dimension)) +
               dense(part);
    }
    // The bytes of this part with all numbers.
    double full(double part) const {
        return load.values.bytes_each() * part * static_cast<double>(load.dimension) + dense(part);
    }
    double dense(double part) const {
        return sizeof(float) * part * static_cast<double>(load.dense);
    }
};
template <class Union>
part_bytes(const sparse_load&, double, Union, bool) -> part_bytes<Union>;

// The cost of recursive doubling or halving doubling.
template <class Bytes>
sparse_cost cost_of_doubling(bool halves, std::uint32_t ranks, const Bytes& bytes) {
    const double p = ranks, power = std::bit_floor(ranks);
    sparse_cost cost;
    double held = 1; // ranks whose numbers are in a partner's vector
    const bool folds = power < p;
    if (folds) // the busiest rank first adds another's vector, and sends it the whole sum at the end
        cost = {2, bytes(p, 1, halves)}, held = 2;
    for (double away = 1; away < power; away *= 2, ++cost.messages)
        cost.bytes += bytes(std::min(away * held, p), halves ? 0.5 / away : 1, false);
    for (double away = 1; halves && away < power; away *= 2, ++cost.messages)
        cost.bytes += bytes(p, away / power, true);
    if (folds) // or the rank that folds is the busiest, where sums are sent back in fewer bits
        cost.bytes = std::max(cost.bytes, bytes(1, 1, false));
    return cost;
}

template <class Bytes>
sparse_cost cost_of(sparse_algorithm algorithm, std::uint32_t ranks, const Bytes& bytes) {
    const bool halves = algorithm == sparse_algorithm::halving_doubling;
    if (halves || algorithm == sparse_algorithm::recursive_doubling)
        return cost_of_doubling(halves, ranks, bytes);
    const double p = ranks;
    const double block =
        algorithm == sparse_algorithm::split_dense ? bytes.full(1 / p) : bytes(p, 1 / p, true);
    return {2 * (p - 1), (p - 1) * (bytes(1, 1 / p, false) + block)};
}

// The ratio for vectors of which no two have a number at the same place.
double no_two(double among) {
    return among;
}

double most_of(const sparse_load& load) {
    return static_cast<double>(std::max(load.numbers, load.most));
}

// Rounds up to whole bytes; sums of fractions may be slightly too large.
std::size_t whole(double bytes) {
    return static_cast<std::size_t>(std::ceil(bytes - 1e-3));
}

} // namespace

std::optional<sparse_algorithm> choose_sparse(std::uint32_t ranks, const sparse_load& load,
                                              const reduce_costs& costs) {
    if (ranks < 2 || load.dimension > std::numeric_limits<std::uint32_t>::max())
        return std::nullopt;
    const auto numbers = static_cast<double>(load.numbers);
    const double share = numbers / std::max(static_cast<double>(load.dimension), 1.0);
    const auto union_of = [&](double among) {
        return share > 0 ? (1 - std::pow(1 - share, among)) / share : 0;
    };
    const auto time_of = [&](const sparse_cost& c) {
        return c.messages * costs.between_nodes.latency_ns +
               c.bytes * (costs.between_nodes.byte_ns + costs.add_byte_ns);
    };
    const std::size_t all = load.dimension + load.dense;
    const auto without = choose(proto::AllReduceAlgorithm::AUTO, ranks, all, costs);
    const std::size_t allowed = sizeof(float) * elements_sent_max(without, ranks, all);
    const double others = ranks - 1;
    const auto gathered = [&](double count) {
        const double each = sizeof(std::uint32_t) + load.values.bytes_each();
        return others * (each * count + sizeof(float) * static_cast<double>(load.dense));
    };
    std::optional<sparse_algorithm> best;
    double least = whole(gathered(most_of(load))) <= allowed ? time_of({others, gathered(numbers)})
                                                             : std::numeric_limits<double>::max();
    // The first of two that take equally long is chosen.
    for (const auto a : {sparse_algorithm::recursive_doubling, sparse_algorithm::split_dense,
                         sparse_algorithm::split_all_gather, sparse_algorithm::halving_doubling}) {
        const bool has_owners = a != sparse_algorithm::recursive_doubling;
        if ((!load.values.are_exact() && !has_owners) || bytes_sent_max(a, ranks, load) > allowed)
            continue;
        if (const double time =
                time_of(cost_of(a, ranks, part_bytes{load, numbers, union_of, true}));
            time < least || (!best && time == least)) {
            best = a;
            least = time;
        }
    }
    return best;
}

std::size_t bytes_sent(sparse_algorithm algorithm, std::uint32_t ranks, const sparse_load& load) {
    const part_bytes bytes{load, static_cast<double>(load.numbers), no_two, true};
    return whole(cost_of(algorithm, ranks, bytes).bytes);
}

std::size_t bytes_sent_max(sparse_algorithm algorithm, std::uint32_t ranks,
                           const sparse_load& load) {
    return whole(cost_of(algorithm, ranks, part_bytes{load, most_of(load), no_two, false}).bytes);
}

} // namespace troupe

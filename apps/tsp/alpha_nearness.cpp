#include "apps/tsp/alpha_nearness.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <tuple>

#include "apps/tsp/neighbours.hpp"

namespace troupe::tsp {

namespace {

constexpr int rounds = 100;
// A step for a degree too high by one, in mean edges: in the first round, and the share left of it from round to round.
constexpr double first_step = 0.2;
constexpr double shrinks = 0.944;
// The newest share of a step: the rest follows the degrees of the round before.
constexpr double newest = 0.7;

struct edge {
    double cost; // length and the weights of both
    city a, b;
    std::int64_t length;
};

// A shortest spanning tree, by Kruskal, with one edge more at the leaf that is farthest from a second city.
class weighted_tree {
  public:
    weighted_tree(std::size_t cities, std::vector<edge> edges)
        : edges_{std::move(edges)}, weights_(cities), degrees_(cities), sets_(cities),
          second_(cities) {}

    // Weights for which the tree is as long as can be: a lower bound of every tour's length.
    void ascend();
    void grow();

    std::span<const edge> edges() const noexcept { return edges_; }
    std::span<const std::array<city, 2>> tree() const noexcept { return tree_; }
    double cost(city a, city b, std::int64_t length) const noexcept {
        return static_cast<double>(length) + weights_[at(a)] + weights_[at(b)];
    }

  private:
    struct nearest_outside { // of the tree
        double cost;
        city to;
    };
    city set_of(city c) noexcept {
        while (sets_[at(c)] != c) {
            sets_[at(c)] = sets_[at(sets_[at(c)])];
            c = sets_[at(c)];
        }
        return c;
    }

    std::vector<edge> edges_;
    std::vector<double> weights_;
    std::vector<int> degrees_;
    std::vector<city> sets_;
    std::vector<nearest_outside> second_;
    std::vector<std::array<city, 2>> tree_;
    double length_ = 0; // without the weights
};

void weighted_tree::grow() {
    for (edge& e : edges_)
        e.cost = cost(e.a, e.b, e.length);
    std::ranges::sort(edges_, [](const edge& x, const edge& y) {
        return std::tie(x.cost, x.a, x.b) < std::tie(y.cost, y.a, y.b);
    });
    std::iota(sets_.begin(), sets_.end(), 0);
    std::ranges::fill(degrees_, 0);
    std::ranges::fill(second_, nearest_outside{0, no_city});
    tree_.clear();
    length_ = 0;
    const auto add = [&](city a, city b, double cost) {
        ++degrees_[at(a)];
        ++degrees_[at(b)];
        length_ += cost;
    };
    for (const edge& e : edges_) {
        const city a = set_of(e.a), b = set_of(e.b);
        if (a != b) {
            sets_[at(a)] = b;
            tree_.push_back({e.a, e.b});
            add(e.a, e.b, e.cost);
            continue;
        }
        for (const auto& [from, to] : {std::pair{e.a, e.b}, std::pair{e.b, e.a}})
            if (second_[at(from)].to == no_city)
                second_[at(from)] = {e.cost, to};
    }
    city leaf = no_city;
    for (city c = 0; at(c) < degrees_.size(); ++c)
        if (degrees_[at(c)] == 1 && second_[at(c)].to != no_city &&
            (leaf == no_city || second_[at(c)].cost > second_[at(leaf)].cost))
            leaf = c;
    if (leaf != no_city)
        add(leaf, second_[at(leaf)].to, second_[at(leaf)].cost);
    for (const double w : weights_)
        length_ -= 2 * w;
}

void weighted_tree::ascend() {
    double step = 0;
    for (const edge& e : edges_)
        step += first_step * static_cast<double>(e.length) / static_cast<double>(edges_.size());
    std::vector<double> best_weights = weights_;
    std::vector<int> before(weights_.size());
    double best = -std::numeric_limits<double>::infinity();
    for (int round = 0; round < rounds; ++round, step *= shrinks) {
        grow();
        if (length_ > best) {
            best = length_;
            best_weights = weights_;
        }
        for (std::size_t c = 0; c < weights_.size(); ++c) {
            const int too_many = degrees_[c] - 2;
            weights_[c] += step * (newest * too_many + (1 - newest) * before[c]);
            before[c] = too_many;
        }
    }
    weights_ = std::move(best_weights);
    grow();
}

// The longest edge on the way between two cities of the tree.
class rooted_tree {
  public:
    rooted_tree(const instance& of, const weighted_tree& weighted, std::size_t cities)
        : up_(cities, no_city), depths_(cities), costs_(cities), firsts_(cities + 1),
          beside_(2 * weighted.tree().size()) {
        for (const auto& [a, b] : weighted.tree()) {
            ++firsts_[at(a) + 1];
            ++firsts_[at(b) + 1];
        }
        std::partial_sum(firsts_.begin(), firsts_.end(), firsts_.begin());
        std::vector<std::size_t> ends(firsts_.begin(), firsts_.end() - 1);
        for (const auto& [a, b] : weighted.tree()) {
            beside_[ends[at(a)]++] = b;
            beside_[ends[at(b)]++] = a;
        }
        std::vector<city> waiting{0};
        while (!waiting.empty()) {
            const city c = waiting.back();
            waiting.pop_back();
            for (const city below : beside(c)) {
                if (below == up_[at(c)])
                    continue;
                up_[at(below)] = c;
                depths_[at(below)] = depths_[at(c)] + 1;
                costs_[at(below)] = weighted.cost(c, below, of.length(c, below));
                waiting.push_back(below);
            }
        }
    }
    std::span<const city> beside(city c) const noexcept {
        return std::span{beside_}.subspan(firsts_[at(c)], firsts_[at(c) + 1] - firsts_[at(c)]);
    }
    double longest_between(city a, city b) const noexcept {
        double longest = -std::numeric_limits<double>::infinity();
        while (a != b) {
            city& lower = depths_[at(a)] < depths_[at(b)] ? b : a;
            longest = std::max(longest, costs_[at(lower)]);
            lower = up_[at(lower)];
        }
        return longest;
    }

  private:
    std::vector<city> up_;
    std::vector<std::int32_t> depths_;
    std::vector<double> costs_; // of the edge up
    std::vector<std::size_t> firsts_;
    std::vector<city> beside_;
};

// Edges of the candidates, both ways, and of the tour, so that they lead everywhere; each once.
std::vector<edge> edges_of(const instance& of, std::span<const city> near,
                           std::span<const city> tour) {
    const std::size_t each = near.size() / of.cities();
    std::vector<edge> edges;
    edges.reserve(near.size() + tour.size());
    for (std::size_t i = 0; i < near.size(); ++i)
        edges.push_back({0, static_cast<city>(i / each), near[i], 0});
    for (std::size_t i = 0; i < tour.size(); ++i)
        edges.push_back({0, tour[i], tour[i + 1 < tour.size() ? i + 1 : 0], 0});
    for (edge& e : edges)
        if (e.b < e.a)
            std::swap(e.a, e.b);
    const auto ends = [](const edge& e) { return std::pair{e.a, e.b}; };
    std::ranges::sort(edges, {}, ends);
    const auto twice = std::ranges::unique(edges, {}, ends);
    edges.erase(twice.begin(), twice.end());
    for (edge& e : edges)
        e.length = of.length(e.a, e.b);
    return edges;
}

} // namespace

std::vector<city> alpha_nearest(const instance& of, std::span<const city> near,
                                std::span<const city> tour, std::size_t count) {
    const std::size_t n = of.cities(), each = near.size() / n;
    weighted_tree weighted{n, edges_of(of, near, tour)};
    weighted.ascend();
    const rooted_tree rooted{of, weighted, n};
    struct scored {
        double alpha;
        std::int64_t length;
        city to;
    };
    std::vector<scored> row;
    std::vector<city> chosen;
    chosen.reserve(n * count);
    for (city c = 0; at(c) < n; ++c) {
        row.clear();
        const auto add = [&](city to) {
            if (std::ranges::find(row, to, &scored::to) != row.end())
                return;
            const std::int64_t length = of.length(c, to);
            row.push_back(
                {weighted.cost(c, to, length) - rooted.longest_between(c, to), length, to});
        };
        for (const city to : near.subspan(at(c) * each, each))
            add(to);
        for (const city to : rooted.beside(c))
            add(to);
        std::ranges::sort(row, [](const scored& x, const scored& y) {
            return std::tie(x.alpha, x.length, x.to) < std::tie(y.alpha, y.length, y.to);
        });
        row.resize(count);
        std::ranges::sort(row, {}, [](const scored& s) { return std::pair{s.length, s.to}; });
        for (const scored& s : row)
            chosen.push_back(s.to);
    }
    return chosen;
}

} // namespace troupe::tsp

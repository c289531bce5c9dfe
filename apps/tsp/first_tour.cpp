#include "apps/tsp/first_tour.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "apps/tsp/place_tree.hpp"

namespace troupe::tsp {

namespace {

constexpr std::size_t nearest_looked_at = 5;

struct joint {
    std::int64_t length;
    city a, b;

    auto operator<=>(const joint&) const = default;
};

// Paths that grow together until they are one.
class growing_paths {
  public:
    explicit growing_paths(std::size_t cities)
        : count_{cities}, beside_(cities, {no_city, no_city}), far_ends_(cities) {
        std::iota(far_ends_.begin(), far_ends_.end(), 0);
    }

    std::size_t count() const noexcept { return count_; }
    bool is_end(city c) const noexcept { return of(c)[1] == no_city; }
    // The other end of the path of an end.
    city far_end(city c) const noexcept { return far_ends_[static_cast<std::size_t>(c)]; }
    // Joins the paths if both are ends, of two of them.
    void join(city a, city b) {
        if (!is_end(a) || !is_end(b) || far_end(a) == b || a == b)
            return;
        const city first = far_end(a), last = far_end(b);
        of(a)[of(a)[0] == no_city ? 0 : 1] = b;
        of(b)[of(b)[0] == no_city ? 0 : 1] = a;
        far_ends_[static_cast<std::size_t>(first)] = last;
        far_ends_[static_cast<std::size_t>(last)] = first;
        --count_;
    }
    // The order of the one path, from its end of the lowest number.
    std::vector<city> order() const {
        city c = 0;
        while (!is_end(c))
            ++c;
        std::vector<city> path;
        for (city from = no_city; c != no_city; path.push_back(from)) {
            const city next = of(c)[0] == from ? of(c)[1] : of(c)[0];
            from = std::exchange(c, next);
        }
        return path;
    }

  private:
    std::array<city, 2>& of(city c) { return beside_[static_cast<std::size_t>(c)]; }
    const std::array<city, 2>& of(city c) const { return beside_[static_cast<std::size_t>(c)]; }

    std::size_t count_;
    std::vector<std::array<city, 2>> beside_;
    std::vector<city> far_ends_;
};

void join_all(growing_paths& paths, std::vector<joint>& edges) {
    std::ranges::sort(edges);
    for (const joint& e : edges)
        paths.join(e.a, e.b);
    edges.clear();
}

// Edges between ends of different paths, a few for each.
template <class Length>
void append_edges_between(const instance& of, const growing_paths& paths, Length length,
                          std::vector<joint>& edges) {
    std::vector<city> ends;
    std::vector<place> places;
    for (city c = 0; static_cast<std::size_t>(c) < of.cities(); ++c)
        if (paths.is_end(c)) {
            ends.push_back(c);
            places.push_back(of.place_of(c));
        }
    place_tree tree{std::move(places)};
    for (std::size_t i = 0; i < ends.size(); ++i)
        for (const std::size_t j : tree.nearest(i, nearest_looked_at)) {
            const city a = std::min(ends[i], ends[j]), b = std::max(ends[i], ends[j]);
            if (paths.far_end(a) != b)
                edges.push_back({length(a, b), a, b});
        }
}

template <class Length>
std::vector<city> greedy_tour(const instance& of, const candidates& near, Length length) {
    growing_paths paths{of.cities()};
    std::vector<joint> edges;
    for (city a = 0; static_cast<std::size_t>(a) < of.cities(); ++a)
        for (const city b : near.of(a).first(std::min(near.count(), nearest_looked_at)))
            edges.push_back({length(a, b), std::min(a, b), std::max(a, b)});
    join_all(paths, edges);
    // One of the nearest ends at most is of the same path, so that each round joins some.
    while (paths.count() > 1) {
        append_edges_between(of, paths, length, edges);
        join_all(paths, edges);
    }
    return paths.order();
}

} // namespace

std::vector<city> first_tour(const instance& of, const candidates& near) {
    if (of.kind() == edge_weights::matrix)
        return nearest_neighbour_tour(of, near, 0);
    return greedy_tour(of, near, [&of](city a, city b) { return of.length(a, b); });
}

std::vector<city> first_tour(const instance& of, const candidates& near, random_stream& random) {
    if (of.kind() == edge_weights::matrix)
        return nearest_neighbour_tour(of, near, static_cast<city>(random.below(of.cities())));
    return greedy_tour(of, near, [&](city a, city b) {
        const std::int64_t length = of.length(a, b);
        return length +
               static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(length) / 4 + 1));
    });
}

std::vector<city> nearest_neighbour_tour(const instance& of, const candidates& near, city start) {
    std::vector<city> left(of.cities()), path;
    std::iota(left.begin(), left.end(), 0);
    std::vector<bool> is_visited(of.cities());
    path.reserve(of.cities());
    for (city c = start;;) {
        path.push_back(c);
        is_visited[static_cast<std::size_t>(c)] = true;
        if (path.size() == of.cities())
            return path;
        const auto visited = [&](city to) { return is_visited[static_cast<std::size_t>(to)]; };
        // Candidates of quadrants are not the nearest ones: only a matrix's are.
        if (of.kind() == edge_weights::matrix) {
            const auto all = near.of(c);
            if (const auto found = std::ranges::find_if_not(all, visited); found != all.end()) {
                c = *found;
                continue;
            }
        }
        std::erase_if(left, visited);
        const city from = c;
        c = *std::ranges::min_element(left, {}, [&](city to) {
            return std::pair{of.length(from, to), to};
        });
    }
}

} // namespace troupe::tsp

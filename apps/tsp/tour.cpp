#include "apps/tsp/tour.hpp"

#include "schemas/base/check.hpp"

namespace troupe::tsp {

tour::tour(std::vector<city> order) : order_{std::move(order)}, places_(order_.size()) {
    TROUPE_CHECK(is_tour(order_, order_.size()), "a tour visits each city once");
    for (std::size_t i = 0; i < order_.size(); ++i)
        places_[static_cast<std::size_t>(order_[i])] = static_cast<std::uint32_t>(i);
}

void tour::turn(stretch s) noexcept {
    if (s.count < 2)
        return;
    std::size_t i = s.first, j = round(s.first + s.count - 1);
    const auto swap = [&] {
        const city a = order_[i], b = order_[j];
        order_[i] = b;
        order_[j] = a;
        places_[static_cast<std::size_t>(b)] = static_cast<std::uint32_t>(i);
        places_[static_cast<std::size_t>(a)] = static_cast<std::uint32_t>(j);
    };
    std::size_t swaps = s.count / 2;
    if (i <= j) {
        for (; swaps > 0; --swaps, ++i, --j)
            swap();
        return;
    }
    for (; swaps > 0; --swaps) {
        swap();
        i = i + 1 == order_.size() ? 0 : i + 1;
        j = j == 0 ? order_.size() - 1 : j - 1;
    }
}

void tour::reverse(std::size_t first, std::size_t count) {
    const stretch s{first, count};
    turn(s);
    done_.push_back(s);
}

void tour::reverse_either_way(std::size_t first, std::size_t count) {
    if (2 * count <= order_.size())
        reverse(first, count);
    else
        reverse(round(first + count), order_.size() - count);
}

void tour::exchange(std::size_t first, std::size_t left, std::size_t right) {
    reverse(first, left + right);
    reverse(first, right);
    reverse(round(first + right), left);
}

void tour::exchange_any_way(std::size_t first, std::size_t left, std::size_t right) {
    const std::size_t rest = order_.size() - left - right;
    if (rest >= left && rest >= right)
        exchange(first, left, right);
    else if (left >= right)
        exchange(round(first + left), right, rest);
    else
        exchange(round(first + left + right), rest, left);
}

void tour::undo() {
    for (; !done_.empty(); done_.pop_back())
        turn(done_.back());
}

} // namespace troupe::tsp

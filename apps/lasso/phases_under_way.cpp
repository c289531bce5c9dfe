#include "apps/lasso/phases_under_way.hpp"

#include <algorithm>
#include <span>

namespace troupe::lasso {

namespace {

constexpr std::size_t saved_phase_numbers = 6;

template <class Number>
bool take_some(std::span<const Number>& left, std::int64_t count, std::vector<Number>& to) {
    if (count < 0 || static_cast<std::uint64_t>(count) > left.size())
        return false;
    const auto part = left.first(static_cast<std::size_t>(count));
    to.assign(part.begin(), part.end());
    left = left.subspan(part.size());
    return true;
}

} // namespace

std::optional<own_phase> phases_under_way::take(std::uint64_t number) {
    if (phases_.empty() || phases_.front().number != number)
        return {};
    own_phase taken = std::move(phases_.front());
    phases_.pop_front();
    return taken;
}

bool phases_under_way::has_probe() const noexcept {
    return std::ranges::any_of(phases_, &own_phase::is_probe);
}

std::vector<std::int64_t> phases_under_way::variables() const {
    std::vector<std::int64_t> all;
    for (const own_phase& p : phases_)
        all.insert(all.end(), p.chosen.begin(), p.chosen.end());
    return all;
}

phases_under_way::contents phases_under_way::save() const {
    contents saved;
    for (const own_phase& p : phases_) {
        saved.numbers.push_back(static_cast<std::int64_t>(p.number));
        saved.numbers.push_back(p.is_probe);
        saved.numbers.push_back(static_cast<std::int64_t>(p.chosen.size()));
        saved.numbers.push_back(static_cast<std::int64_t>(p.gradients.size()));
        saved.numbers.push_back(static_cast<std::int64_t>(p.round));
        saved.numbers.push_back(p.is_return);
        saved.gradients.insert(saved.gradients.end(), p.gradients.begin(), p.gradients.end());
        saved.chosen.insert(saved.chosen.end(), p.chosen.begin(), p.chosen.end());
    }
    return saved;
}

bool phases_under_way::load(const contents& saved,
                            const std::function<bool(const own_phase&)>& is_possible) {
    phases_.clear();
    if (saved.numbers.size() % saved_phase_numbers != 0)
        return false;
    std::span<const std::int64_t> chosen = saved.chosen;
    std::span<const double> gradients = saved.gradients;
    for (std::size_t i = 0; i < saved.numbers.size(); i += saved_phase_numbers) {
        const std::int64_t* const numbers = saved.numbers.data() + i;
        own_phase& p = phases_.emplace_back();
        p.number = static_cast<std::uint64_t>(numbers[0]);
        p.is_probe = numbers[1] != 0;
        p.round = static_cast<std::uint64_t>(numbers[4]);
        p.is_return = numbers[5] != 0;
        if (!take_some(chosen, numbers[2], p.chosen) ||
            !take_some(gradients, numbers[3], p.gradients) ||
            (!p.gradients.empty() && p.gradients.size() != p.chosen.size()) || !is_possible(p))
            return false;
    }
    return chosen.empty() && gradients.empty();
}

} // namespace troupe::lasso

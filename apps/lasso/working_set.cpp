#include "apps/lasso/working_set.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>

#include "apps/lasso/lasso_limits.hpp"

namespace troupe::lasso {

namespace {

constexpr std::uint64_t still_in = std::numeric_limits<std::uint64_t>::max();
constexpr double first_size_factor = 50; // of the columns; the root is taken
constexpr double most = 0.75;            // of the variables
// A probe takes as long as products of so many columns with all others.
constexpr double probe_columns = 6;
constexpr double first_size_min = 100, first_size_max = 1000;

struct candidate {
    double score = 0;
    std::int32_t column = 0;
    column_facts facts;
};

// Facts of a column that a judgement lists.
column_facts facts_in(const judgement& j, std::size_t i, const column_form& form) {
    column_facts facts = j.scales.empty() ? facts_of_centred(j.means[i], j.squares[i], form)
                                          : column_facts{j.means[i], j.squares[i], j.scales[i], 0};
    facts.entries = j.entries.empty() ? 0 : j.entries[i];
    return facts;
}

// Columns that are not in use and close to the penalty, the best first.
std::vector<candidate> candidates_of(std::span<const judgement> judgements,
                                     const working_set_rule& rule, const column_form& form) {
    std::vector<candidate> all;
    for (const judgement& j : judgements)
        for (std::size_t i = j.in_use; i < j.columns.size(); ++i) {
            const column_facts facts = facts_in(j, i, form);
            const bool is_near = rule.takes_all || j.gradients[i] > near_share * rule.l1;
            if (is_near && facts.square > 0)
                all.push_back({(j.gradients[i] - rule.l1) / std::sqrt(facts.curvature()),
                               j.columns[i], facts});
        }
    std::ranges::sort(all, [](const candidate& a, const candidate& b) {
        return std::pair{-a.score, a.column} < std::pair{-b.score, b.column};
    });
    return all;
}

} // namespace

std::size_t first_size(std::uint64_t columns) noexcept {
    return static_cast<std::size_t>(
        std::clamp(std::sqrt(first_size_factor * static_cast<double>(columns)), first_size_min,
                   first_size_max));
}

bool is_whole_set_due(std::uint64_t columns, double used, std::uint32_t probes) noexcept {
    const auto all = static_cast<double>(columns);
    return working_set_growth * used >= most * all || probe_columns * probes >= all / 2;
}

bool working_set::is_own(std::int64_t column) const noexcept {
    const auto j = static_cast<std::uint64_t>(column);
    return j >= own_range_.first && j - own_range_.first < own_range_.count;
}

void working_set::put_in(std::int32_t column, const column_facts& facts) {
    if (is_own(column))
        own_.push_back(column);
    else
        others_[column] = {facts, still_in};
}

void working_set::replace(std::uint64_t number, std::span<const judgement> judgements,
                          const working_set_rule& rule, const column_form& form) {
    own_.clear();
    for (auto& [column, o] : others_)
        o.left = std::min(o.left, number);
    std::size_t members = 0;
    for (const judgement& j : judgements) {
        for (std::size_t i = 0; i < j.in_use; ++i)
            put_in(j.columns[i], facts_in(j, i, form));
        members += j.in_use;
    }
    for (const candidate& c : candidates_of(judgements, rule, form))
        if (rule.takes_all || members++ < rule.size)
            put_in(c.column, c.facts);
    std::ranges::sort(own_);
    // No phase that is folded from now on can have others in flight than those that left since.
    std::erase_if(others_, [&](const auto& o) {
        return number > 2 * window_ && o.second.left < number - 2 * window_;
    });
}

result<void> working_set::include(std::int32_t column) {
    if (is_own(column)) {
        const auto at = std::ranges::lower_bound(own_, column);
        if (at == own_.end() || *at != column)
            own_.insert(at, column);
        return {};
    }
    const auto found = others_.find(column);
    if (found == others_.end())
        return error{errc::protocol, "another scheduler has changed column " +
                                         std::to_string(column) + ", which is in no working set"};
    found->second.left = still_in;
    return {};
}

bool working_set::are_all(const std::vector<std::int64_t>& columns) const {
    return !columns.empty() && columns.size() == own_.size() &&
           std::ranges::all_of(
               columns, [this](std::int64_t j) { return std::ranges::binary_search(own_, j); });
}

std::size_t working_set::size() const noexcept {
    return own_.size() + static_cast<std::size_t>(std::ranges::count_if(
                             others_, [](const auto& o) { return o.second.left == still_in; }));
}

std::vector<std::int32_t> working_set::others(std::uint64_t number) const {
    std::vector<std::int32_t> all;
    for (const auto& [column, o] : others_)
        if (o.left == still_in || o.left + 2 * window_ + 1 >= number)
            all.push_back(column);
    return all;
}

const column_facts* working_set::facts(std::int32_t column) const {
    const auto found = others_.find(column);
    return found == others_.end() ? nullptr : &found->second.facts;
}

working_set::contents working_set::save() const {
    contents saved;
    saved.own = own_;
    for (const auto& [column, o] : others_) {
        saved.others.push_back(column);
        saved.others.push_back(static_cast<std::int64_t>(o.left));
        saved.facts.push_back(o.facts.mean);
        saved.facts.push_back(o.facts.square);
        saved.facts.push_back(o.facts.scale);
        saved.facts.push_back(o.facts.entries);
    }
    return saved;
}

result<void> working_set::load(const contents& saved) {
    if (saved.others.size() % 2 != 0 || saved.facts.size() != 2 * saved.others.size())
        return error{errc::protocol, "the saved working set has other sizes"};
    if (std::ranges::adjacent_find(saved.own, std::ranges::greater_equal{}) != saved.own.end())
        return error{errc::protocol, "the saved working set does not rise"};
    for (std::size_t i = 0; i < saved.others.size(); i += 2) {
        const std::int64_t column = saved.others[i];
        const double* const facts = saved.facts.data() + 2 * i;
        if (column < 0 || static_cast<std::uint64_t>(column) >= limits::columns_max ||
            is_own(column) || !std::isfinite(facts[0]) || !std::isfinite(facts[1]) ||
            facts[1] < 0 || !std::isfinite(facts[2]) || !(facts[2] > 0) ||
            !std::isfinite(facts[3]) || facts[3] < 0)
            return error{errc::protocol, "the saved working set has what is no column"};
    }
    own_ = saved.own;
    others_.clear();
    for (std::size_t i = 0; i < saved.others.size(); i += 2) {
        const double* const facts = saved.facts.data() + 2 * i;
        others_[static_cast<std::int32_t>(saved.others[i])] = {
            {facts[0], facts[1], facts[2], facts[3]},
            static_cast<std::uint64_t>(saved.others[i + 1])};
    }
    return {};
}

} // namespace troupe::lasso

// gram_cache: as it is saved.
#include <limits>

#include "apps/lasso/gram_cache.hpp"

namespace troupe::lasso {

gram_cache::contents gram_cache::save() const {
    contents all;
    for (const place& p : places_) {
        all.numbers.push_back(p.column);
        all.numbers.push_back(static_cast<std::int64_t>(p.last_use));
        all.numbers.push_back(p.has_row());
        all.products.insert(all.products.end(), p.products.begin(), p.products.end());
    }
    return all;
}

result<void> gram_cache::load(const contents& saved) {
    const error bad{errc::protocol, "the saved products of columns have other sizes"};
    gram_cache loaded{entries_max_};
    const std::size_t places = saved.numbers.size() / 3;
    loaded.places_.resize(places);
    std::size_t begin = 0;
    for (std::size_t i = 0; i < places; ++i) {
        place& p = loaded.places_[i];
        if (saved.numbers[3 * i] < -1 ||
            saved.numbers[3 * i] > std::numeric_limits<std::int32_t>::max())
            return bad;
        p.column = static_cast<std::int32_t>(saved.numbers[3 * i]);
        p.last_use = static_cast<std::uint64_t>(saved.numbers[3 * i + 1]);
        if (p.column < 0)
            loaded.free_.push_back(i);
        else if (!loaded.place_of_.emplace(p.column, i).second)
            return bad;
        if (saved.numbers[3 * i + 2] == 0)
            continue;
        if (p.column < 0 || saved.products.size() - begin < places)
            return bad;
        const auto from = saved.products.begin() + static_cast<std::ptrdiff_t>(begin);
        p.products.assign(from, from + static_cast<std::ptrdiff_t>(places));
        begin += places;
        ++loaded.row_count_;
    }
    if (saved.numbers.size() % 3 != 0 || begin != saved.products.size())
        return bad;
    *this = std::move(loaded);
    return {};
}

} // namespace troupe::lasso

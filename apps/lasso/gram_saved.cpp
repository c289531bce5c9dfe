// gram_cache: as it is saved.
#include <limits>

#include "apps/lasso/gram_cache.hpp"

namespace troupe::lasso {

gram_cache::contents gram_cache::save() const {
    contents all;
    for (const place& p : places_) {
        const std::vector<std::uint64_t>& words = p.known.words();
        all.numbers.insert(all.numbers.end(), {p.column, static_cast<std::int64_t>(p.last_use),
                                               p.has_row, static_cast<std::int64_t>(words.size()),
                                               static_cast<std::int64_t>(p.products.size())});
        all.known.insert(all.known.end(), words.begin(), words.end());
        all.places.insert(all.places.end(), p.places.begin(), p.places.end());
        all.products.insert(all.products.end(), p.products.begin(), p.products.end());
    }
    all.numbers.push_back(static_cast<std::int64_t>(known_products_));
    return all;
}

result<void> gram_cache::load(const contents& saved) {
    constexpr std::size_t each = 5; // numbers of a place
    const error bad{errc::protocol, "the saved products of columns do not fit together"};
    if (saved.numbers.size() % each != 1 || saved.places.size() != saved.products.size())
        return bad;
    gram_cache loaded{entries_max_};
    const std::size_t count = saved.numbers.size() / each;
    std::size_t word = 0, product = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const std::int64_t* n = saved.numbers.data() + each * i;
        place& p = loaded.places_.emplace_back();
        if (n[0] < -1 || n[0] > std::numeric_limits<std::int32_t>::max())
            return bad;
        p.column = static_cast<std::int32_t>(n[0]);
        p.last_use = static_cast<std::uint64_t>(n[1]);
        p.has_row = n[2] != 0;
        const auto words = static_cast<std::uint64_t>(n[3]),
                   products = static_cast<std::uint64_t>(n[4]);
        if (words > saved.known.size() - word || products > saved.products.size() - product)
            return bad;
        const auto from = [](const auto& all, std::size_t begin, std::size_t size) {
            return std::span{all}.subspan(begin, size);
        };
        const auto known = from(saved.known, word, words);
        p.known = place_set::of_words({known.begin(), known.end()});
        for (const std::int32_t at : from(saved.places, product, products)) {
            if (at < 0 || static_cast<std::size_t>(at) >= count)
                return bad;
            p.places.push_back(static_cast<std::uint32_t>(at));
        }
        const auto values = from(saved.products, product, products);
        p.products.assign(values.begin(), values.end());
        word += words;
        product += products;
        loaded.row_count_ += p.has_row;
        if (p.column < 0)
            loaded.free_.push_back(i);
        else if (!loaded.place_of_.emplace(p.column, i).second)
            return bad;
    }
    if (word != saved.known.size() || product != saved.products.size())
        return bad;
    loaded.stored_ = product;
    loaded.known_products_ = static_cast<double>(saved.numbers.back());
    *this = std::move(loaded);
    return {};
}

} // namespace troupe::lasso

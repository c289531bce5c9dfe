// The products of columns with one another that a scheduler has asked for, scaled and not centred: rows for its own
// variables, columns for all that they meet. Each product is asked for once while it is kept; when the bound is reached, the
// variables that were used least recently are dropped with their rows.
//
//     auto chosen = some(variables, cache.room(variables, partners, {number, oldest}));
//     cache.make_room(chosen, partners, {number, oldest});
//     const gram_request request = cache.ask(chosen, partners);          // what is missing
//     ...
//     cache.keep(request, parts, scale);                                 // when they have come, of all workers
//     auto entries = cache.gather(chosen, partners);
//
// A pure value; one thread. Errors: errc::protocol for products that were not asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "apps/lasso/coupling_matrix.hpp"
#include "apps/lasso/gram_request.hpp"
#include "schemas/base/error.hpp"

namespace troupe::lasso {

class gram_cache {
  public:
    // A use by phase `number`; what was used by the phase `oldest` or a later one is needed, and stays.
    struct use {
        std::uint64_t number = 0;
        std::uint64_t oldest = 0;
    };

    explicit gram_cache(std::size_t entries_max) : entries_max_{entries_max} {}

    // So many of these variables have room, whichever they are: make_room makes rows for all of them.
    std::size_t room(std::span<const std::int64_t> variables,
                     std::span<const std::int32_t> partners, const use& u) const;
    // Whether there is room for all of these if nothing else is needed but so many partners.
    bool holds(std::size_t variables, std::size_t partners) const noexcept;
    // Makes rows for as many of the chosen as there is room for, from the first on, each with all the chosen and the
    // partners as columns; returns their number.
    std::size_t make_room(std::span<const std::int64_t> chosen,
                          std::span<const std::int32_t> partners, const use& u);

    // What is missing of the products of the chosen with one another and with their partners, which have room. It counts as
    // there from now on.
    gram_request ask(std::span<const std::int64_t> chosen, std::span<const std::int32_t> partners);

    // What has come, in the order of the request's blocks: parts, all of the request's size, whose sums are the products.
    // `scale(column)`: what the column is divided by. Products for which there is no place any more are left out. False if
    // some are no numbers.
    bool keep(const gram_request& request, std::span<const std::span<const double>> parts,
              const std::function<double(std::int32_t)>& scale);
    // Of a variable that has a row, with itself.
    void put_square(std::int64_t variable, double square);

    // Row after row. errc::protocol if one is not there, or has not come yet.
    result<std::vector<double>> gather(std::span<const std::int64_t> rows,
                                       std::span<const std::int32_t> columns) const;
    result<coupling_matrix> among(std::span<const std::int64_t> chosen) const;

    std::size_t rows() const noexcept { return row_count_; }
    std::size_t entries() const noexcept { return row_count_ * places_.size(); }

    // All that is kept, as it is saved: of each place its column, or -1, its last use, and whether it has a row; and the
    // rows.
    struct contents {
        std::vector<std::int64_t> numbers;
        std::vector<double> products;
    };
    contents save() const;
    result<void> load(const contents& saved);

  private:
    // A variable that is used, and its row if it has one: a product for each place.
    struct place {
        std::int32_t column = -1; // -1: free
        std::uint64_t last_use = 0;
        std::vector<double> products;

        bool has_row() const noexcept { return !products.empty(); }
    };
    using place_list = std::vector<std::size_t>;

    bool use_place(std::int32_t column, std::uint64_t number);
    bool drop_oldest(std::uint64_t oldest);
    void drop(place& p, std::size_t at);
    void grow(std::size_t places);
    void add_row(std::size_t at, bool is_new);
    bool is_missing(std::size_t row, std::size_t column) const;
    void mark(std::size_t row, std::size_t column, double product);
    gram_block ask_new(const place_list& rows, const place_list& needed);
    bool misses_all(std::size_t row, const place_list& needed) const;
    gram_block ask_alike(const place_list& rows, const place_list& missed);
    void ask_with(const place_list& rows, const place_list& columns, gram_block& block);
    place_list places_of(std::span<const std::int32_t> columns) const;
    const double* row_of(std::int64_t column) const;

    std::size_t entries_max_;
    std::size_t row_count_ = 0;
    std::vector<place> places_;
    place_list free_;
    std::vector<bool> is_mutual_; // of places: rows that miss nothing of one another
    std::unordered_map<std::int32_t, std::size_t> place_of_;
};

} // namespace troupe::lasso

// The products of columns with one another that a scheduler has asked for, scaled and not centred: rows for its own
// variables, columns for all that they meet. Those that are 0 take no memory beyond a bit. Each product is asked for once
// while it is kept; when the bound is reached, the variables that were used least recently are dropped with their rows.
//
//     auto chosen = some(cache.room(partners.size(), {number, oldest}));
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
#include "apps/lasso/place_set.hpp"
#include "schemas/base/error.hpp"

namespace troupe::lasso {

class gram_cache {
  public:
    // A use by phase `number`; what was used by the phase `oldest` or a later one is needed, and stays.
    struct use {
        std::uint64_t number = 0;
        std::uint64_t oldest = 0;
    };

    // Keeps about as many entries: a product that is not 0 is one, or two if both columns have rows; 64 bits are one.
    explicit gram_cache(std::size_t entries_max) : entries_max_{entries_max} {}

    // So many variables have room, whichever they are, with so many partners each. How many products will not be 0 is judged
    // by those that are there.
    std::size_t room(std::size_t partners, const use& u) const noexcept;

    // Makes rows for the chosen, no more than there is room for, each with all the chosen and the partners as columns.
    void make_room(std::span<const std::int64_t> chosen, std::span<const std::int32_t> partners,
                   const use& u);

    // Takes the product of a variable that has a row with itself; before it is asked for.
    void put_square(std::int64_t variable, double square);

    // The request for missing products of the chosen with one another and with their partners, which have room. They
    // count as there from now on.
    gram_request ask(std::span<const std::int64_t> chosen, std::span<const std::int32_t> partners);

    // Keeps what has come: parts whose sums are the products. `scale(column)`: what the column is divided by. Products for
    // which there is no place any more are left out. False if some are no numbers.
    bool keep(const gram_request& request, std::span<const gram_part> parts,
              const std::function<double(std::int32_t)>& scale);

    // Row after row. errc::protocol if one has not been asked for.
    result<std::vector<double>> gather(std::span<const std::int64_t> rows,
                                       std::span<const std::int32_t> columns) const;
    result<coupling_matrix> among(std::span<const std::int64_t> chosen) const;
    // The sum for each row of its products with the columns, each times its factor.
    result<std::vector<double>> sums_of(std::span<const std::int64_t> rows,
                                        std::span<const std::int32_t> columns,
                                        std::span<const double> factors) const;

    std::size_t entries() const noexcept { return stored_ + words(); }

    // All that is kept, as it is saved. Of each place: its column, or -1, its last use, whether it has a row, the words of
    // what that knows, and its products.
    struct contents {
        std::vector<std::int64_t> numbers;
        std::vector<std::int64_t> known;
        std::vector<std::int32_t> places;
        std::vector<double> products;
    };
    contents save() const;
    result<void> load(const contents& saved);

  private:
    // A variable that is used, and its row if it has one.
    struct place {
        std::int32_t column = -1; // -1: free
        std::uint64_t last_use = 0;
        bool has_row = false;
        place_set known;                   // places whose products have been asked for
        std::vector<std::uint32_t> places; // of products that are not 0
        std::vector<double> products;
    };
    using place_list = std::vector<std::size_t>;

    // Where the rows and columns of a block are, and what they are divided by.
    struct sides {
        place_list rows, columns;
        std::vector<double> row_scales, column_scales;
    };

    // gram_room.cpp
    void use_place(std::int32_t column, std::uint64_t number);
    std::size_t words() const noexcept;
    double share_of_entries() const noexcept;
    bool drop_oldest(double excess, std::uint64_t oldest);
    void drop(const place_list& dropped);
    void add_row(std::size_t at);

    // gram_cache.cpp
    bool knows_all(std::size_t row, const place_set& columns) const;
    place_set set_of(const place_list& places) const;
    place_list places_of(std::span<const std::int32_t> columns) const;
    void ask_for(const place_list& rows, const place_list& columns, bool is_among,
                 gram_request& request);
    sides sides_of(const gram_block& block, const std::function<double(std::int32_t)>& scale);
    void store(std::size_t row, std::size_t column, double product);

    std::size_t entries_max_;
    std::size_t stored_ = 0;    // products that are not 0
    double known_products_ = 0; // that have come, those that are 0 among them
    std::size_t row_count_ = 0;
    std::vector<place> places_;
    place_list free_;
    std::unordered_map<std::int32_t, std::size_t> place_of_;
};

} // namespace troupe::lasso

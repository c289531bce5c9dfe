#include "actors/data/sparse/ratings.hpp"

#include <algorithm>
#include <new>
#include <numeric>
#include <span>
#include <tuple>
#include <unordered_map>

#include "actors/data/matrix/column_spreads.hpp"
#include "actors/data/matrix/table_rows.hpp"
#include "actors/data/sparse/rating_file.hpp"
#include "schemas/base/limits.hpp"
#include "schemas/base/quantities.hpp"

namespace troupe {

namespace {

struct entry {
    std::uint32_t user;
    std::uint32_t item;
    float value;
};

constexpr std::uint64_t ratings_max = limits::dataset_bytes_max / (sizeof(entry) + 8);

// Numbers in files, which become 0, 1, ...: in the order in which they come, then in rising order.
class number_set {
  public:
    explicit number_set(std::uint64_t most) : most_{most} {}

    // None: there are too many of them.
    std::optional<std::uint32_t> place_of(std::uint64_t number) {
        const auto [known, is_new] =
            places_.try_emplace(number, static_cast<std::uint32_t>(numbers_.size()));
        if (!is_new)
            return known->second;
        if (numbers_.size() == most_)
            return std::nullopt;
        numbers_.push_back(number);
        return known->second;
    }

    // The new place of each old one.
    std::vector<std::uint32_t> sort() {
        places_ = {};
        std::vector<std::uint32_t> order(numbers_.size());
        std::iota(order.begin(), order.end(), 0);
        std::ranges::sort(order, {}, [&](std::uint32_t place) { return numbers_[place]; });
        std::vector<std::uint32_t> places(order.size());
        for (std::uint32_t place = 0; place < order.size(); ++place)
            places[order[place]] = place;
        std::ranges::sort(numbers_);
        return places;
    }

    const std::vector<std::uint64_t>& numbers() const noexcept { return numbers_; }
    std::vector<std::uint64_t> take() && { return std::move(numbers_); }

  private:
    std::uint64_t most_;
    std::unordered_map<std::uint64_t, std::uint32_t> places_;
    std::vector<std::uint64_t> numbers_;
};

class rating_reader {
  public:
    // `spread`: of all ratings, as if they were one column.
    result<std::vector<entry>> read(const std::string& path, column_spreads& spread) {
        std::vector<entry> entries;
        const auto read = for_each_rating(path, [&](const rating& r) -> std::string {
            const auto user = users_.place_of(r.user), item = items_.place_of(r.item);
            if (!user)
                return too_many(limits::matrix_rows_max, "users");
            if (!item)
                return too_many(limits::matrix_columns_max, "items");
            if (entries.size() == ratings_max)
                return too_many(ratings_max, "ratings");
            entries.push_back({*user, *item, static_cast<float>(r.value)});
            spread.add(std::span{&r.value, 1});
            return {};
        });
        if (!read)
            return read.failure();
        if (entries.empty())
            return error{errc::data, path + ": the file holds no ratings"};
        return entries;
    }

    // Whether it is what pandas names columns that have no names.
    bool counts(const entry& e) const {
        return users_.numbers()[e.user] == 0 && items_.numbers()[e.item] == 1 && e.value == 2;
    }
    // No file is read after it.
    void sort() {
        user_places_ = users_.sort();
        item_places_ = items_.sort();
    }
    sparse_rows rows_of(std::vector<entry> entries) const;
    void name(ratings& all) && {
        all.users = std::move(users_).take();
        all.items = std::move(items_).take();
    }

  private:
    static std::string too_many(std::uint64_t most, std::string_view what) {
        return "more than " + std::to_string(most) + " " + std::string{what} + "; leave some out";
    }

    number_set users_{limits::matrix_rows_max};
    number_set items_{limits::matrix_columns_max};
    std::vector<std::uint32_t> user_places_, item_places_;
};

sparse_rows rating_reader::rows_of(std::vector<entry> entries) const {
    for (entry& e : entries) {
        e.user = user_places_[e.user];
        e.item = item_places_[e.item];
    }
    std::ranges::sort(entries, {},
                      [](const entry& e) { return std::uint64_t{e.user} << 32 | e.item; });
    sparse_rows rows;
    rows.starts.assign(user_places_.size() + 1, 0);
    rows.indices.reserve(entries.size());
    rows.values.reserve(entries.size());
    for (const entry& e : entries) {
        ++rows.starts[e.user + std::size_t{1}];
        rows.indices.push_back(static_cast<std::int32_t>(e.item));
        rows.values.push_back(e.value);
    }
    std::partial_sum(rows.starts.begin(), rows.starts.end(), rows.starts.begin());
    return rows;
}

struct place {
    std::uint64_t row = 0;
    std::int32_t column = 0;
};

std::span<const std::int32_t> columns_of(const sparse_rows& rows, std::uint64_t row) {
    return std::span{rows.indices}.subspan(
        static_cast<std::size_t>(rows.starts[row]),
        static_cast<std::size_t>(rows.starts[row + 1] - rows.starts[row]));
}

std::optional<place> find_twice(const sparse_rows& rows) {
    for (std::uint64_t row = 0; row < rows.rows(); ++row) {
        const auto columns = columns_of(rows, row);
        if (const auto found = std::ranges::adjacent_find(columns); found != columns.end())
            return place{row, *found};
    }
    return std::nullopt;
}

std::optional<place> find_in_both(const sparse_rows& a, const sparse_rows& b) {
    for (std::uint64_t row = 0; row < a.rows(); ++row) {
        const auto columns = columns_of(a, row);
        for (const std::int32_t column : columns_of(b, row))
            if (std::ranges::binary_search(columns, column))
                return place{row, column};
    }
    return std::nullopt;
}

// Says where the file has this rating: for the first time, or for the second.
error fail_at(const named_file& file, const ratings& all, const place& where, bool is_second,
              const std::string& sentence) {
    const std::uint64_t user = all.users[where.row];
    const std::uint64_t item = all.items[static_cast<std::size_t>(where.column)];
    bool is_awaited = is_second;
    const auto found = for_each_rating(file.path, [&](const rating& r) -> std::string {
        if (r.user != user || r.item != item || std::exchange(is_awaited, false))
            return {};
        return "user " + std::to_string(user) + " rates item " + std::to_string(item) + " " +
               sentence;
    });
    return with_key(file, found ? error{errc::data, file.path + ": " + std::string{file_changed}}
                                : found.failure());
}

result<ratings> read_files(const rating_settings& settings) {
    rating_reader reader;
    column_spreads of_train, of_test;
    auto train = reader.read(settings.train.path, of_train);
    if (!train)
        return with_key(settings.train, train.failure());
    const bool has_test = !settings.test.path.empty();
    auto test = has_test ? reader.read(settings.test.path, of_test) : std::vector<entry>{};
    if (!test)
        return with_key(settings.test, test.failure());
    ratings all;
    for (const auto& [file, entries, spread] : {std::tuple{&settings.train, &*train, &of_train},
                                                std::tuple{&settings.test, &*test, &of_test}}) {
        if (entries->empty())
            continue;
        const std::string key = file->key.empty() ? "" : file->key + ": ";
        if (reader.counts(entries->front()))
            all.notes.push_back(key + "the first line, 0, 1, 2, is taken for a rating; if it has "
                                      "the names that pandas gives to columns without any, leave "
                                      "it out");
        spread->end(entries->size());
        if (spread->kept(0, 0) != kept_digits::enough)
            all.notes.push_back(key + "the ratings that are kept (float32) are off by " +
                                two_digits(spread->lost_share(0, 0)) +
                                " of their spread; subtract a number near their mean in the files");
    }
    reader.sort();
    all.train = reader.rows_of(std::move(*train));
    if (has_test)
        all.test = reader.rows_of(std::move(*test));
    std::move(reader).name(all);
    const std::string twice = "a second time; leave one of them out";
    if (const auto found = find_twice(all.train))
        return fail_at(settings.train, all, *found, true, twice);
    if (!has_test)
        return all;
    if (const auto found = find_twice(*all.test))
        return fail_at(settings.test, all, *found, true, twice);
    if (const auto found = find_in_both(all.train, *all.test))
        return fail_at(settings.test, all, *found, false,
                       "for training, too; leave it out of one of the files");
    return all;
}

} // namespace

result<ratings> read_ratings(const rating_settings& settings) {
    try {
        return read_files(settings);
    } catch (const std::bad_alloc&) {
        return with_key(settings.train,
                        {errc::exhausted, settings.train.path + ": no memory for the ratings"});
    }
}

} // namespace troupe

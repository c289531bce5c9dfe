#include "actors/data/matrix/matrix_source.hpp"

#include <algorithm>
#include <new>

#include "actors/data/matrix/column_spreads.hpp"
#include "actors/data/matrix/table_rows.hpp"
#include "schemas/base/limits.hpp"

namespace troupe {

namespace {

void clear(row_block& block) {
    block.values.clear();
    block.indices.clear();
    block.targets.clear();
}

constexpr std::size_t columns_named_max = 3;

void add_column(few_columns& to, std::size_t column) {
    if (++to.count <= columns_named_max)
        to.first.push_back(column);
}

error with_key(const std::string& key, const error& why) {
    return key.empty() ? why : why.in(key);
}

std::uint64_t count_at(const std::vector<std::uint32_t>& counts, std::uint64_t at) {
    return at < counts.size() ? counts[at] : 0;
}

// Adds the row that was appended behind so many values, which are given.
template <class Number>
void add_row(content_hash& to, const table_form& form, const row_block& block,
             std::size_t values_before, std::span<const Number> values) {
    to.add(values);
    if (form.is_sparse)
        to.add(std::span{block.indices}.subspan(values_before));
    if (form.has_targets)
        to.add(std::span{block.targets}.last(1));
}

// Checks one row by the rule.
result<void> ask(data_rule& rule, const row_block& row, bool has_target) {
    if (auto fits = rule.take_values(row.values); !fits)
        return fits;
    return has_target ? rule.take_target(row.targets.front()) : result<void>{};
}

} // namespace

matrix_source::matrix_source(std::unique_ptr<table_rows> rows) : rows_{std::move(rows)} {
    const table_form& form = rows_->form();
    TROUPE_CHECK(form.columns || form.is_sparse, "dense rows have a known length");
    shape_.columns = form.columns.value_or(0);
    shape_.is_sparse = form.is_sparse;
    shape_.has_targets = form.has_targets;
    shape_.column_names = form.column_names;
}
matrix_source::matrix_source(matrix_source&&) noexcept = default;
matrix_source& matrix_source::operator=(matrix_source&&) noexcept = default;
matrix_source::~matrix_source() = default;

result<matrix_source> matrix_source::open(std::unique_ptr<table_rows> rows) {
    matrix_source source{std::move(rows)};
    if (auto done = source.survey({}, false); !done)
        return done.failure();
    return source;
}

error matrix_source::no_memory() const {
    return with_key(key_, {errc::exhausted, rows_->fail("no memory for the rows").message()});
}

// --- the first pass

result<void> matrix_source::survey(const matrix_settings& settings, bool has_own_targets) {
    data_rule* const rule = settings.rule;
    column_spreads spreads;
    try {
        row_block row;
        std::vector<float> rounded;
        for (;;) {
            clear(row);
            const auto more = rows_->append_row(row);
            if (!more)
                return with_key(key_, more.failure());
            if (!*more)
                break;
            if (auto counted = count(row, spreads); !counted)
                return with_key(key_, counted.failure());
            rounded.resize(row.values.size());
            std::ranges::transform(row.values, rounded.begin(),
                                   [](double x) { return static_cast<float>(x); });
            add_row<double>(passed_, rows_->form(), row, 0, row.values);
            add_row<float>(rounded_, rows_->form(), row, 0, rounded);
            if (rule != nullptr)
                if (auto fits = ask(*rule, row, has_own_targets); !fits)
                    return with_key(key_, rows_->fail(fits.failure().message()));
        }
        if (rule != nullptr && has_own_targets)
            if (auto fits = rule->end_targets(); !fits)
                return with_key(key_, rows_->fail(fits.failure().message()));
    } catch (const std::bad_alloc&) {
        return no_memory();
    }
    if (!rows_->form().columns)
        shape_.columns = column_entries_.size();
    if (shape_.rows == 0)
        return with_key(key_, rows_->fail("the file holds no rows"));
    if (shape_.columns == 0)
        return with_key(key_, rows_->fail("the file holds no features"));
    if (!shape_.is_sparse)
        shape_.entries = shape_.rows * shape_.columns;
    digests_.emplace(shape_.rows, passed_.value());
    find_offsets(std::move(spreads), settings);
    return rewind();
}

void matrix_source::find_offsets(column_spreads spreads, const matrix_settings& settings) {
    if (shape_.is_sparse)
        spreads.end(shape_.rows, column_entries_);
    else
        spreads.end(shape_.rows);
    bool is_any = false, is_exact = true;
    std::vector<double> offsets;
    offsets.reserve(spreads.size());
    for (std::size_t j = 0; j < spreads.size(); ++j) {
        // Zeros that are not stored would have to be.
        const bool is_full = column_entries(j) == shape_.rows;
        const double offset = settings.takes_offsets && is_full ? spreads.offset(j) : 0;
        offsets.push_back(offset);
        is_any = is_any || offset != 0;
        is_exact = is_exact && offset == 0 && spreads.is_exact(j);
        const bool has_remainder = settings.takes_remainders && !shape_.is_sparse;
        const kept_digits kept = spreads.kept(j, offset, has_remainder);
        if (kept == kept_digits::few_of_float64)
            add_column(shape_.coarse_in_float64, j);
        if (kept != kept_digits::few_of_float32)
            continue;
        add_column(shape_.coarse_in_float32, j);
        shape_.lost_share_max =
            std::max(shape_.lost_share_max, spreads.lost_share(j, offset, has_remainder));
    }
    // Products of sparse columns are of float32 alone, and so must their means be where these are far from 0.
    const bool is_too_far =
        shape_.is_sparse && shape_.coarse_in_float32.count + shape_.coarse_in_float64.count > 0;
    shape_.has_remainders = settings.takes_remainders && !is_exact && !is_too_far;
    if (!is_any)
        return;
    offsets.resize(shape_.columns); // the last ones of a sparse matrix may have no entries
    shape_.offsets = std::move(offsets);
}

result<void> matrix_source::count(const row_block& row, column_spreads& spreads) {
    if (shape_.rows == limits::matrix_rows_max)
        return rows_->fail("more than " + std::to_string(limits::matrix_rows_max) +
                           " rows; leave some out");
    const std::uint64_t number = shape_.rows++;
    TROUPE_CHECK(row.targets.size() == (shape_.has_targets ? 1 : 0), "a row has its target");
    if (number == 0 && shape_.has_targets)
        shape_.same_target = row.targets.front();
    else if (shape_.same_target && *shape_.same_target != row.targets.front())
        shape_.same_target.reset();
    if (!shape_.is_sparse) {
        TROUPE_CHECK(row.values.size() == shape_.columns, "dense rows are full");
        spreads.add(row.values);
        return {};
    }
    TROUPE_CHECK(row.values.size() == row.indices.size(), "each entry has its column");
    if (row.indices.empty())
        return {};
    shape_.entries += row.indices.size();
    row_entries_.resize(number + 1);
    row_entries_[number] = static_cast<std::uint32_t>(row.indices.size());
    const auto last = static_cast<std::size_t>(row.indices.back());
    column_entries_.resize(std::max(column_entries_.size(), last + 1));
    for (std::size_t i = 0; i < row.indices.size(); ++i) {
        const auto column = static_cast<std::size_t>(row.indices[i]);
        spreads.add(column, row.values[i], ++column_entries_[column]);
    }
    return {};
}

// --- later ones

std::uint64_t matrix_source::row_entries(std::uint64_t row) const {
    TROUPE_CHECK(row < shape_.rows, "a row that there is");
    return shape_.is_sparse ? count_at(row_entries_, row) : shape_.columns;
}

std::uint64_t matrix_source::column_entries(std::uint64_t column) const {
    TROUPE_CHECK(column < shape_.columns, "a column that there is");
    return shape_.is_sparse ? count_at(column_entries_, column) : shape_.rows;
}

std::uint64_t matrix_source::targets_digest() const {
    content_hash hash;
    hash.add(std::span{targets_});
    return hash.value();
}

// Bytes that a row takes in a block.
std::uint64_t matrix_source::row_bytes(std::uint64_t row) const {
    const std::uint64_t target = shape_.has_targets ? sizeof(double) : 0;
    const std::uint64_t entry = sizeof(double) + (shape_.is_sparse ? sizeof(std::int32_t) : 0);
    const std::uint64_t start = shape_.is_sparse ? sizeof(std::int64_t) : 0;
    return row_entries(row) * entry + start + target;
}

std::uint32_t matrix_source::rows_that_fit(std::uint64_t bytes_max) const {
    std::uint64_t bytes = shape_.is_sparse ? sizeof(std::int64_t) : 0; // the first start
    std::uint64_t row = next_row_;
    while (row < shape_.rows && (bytes += row_bytes(row)) <= bytes_max)
        ++row;
    return static_cast<std::uint32_t>(std::max(row, next_row_ + 1) - next_row_);
}

result<std::optional<row_block>> matrix_source::next(std::uint64_t bytes_max) {
    if (next_row_ == shape_.rows)
        return std::optional<row_block>{};
    try {
        auto block = read_block(rows_that_fit(bytes_max));
        if (!block)
            return with_key(key_, block.failure());
        return std::optional{std::move(*block)};
    } catch (const std::bad_alloc&) {
        return no_memory();
    }
}

result<row_block> matrix_source::read_block(std::uint32_t rows) {
    row_block block;
    block.first_row = next_row_;
    std::uint64_t entries = 0;
    for (std::uint64_t row = next_row_; row < next_row_ + rows; ++row)
        entries += row_entries(row);
    block.values.reserve(entries);
    if (shape_.is_sparse) {
        block.indices.reserve(entries);
        block.starts.reserve(rows + std::size_t{1});
        block.starts.push_back(0);
    }
    if (shape_.has_targets)
        block.targets.reserve(rows);
    while (block.rows < rows)
        if (auto appended = append_row(block); !appended)
            return appended.failure();
    const std::uint64_t digest = passed_.value();
    if (digests_.emplace(next_row_, digest).first->second != digest)
        return rows_->fail(file_changed);
    return block;
}

result<void> matrix_source::append_row(row_block& to) {
    const std::size_t before = to.values.size();
    const auto more = rows_->append_row(to);
    if (!more)
        return more.failure();
    if (!*more || to.values.size() - before != row_entries(next_row_) ||
        (to.values.size() > before && shape_.is_sparse &&
         static_cast<std::uint64_t>(to.indices.back()) >= shape_.columns))
        return rows_->fail(file_changed);
    add_row<double>(passed_, rows_->form(), to, before, std::span{to.values}.subspan(before));
    if (shape_.is_sparse)
        to.starts.push_back(static_cast<std::int64_t>(to.values.size()));
    if (!targets_.empty()) {
        to.targets.resize(to.rows); // without the one that came with the row
        to.targets.push_back(targets_[next_row_]);
    }
    ++to.rows;
    ++next_row_;
    return {};
}

result<void> matrix_source::rewind() {
    next_row_ = 0;
    passed_ = {};
    if (auto done = rows_->rewind(); !done)
        return with_key(key_, done.failure());
    return {};
}

} // namespace troupe

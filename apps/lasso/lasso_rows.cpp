#include "apps/lasso/lasso_rows.hpp"

#include <algorithm>
#include <cmath>

#include "actors/scheduled/named_numbers.hpp"
#include "apps/lasso/lasso_limits.hpp"
#include "kernels/columns/sparse_products.hpp"

namespace troupe::lasso {

namespace {

// Above this share of entries products of all columns are faster than those of entries that meet (sparse_products.hpp).
constexpr double sparse_share = 0.15;

std::vector<std::uint32_t> numbers_of(std::span<const std::int32_t> columns) {
    return {columns.begin(), columns.end()};
}

} // namespace

rows_options options_of(const scheduled::worker_site& site, const lasso_settings& settings) {
    return {site.memory,         settings.loss,     settings.label,  settings.intercept,
            site.data.is_sparse, site.data.columns, site.rows.count, site.variables};
}

// ---- data ----

result<void> lasso_rows::take_data(const payload& piece) {
    const auto matrix = scheduled::read_matrix_piece(piece, options_.columns);
    if (!matrix)
        return matrix.failure();
    if (matrix->is_sparse() != options_.is_sparse)
        return error{errc::protocol, "a piece of a matrix is sparse, and the matrix is not, or the "
                                     "other way round"};
    if (fit_->rows() + matrix->rows() > options_.rows)
        return error{errc::protocol, "a worker is dealt more rows than its share has"};
    for (const double target : matrix->targets) {
        if (!std::isfinite(target))
            return error{errc::data, "the targets have a value that is infinite or NaN; remove its "
                                     "row"};
        if (auto taken = fit_->take(target); !taken)
            return taken;
    }
    if (options_.is_sparse)
        return arriving_->take({matrix->starts, matrix->indices, matrix->values},
                               matrix->remainders);
    return arriving_->take(matrix->rows(), matrix->values, matrix->remainders);
}

result<void> lasso_rows::data_is_complete() {
    if (fit_->rows() != options_.rows)
        return error{errc::protocol, "a worker is dealt fewer rows than its share has"};
    fit_->begin();
    if (auto built = build(); !built)
        return built;
    return is_weighted() ? result<void>{} : make_facts();
}

result<void> lasso_rows::build() {
    auto columns = arriving_->finish();
    arriving_.reset();
    if (!columns)
        return columns.failure();
    if (options_.is_sparse) {
        columns_.emplace(std::move(*columns), options_.has_intercept);
        return {};
    }
    auto shifted = shifted_columns::of_dense(*options_.memory, std::move(*columns));
    if (!shifted)
        return shifted.failure();
    columns_.emplace(std::move(*shifted));
    return {};
}

// The columns with the weights that rows have now, if they have any.
result<void> lasso_rows::weigh() {
    if (!has_other_weights_)
        return {};
    weighted_.reset(); // before memory is taken again
    auto weighted = columns_->weighted(*options_.memory, fit_->weights());
    if (!weighted)
        return weighted.failure();
    weighted_.emplace(std::move(*weighted));
    has_other_weights_ = false;
    return {};
}

void lasso_rows::renew() {
    sums_ = fit_->renew();
    has_other_weights_ = is_weighted();
}

// ---- phases ----

result<void> lasso_rows::apply(const scheduled::phase_deltas& deltas) {
    if (deltas.changes.empty())
        return {}; // a probe
    const auto c = read_changes(deltas.changes, options_.columns);
    if (!c)
        return c.failure();
    fit_->move(*columns_, numbers_of(c->columns), c->deltas, c->shift);
    return {};
}

result<payload> lasso_rows::push(const scheduled::phase& p, compute_context&) {
    const auto request = read_update_request(p.content, options_.columns);
    if (!request)
        return request.failure();
    if (auto weighed = weigh(); !weighed)
        return weighed.failure();
    const std::vector<std::uint32_t> chosen = numbers_of(request->chosen);
    std::vector<double> products(request->with_products ? chosen.size() : 0);
    if (request->with_products)
        columns_->products(chosen, fit_->residual(), fit_->residual_sum(), products);
    const double residual_sum = options_.has_intercept ? fit_->residual_sum() : 0.0;
    if (request->by_columns)
        return push_columns(*request, products, residual_sum);
    if (options_.is_sparse && is_sparse_enough(request->gram)) {
        const sparse_answer answer = multiply_sparse(request->gram);
        return to_payload(
            *options_.memory,
            update_partial{products, residual_sum, {answer.products, answer.numbers, false}, {}});
    }
    if (entries_of(request->gram) > limits::phase_products_max)
        return error{errc::usage, "a phase asks for more products of columns than a worker "
                                  "makes at once; use a smaller set"};
    std::vector<double> gram(entries_of(request->gram));
    std::span<double> to = gram;
    for (const gram_block& block : request->gram)
        to = multiply(block, to);
    return to_payload(*options_.memory,
                      update_partial{products, residual_sum, {gram, {}, true}, {}});
}

// The entries of the columns in these rows.
result<payload> lasso_rows::push_columns(const update_request& request,
                                         std::span<const double> products,
                                         double residual_sum) const {
    if (!options_.is_sparse)
        return error{errc::protocol, "a phase asks for columns of a dense matrix"};
    std::size_t entries = 0;
    for (const std::int32_t column : request.columns)
        entries += fitted_sparse().entries(static_cast<std::size_t>(column));
    if (entries > limits::gathered_entries_max)
        return error{errc::usage, "a phase asks for more entries of columns than a worker sends "
                                  "at once; use a smaller set"};
    auto answer = make_columns_answer(
        *options_.memory, update_partial{products, residual_sum, {}, {fit_->rows(), {}, {}, {}}},
        {request.columns.size(), entries});
    if (!answer)
        return answer.failure();
    std::size_t at = 0;
    for (std::size_t i = 0; i < request.columns.size(); ++i) {
        const sparse_column column =
            fitted_sparse().column(static_cast<std::size_t>(request.columns[i]));
        answer->starts[i] = static_cast<std::int64_t>(at);
        column.rows.copy(answer->row_numbers.subspan(at));
        std::ranges::copy(column.values, answer->values.subspan(at).begin());
        at += column.rows.size();
    }
    answer->starts.back() = static_cast<std::int64_t>(at);
    return std::move(answer->made);
}

// Writes what a block asks for; returns what is left behind it.
std::span<double> lasso_rows::multiply(const gram_block& block, std::span<double> to) {
    const std::vector<std::uint32_t> rows = numbers_of(block.rows),
                                     columns = numbers_of(block.columns);
    if (block.pairs() > 0) {
        std::vector<double> among(rows.size() * rows.size());
        fitted().gram(rows, among, workspace_);
        for (std::size_t i = 0; i < rows.size(); ++i) {
            std::ranges::copy(std::span{among}.subspan(i * rows.size(), i), to.begin());
            to = to.subspan(i);
        }
    }
    const std::span<double> rest = to.first(rows.size() * columns.size());
    fitted().gram({rows, columns}, rest, workspace_);
    return to.subspan(rest.size());
}

// Whether the rows of all blocks have so few entries that most products are 0.
bool lasso_rows::is_sparse_enough(const gram_request& request) const {
    double entries = 0, all = 0;
    for (const gram_block& block : request)
        for (const std::int32_t row : block.rows) {
            entries += static_cast<double>(fitted_sparse().entries(static_cast<std::size_t>(row)));
            all += static_cast<double>(options_.rows);
        }
    return entries < sparse_share * all;
}

lasso_rows::sparse_answer lasso_rows::multiply_sparse(const gram_request& request) const {
    sparse_answer answer;
    std::vector<sparse_products::product> found;
    std::int64_t first = 0;
    const auto add = [&](std::int64_t begin) {
        for (const auto& [right, value] : found) {
            answer.numbers.push_back(begin + right);
            answer.products.push_back(value);
        }
        found.clear();
    };
    for (const gram_block& block : request) {
        const std::vector<std::uint32_t> rows = numbers_of(block.rows),
                                         columns = numbers_of(block.columns);
        if (block.pairs() > 0) {
            sparse_products among{fitted_sparse(), rows};
            for (std::size_t i = 0; i < rows.size(); ++i) {
                among.with(rows[i], i, found);
                add(first);
                first += static_cast<std::int64_t>(i);
            }
        }
        sparse_products others{fitted_sparse(), columns};
        for (const std::uint32_t row : rows) {
            others.with(row, columns.size(), found);
            add(first);
            first += static_cast<std::int64_t>(columns.size());
        }
    }
    return answer;
}

result<payload> lasso_rows::probe(const scheduled::phase& p, std::uint32_t scheduler,
                                  compute_context&) {
    const auto request = read_probe_request(p.content);
    if (!request)
        return request.failure();
    if (scheduler >= options_.variables.size())
        return error{errc::protocol, "a probe for a scheduler that the run has not"};
    const scheduled::number_range own = options_.variables[scheduler];
    if (scheduler == 0)
        renew();
    if (request->with_facts && !facts_)
        if (auto made = make_facts(); !made)
            return made.failure();
    auto sent = make_probe_tensors(*options_.memory, {own.count, false});
    if (!sent)
        return sent.failure();
    columns_->products(column_set::range(own.first, own.count), fit_->residual(),
                       fit_->residual_sum(), sent->products.mutable_values<double>());
    if (request->with_facts)
        for (const auto& [to, all] :
             {std::pair{&sent->sums, &facts_->sums}, std::pair{&sent->squares, &facts_->squares},
              std::pair{&sent->entries, &facts_->entries}})
            if (all->elements() > 0)
                *to = all->rows(own.first, own.count);
    if (scheduler + std::size_t{1} == options_.variables.size())
        facts_.reset(); // they are asked for once, or of other weights
    const bool is_exact = !is_weighted() && columns_->has_exact_gram();
    return to_payload(*options_.memory, {sums_, {}, {}, {}, {}, is_exact}, std::move(*sent));
}

// Makes the facts of all columns.
result<void> lasso_rows::make_facts() {
    if (auto weighed = weigh(); !weighed)
        return weighed;
    auto made = make_probe_tensors(
        *options_.memory, {options_.columns, true, options_.has_intercept, options_.is_sparse});
    if (!made)
        return made.failure();
    made->products = {};
    const column_set all = fitted().kept().all();
    if (options_.has_intercept)
        fitted().sums(all, made->sums.mutable_values<double>());
    fitted().squares(all, made->squares.mutable_values<double>());
    const auto entries = made->entries.mutable_values<std::int32_t>();
    for (std::size_t i = 0; i < entries.size(); ++i)
        entries[i] = static_cast<std::int32_t>(fitted_sparse().entries(i));
    facts_ = std::move(*made);
    return {};
}

// ---- as it is saved ----

result<scheduled::saved_part> lasso_rows::save() const {
    scheduled::state_writer write{*options_.memory};
    fit_->save(write);
    return std::move(write).finish();
}

result<void> lasso_rows::load(const scheduled::saved_part& saved) {
    if (auto loaded = fit_->load(saved); !loaded)
        return loaded;
    has_other_weights_ = is_weighted();
    return {};
}

} // namespace troupe::lasso

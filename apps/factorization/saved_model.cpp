// The model that a run's parts have saved (result_files.hpp).
#include <algorithm>

#include "actors/scheduled/named_numbers.hpp"
#include "apps/factorization/coordinate_order.hpp"
#include "apps/factorization/rating_level.hpp"
#include "apps/factorization/result_files.hpp"
#include "apps/factorization/settings.hpp"
#include "apps/factorization/sgd_loops.hpp"

namespace troupe::factorization {

namespace {

error wrong_sizes() {
    return {errc::protocol, "what the parts of factorization have saved has other sizes"};
}

// Appends the first `rank` numbers of each row.
void append_rows(std::span<const float> rows, std::size_t stride, std::size_t rank,
                 std::vector<float>& to) {
    for (std::size_t at = 0; at < rows.size(); at += stride) {
        const std::span<const float> row = rows.subspan(at, rank);
        to.insert(to.end(), row.begin(), row.end());
    }
}

// Users of one worker, whose biases are around its own mean if it ended before it knew that of all.
result<void> add_rotating_users(const scheduled::saved_part& saved, factor_model& model) {
    const auto factors = scheduled::read_state<float>(saved, "user factors");
    const auto biases = scheduled::read_state<float>(saved, "user biases");
    const auto level = scheduled::read_state<double>(saved, "level");
    if (const error* failure = scheduled::first_failure(factors, biases, level))
        return *failure;
    const std::size_t stride = stride_of(model.rank);
    if (factors->size() != biases->size() * stride || level->size() != 2)
        return wrong_sizes();
    append_rows(*factors, stride, model.rank, model.user_factors);
    for (const float bias : *biases)
        model.user_biases.push_back(bias + static_cast<float>(level->front() - model.mean));
    return {};
}

result<void> add_block(const scheduled::held_block& block, factor_model& model) {
    const auto factors = scheduled::read<float>(block.content, 0, "the factors of a block");
    const auto biases = scheduled::read<float>(block.content, 1, "the biases of a block");
    const auto counts = scheduled::read<std::int32_t>(block.content, 2, "the counts of a block");
    if (const error* failure = scheduled::first_failure(factors, biases, counts))
        return *failure;
    const std::size_t stride = stride_of(model.rank);
    if (factors->size() != biases->size() * stride || counts->size() != biases->size())
        return wrong_sizes();
    const std::size_t first = model.item_factors.size();
    append_rows(*factors, stride, model.rank, model.item_factors);
    for (std::size_t i = 0; i < counts->size(); ++i)
        if ((*counts)[i] == 0) // what was drawn at random, if the run was one sweep
            std::ranges::fill(
                std::span{model.item_factors}.subspan(first + i * model.rank, model.rank), 0.0F);
    model.item_biases.insert(model.item_biases.end(), biases->begin(), biases->end());
    return {};
}

result<void> read_rotated(const scheduled::ended_run& run, factor_model& model) {
    const auto level = scheduled::read_state<double>(run.schedulers.front(), "level");
    if (!level)
        return level.failure();
    if (level->size() != 2)
        return wrong_sizes();
    model.mean = level->front();
    for (const scheduled::saved_part& worker : run.workers)
        if (auto added = add_rotating_users(worker, model); !added)
            return added;
    for (const scheduled::held_block& block : run.blocks)
        if (auto added = add_block(block, model); !added)
            return added;
    return {};
}

// Rows of numbers, one for each of some users or items, after those that are there.
result<void> add_rows(const scheduled::saved_part& saved, const char* name,
                      const coordinate_rows& form, std::size_t bias_row,
                      std::vector<float>& factors, std::vector<float>& biases) {
    const auto rows = scheduled::read_state<float>(saved, name);
    if (!rows)
        return rows.failure();
    if (rows->size() % form.count() != 0)
        return wrong_sizes();
    const std::size_t count = rows->size() / form.count();
    for (std::size_t i = 0; i < count; ++i) {
        for (std::size_t row = 0; row < form.rank; ++row)
            factors.push_back((*rows)[row * count + i]);
        biases.push_back(form.has_biases ? (*rows)[bias_row * count + i] : 0.0F);
    }
    return {};
}

result<void> read_coordinates(const scheduled::ended_run& run, factor_model& model) {
    const coordinate_rows form{model.rank, model.has_biases};
    const auto moments = scheduled::read_state<double>(run.schedulers.front(), "moments");
    if (!moments)
        return moments.failure();
    if (moments->size() != 3)
        return wrong_sizes();
    model.mean = level_of({(*moments)[0], (*moments)[1], (*moments)[2]}, model.has_biases).mean;
    for (const scheduled::saved_part& worker : run.workers)
        if (auto added = add_rows(worker, "user factors", form, form.user_biases(),
                                  model.user_factors, model.user_biases);
            !added)
            return added;
    for (const scheduled::saved_part& scheduler : run.schedulers)
        if (auto added = add_rows(scheduler, "item factors", form, form.item_biases(),
                                  model.item_factors, model.item_biases);
            !added)
            return added;
    return {};
}

} // namespace

result<factor_model> model_of(const scheduled::program_site& site,
                              const scheduled::ended_run& run) {
    const auto settings = read_settings(site.settings);
    if (!settings)
        return settings.failure();
    if (run.schedulers.empty())
        return wrong_sizes();
    factor_model model;
    model.rank = settings->rank;
    model.users = site.data.rows;
    model.items = site.data.columns;
    model.has_biases = settings->has_biases;
    auto read =
        settings->by == method::sgd ? read_rotated(run, model) : read_coordinates(run, model);
    if (!read)
        return read.failure();
    if (model.user_biases.size() != model.users || model.item_biases.size() != model.items)
        return wrong_sizes();
    return model;
}

} // namespace troupe::factorization

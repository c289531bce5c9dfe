#include "apps/factorization/result_files.hpp"

#include <algorithm>
#include <fstream>

#include "actors/scheduled/named_numbers.hpp"
#include "actors/scheduled/written_files.hpp"
#include "apps/factorization/model_files.hpp"
#include "apps/factorization/settings.hpp"
#include "apps/factorization/sweep_sums.hpp"
#include "apps/factorization/user_ratings.hpp"
#include "schemas/base/json.hpp"

namespace troupe::factorization {

namespace {

bool has(const scheduled::saved_part& part, std::string_view name) {
    return std::ranges::find(part.names, name) != part.names.end();
}

struct item_rows {
    std::span<const std::int64_t> starts;
    std::span<const std::int32_t> items;

    std::size_t users() const noexcept { return starts.size() - 1; }
    std::span<const std::int32_t> of(std::size_t user) const {
        return items.subspan(static_cast<std::size_t>(starts[user]),
                             static_cast<std::size_t>(starts[user + 1] - starts[user]));
    }
};

result<item_rows> read_rows(const scheduled::saved_part& part, const std::string& name,
                            std::uint64_t items) {
    const auto starts = scheduled::read_state<std::int64_t>(part, name + " starts");
    const auto numbers = scheduled::read_state<std::int32_t>(part, name + " items");
    if (const error* failure = scheduled::first_failure(starts, numbers))
        return *failure;
    const auto is_item = [items](std::int32_t i) {
        return i >= 0 && static_cast<std::uint64_t>(i) < items;
    };
    if (starts->empty() || starts->front() != 0 || !std::ranges::is_sorted(*starts) ||
        starts->back() != static_cast<std::int64_t>(numbers->size()) ||
        !std::ranges::all_of(*numbers, is_item))
        return error{errc::protocol, "the saved ratings of a worker do not lie row by row"};
    return item_rows{*starts, *numbers};
}

json facts_of(const scheduled::result_site& site, const factorization_settings& settings,
              const progress::numbers& last) {
    json facts;
    facts["ratings"] = site.data.entries;
    facts["by"] = settings.by == method::sgd ? "sgd" : "coordinates";
    facts["penalty"] = settings.penalty;
    facts["seed"] = site.seed;
    facts["sweeps"] = static_cast<std::uint64_t>(last.sweeps);
    if (last.training_rmse >= 0)
        facts["training_rmse"] = last.training_rmse;
    return facts;
}

result<void> write_rankings(const scheduled::result_site& site, const scheduled::ended_run& run,
                            const factor_model& model, std::uint32_t per_user) {
    std::vector<item_rows> rated;
    std::uint64_t users = 0;
    for (const scheduled::saved_part& worker : run.workers) {
        auto rows = read_rows(worker, "rated", model.items);
        if (!rows)
            return rows.failure();
        users += rows->users();
        rated.push_back(*rows);
    }
    if (users != model.users)
        return error{errc::protocol, "the saved ratings are not of all users"};
    return scheduled::write_file(site.directory / "rankings.csv", [&](std::ofstream& f) {
        f << "user,place,item,prediction\n";
        item_ranker ranker{model};
        std::uint64_t user = 0;
        for (const item_rows& rows : rated)
            for (std::size_t u = 0; u < rows.users(); ++u, ++user) {
                std::size_t place = 0;
                for (const ranked_item& r : ranker.top(user, per_user, rows.of(u)))
                    f << scheduled::name_or_number(site.row_names, user) << ',' << ++place << ','
                      << scheduled::name_or_number(site.column_names, r.item) << ','
                      << scheduled::text_of(r.prediction) << '\n';
            }
    });
}

} // namespace

result<std::vector<rating_entry>> held_out_of(const scheduled::ended_run& run, std::uint64_t users,
                                              std::uint64_t items) {
    std::vector<rating_entry> entries;
    std::uint64_t first = 0;
    for (const scheduled::saved_part& worker : run.workers) {
        const auto count = scheduled::read_state<std::int64_t>(worker, "users");
        if (!count || count->size() != 1 || count->front() < 0 ||
            static_cast<std::uint64_t>(count->front()) > users - first)
            return error{errc::protocol, "workers have not saved how many users they have"};
        const auto own = static_cast<std::uint64_t>(count->front());
        if (has(worker, "held out items")) {
            const auto rows = read_rows(worker, "held out", items);
            if (!rows)
                return rows.failure();
            const auto ratings = scheduled::read_state<float>(worker, "held out ratings");
            if (!ratings || ratings->size() != rows->items.size() || rows->users() != own)
                return error{errc::protocol, "the held-out ratings of a worker have other sizes"};
            for (std::size_t u = 0; u < rows->users(); ++u)
                for (std::int64_t k = rows->starts[u]; k < rows->starts[u + 1]; ++k) {
                    const auto at = static_cast<std::size_t>(k);
                    entries.push_back(
                        {first + u, static_cast<std::uint64_t>(rows->items[at]), (*ratings)[at]});
                }
        }
        first += own;
    }
    return entries;
}

result<std::vector<std::string>> write_result(const scheduled::result_site& site,
                                              const scheduled::ended_run& run) {
    const auto settings = read_settings(site.settings);
    if (!settings)
        return settings.failure();
    auto model = model_of(site, run);
    if (!model)
        return model.failure();
    model->user_names = site.row_names;
    model->item_names = site.column_names;
    const auto held_out = held_out_of(run, model->users, model->items);
    const auto last = read_progress(run.schedulers.front());
    if (const error* failure = scheduled::first_failure(held_out, last))
        return *failure;
    auto facts = facts_of(site, *settings, *last);
    if (!held_out->empty()) {
        facts["held_out"] = held_out->size();
        facts["rmse"] = rmse(*model, *held_out);
    }
    auto names = write_model(site.directory, *model, facts);
    if (!names || settings->rankings == 0)
        return names;
    if (auto written = write_rankings(site, run, *model, settings->rankings); !written)
        return written.failure();
    names->emplace_back("rankings.csv");
    return names;
}

} // namespace troupe::factorization

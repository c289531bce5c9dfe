#include "tests/conformance/program_cases.hpp"

#include <algorithm>

#include "actors/scheduled/named_numbers.hpp"
#include "actors/scheduled/program_run.hpp"
#include "apps/factorization/factorization.hpp"
#include "apps/lasso/lasso.hpp"
#include "apps/lasso/solutions.hpp"
#include "apps/lda/lda.hpp"
#include "apps/tsp/city_pieces.hpp"
#include "apps/tsp/tsp.hpp"

namespace troupe::test {

namespace {

// ---- data ----

constexpr std::uint64_t seed_held_out = 20; // added to the seed of what is learned from

struct made_matrix {
    std::uint64_t rows = 0, columns = 0;
    double share = 1; // of the entries that are there; below 1 it is sparse
    std::uint64_t seed = 11;
};

// Columns that have something in common, and targets of some of them with noise.
matrix_rows matrix(const made_matrix& made) {
    random_stream random{made.seed};
    matrix_rows rows;
    rows.columns = made.columns;
    const bool is_sparse = made.share < 1;
    if (is_sparse)
        rows.starts.push_back(0);
    for (std::uint64_t i = 0; i < made.rows; ++i) {
        const double common = random.normal();
        double target = 1 + 0.3 * random.normal();
        for (std::uint64_t j = 0; j < made.columns; ++j) {
            const auto value = static_cast<float>(random.normal() + 0.6 * common);
            if (random.uniform() >= made.share)
                continue;
            target += (j % 3 == 0 ? 1.5 : j % 3 == 1 ? -1.0 : 0.0) * static_cast<double>(value);
            rows.values.push_back(value);
            if (is_sparse)
                rows.indices.push_back(static_cast<std::int32_t>(j));
        }
        rows.targets.push_back(target);
        if (is_sparse)
            rows.starts.push_back(static_cast<std::int64_t>(rows.values.size()));
    }
    return rows;
}

// ---- the lasso ----

// Coefficients and intercepts.
std::vector<double> lasso_found(const driven_result& run) {
    std::vector<double> all;
    for (const scheduled::saved_part& part : run.saved) {
        const auto solutions = lasso::read_solutions(part).value();
        for (const lasso::solution& s : solutions) {
            all.push_back(s.numbers.intercept);
            all.push_back(s.numbers.objective);
            for (std::size_t i = 0; i < s.columns.size(); ++i) {
                all.push_back(s.columns[i]);
                all.push_back(s.values[i]);
            }
        }
    }
    return all;
}

program_case lasso_case(std::string name, std::string app) {
    return {.name = std::move(name),
            .program = lasso::lasso_program(),
            .app = std::move(app),
            .rows = matrix({40, 15}),
            .held_out = matrix({20, 15, 1, 11 + seed_held_out}),
            .found = lasso_found,
            .tolerance = 1e-6,
            .refused = {{"program.lasso.ratio=0", "program.lasso.ratio"},
                        {"program.lasso.penalty={lambda: -1}", "lambda"},
                        {"program.lasso.penalty={share: 2}", "share"},
                        {"program.lasso.penalty={path: {count: 1}}", "count"},
                        {"program.lasso.penalty={path: {count: 100000000}}", "count"},
                        {"program.lasso.penalty={}", "penalty"},
                        {"program.lasso.target={label: 1e300}", "label"},
                        {"program.lasso.lambda=1", "lambda"},
                        {"schedule={dynamic: {set: 4096}}", "schedule.set"}}};
}

// ---- topics ----

// Documents of a few words each, of two topics.
matrix_rows documents(std::uint64_t count, std::uint64_t words, std::uint64_t seed = 12) {
    random_stream random{seed};
    matrix_rows rows;
    rows.columns = words;
    rows.starts.push_back(0);
    for (std::uint64_t d = 0; d < count; ++d) {
        for (std::uint64_t w = 0; w < words; ++w) {
            if (random.uniform() >= (w % 2 == d % 2 ? 0.5 : 0.1))
                continue;
            rows.indices.push_back(static_cast<std::int32_t>(w));
            rows.values.push_back(static_cast<float>(1 + random.below(3)));
        }
        rows.targets.push_back(0);
        rows.starts.push_back(static_cast<std::int64_t>(rows.values.size()));
    }
    return rows;
}

program_case lda_case(std::string name, const std::string& sampler, int topics) {
    return {.name = std::move(name),
            .program = lda::lda_program(),
            .app = "program: {lda: {topics: " + std::to_string(topics) + ", sampler: " + sampler +
                   "}}\nschedule: {rotation: {}}\nstop: {sweeps: 5}\n",
            .rows = documents(20, 24),
            .held_out = documents(10, 24, 12 + seed_held_out),
            .has_end = false,
            .sweeps = 5,
            .refused = {{"program.lda.topics=1", "topics"},
                        {"program.lda.topics=100000", "topics"},
                        {"program.lda.alpha=0", "alpha"},
                        {"program.lda.beta=-1", "beta"},
                        {"program.lda.proposals=0", "proposals"},
                        {"program.lda.words=3", "words"},
                        {"stop={gap: 1e-6}", "stop.sweeps"},
                        {"schedule={dynamic: {}}", "rotation"},
                        {"data.scale=unit_norm", "data.scale"}},
            .ignored = {"changes in flight"}};
}

// ---- ratings ----

matrix_rows ratings(std::uint64_t users, std::uint64_t items, std::uint64_t seed = 13) {
    random_stream random{seed};
    matrix_rows rows;
    rows.columns = items;
    rows.starts.push_back(0);
    for (std::uint64_t u = 0; u < users; ++u) {
        for (std::uint64_t i = 0; i < items; ++i) {
            if (random.uniform() >= 0.4)
                continue;
            rows.indices.push_back(static_cast<std::int32_t>(i));
            rows.values.push_back(
                static_cast<float>(3 + (u % 3 == i % 3 ? 1 : -1) + 0.1 * random.normal()));
        }
        rows.targets.push_back(0);
        rows.starts.push_back(static_cast<std::int64_t>(rows.values.size()));
    }
    return rows;
}

// What the last probe says.
std::vector<double> last_numbers(const driven_result& run) {
    std::vector<double> all;
    for (const named_number& n : run.standings.back().numbers)
        all.push_back(n.value);
    return all;
}

program_case factorization_case(std::string name, const std::string& app) {
    return {.name = std::move(name),
            .program = factorization::factorization_program(),
            .app = app,
            .rows = ratings(30, 24),
            .held_out = ratings(30, 24, 13 + seed_held_out),
            .has_end = false,
            .refused = {{"program.factorization.rank=0", "rank"},
                        {"program.factorization.rank=5000", "rank"},
                        {"program.factorization.penalty=-1", "penalty"},
                        {"program.factorization.rate=0", "rate"},
                        {"program.factorization.decay=1", "decay"},
                        {"program.factorization.by=als", "by"},
                        {"schedule={dynamic: {}}", "by"},
                        {"data.scale=unit_norm", "data.scale"}},
            .ignored = {"changes in flight"}};
}

// ---- tours ----

// Few enough for each colony to find the shortest tour.
std::shared_ptr<scheduled::piece_source> few_cities() {
    random_stream random{14};
    std::vector<tsp::point> points;
    for (int i = 0; i < 12; ++i)
        points.push_back({1000 * random.uniform(), 1000 * random.uniform()});
    return tsp::pieces_of(
        tsp::instance::of_points("few", tsp::edge_weights::euclidean, std::move(points)), 1 << 10);
}

std::vector<double> length_found(const driven_result& run) {
    const auto lengths = scheduled::read_state<std::int64_t>(run.saved[0], "lengths").value();
    return {static_cast<double>(std::ranges::min(lengths))};
}

program_case tsp_case(std::string name, const std::string& settings) {
    return {.name = std::move(name),
            .program = tsp::tsp_program(),
            .app = "program: {tsp: {" + settings +
                   "}}\nschedule: {cyclic: {set: 16}}\nstop: {iterations: 480}\n",
            .rows = {},
            .source = few_cities,
            .has_one_scheduler = true,
            .found = length_found,
            .refused = {{"program.tsp.ants=-1", "ants"},
                        {"program.tsp.alpha=21", "alpha"},
                        {"program.tsp.rho=2", "rho"},
                        {"program.tsp.q0=-1", "q0"},
                        {"program.tsp.candidates=33", "candidates"},
                        {"program.tsp.choice=roulette", "choice"},
                        {"program.tsp.colony=bees", "colony"},
                        {"program.tsp={colony: focused, local_search: none}", "local_search"},
                        {"stop={gap: 1e-6}", "stop.seconds"},
                        {"schedule={dynamic: {}}", "cyclic"}},
            .ignored = {"changes in flight"}};
}

// ---- all ----

std::vector<program_case> made_cases() {
    std::vector<program_case> all;
    all.push_back(lasso_case("lasso", "program: {lasso: {penalty: {share: 0.05}}}\n"
                                      "stop: {gap: 1e-10}\n"));
    all.push_back(lasso_case("lasso, one variable at a time, a path of elastic nets",
                             "program: {lasso: {penalty: {path: {count: 4, ratio: 0.05}}, ratio: "
                             "0.5}}\nschedule: {dynamic: {set: 2}}\nstop: {gap: 1e-8}\n"));
    all.push_back(lasso_case("lasso, sparse, scaled, in turn",
                             "program: {lasso: {penalty: {share: 0.05}, intercept: false}}\n"
                             "schedule: {cyclic: {set: 4}}\nstop: {gap: 1e-10}\n"));
    all.back().rows = matrix({60, 20, 0.2});
    all.back().held_out = matrix({20, 20, 0.2, 11 + seed_held_out});
    all.back().unit_norm = true;
    all.push_back(lasso_case("lasso, checked",
                             "program: {lasso: {penalty: {share: 0.1}}}\n"
                             "schedule: {dynamic: {couple: check, rho: 0.3, set: 3}}\n"
                             "stop: {gap: 1e-6}\n"));
    all.back().tolerance = 1e-2; // of coefficients: the gap is of the objective
    all.push_back(lasso_case("lasso, logistic", "program: {lasso: {penalty: {share: 0.1}, loss: "
                                                "logistic}}\nstop: {gap: 1e-8}\n"));
    for (matrix_rows* rows : {&all.back().rows, &all.back().held_out})
        for (double& target : rows->targets)
            target = target > 1 ? 1 : 0;
    all.back().tolerance = 1e-3; // of coefficients: the gap is of the objective
    all.push_back(lda_case("lda, exact", "exact", 3));
    all.push_back(lda_case("lda, exact, lists of topics", "exact", 300));
    all.push_back(lda_case("lda, metropolis", "metropolis", 3));
    all.push_back(factorization_case("factorization, sgd", "program: {factorization: {rank: 3}}\n"
                                                           "schedule: {rotation: {}}\n"
                                                           "stop: {sweeps: 6}\n"));
    all.back().sweeps = 6;
    all.push_back(factorization_case("factorization, coordinates",
                                     "program: {factorization: {rank: 3, by: coordinates}}\n"
                                     "schedule: {cyclic: {window: 0}}\nstop: {sweeps: 8}\n"));
    all.back().phases_max = 150;
    all.back().found = last_numbers;
    all.back().tolerance = 1e-4; // factors are float32
    all.push_back(tsp_case("tsp, focused, ring", "exchange_every: 40"));
    all.push_back(tsp_case("tsp, focused, each alone", "exchange: none, local_search: three_opt"));
    all.push_back(tsp_case("tsp, max-min, all", "colony: max_min, ants: 8, exchange: all"));
    all.push_back(tsp_case("tsp, ant colony system, i_roulette",
                           "colony: ant_colony_system, ants: 8, choice: i_roulette"));
    return all;
}

} // namespace

const std::vector<program_case>& program_cases() {
    static const std::vector<program_case> all = made_cases();
    return all;
}

result<scheduled::program_app> app_of(const program_case& c, const std::string& setting) {
    const app_kind kind =
        scheduled::program_app_kind({{c.program.name, c.program.settings, c.program.doc}});
    app_settings settings;
    if (!setting.empty())
        settings.push_back(setting);
    const std::string scale = c.unit_norm ? ", scale: unit_norm" : "";
    const std::string data = c.source ? "tsplib: none" : "matrix: {features: none}" + scale;
    return scheduled::parse_program_app("troupe: 1\ndata: {" + data + "}\n" + c.app, "app.yaml",
                                        settings, kind);
}

driven_run run_of(const program_case& c, const scheduled::program_app& app) {
    driven_run run{.program = c.program, .settings = app.settings()};
    run.schedule = scheduled::read_schedule(app.app().getSchedule());
    run.stop = scheduled::read_stop(app.app().getStop());
    run.unit_norm = app.app().getData().getScale() == proto::ColumnScale::UNIT_NORM;
    run.seed = app.app().getSeed();
    run.phases_max = c.phases_max;
    run.rows_per_piece = 7;
    if (c.source)
        run.source = c.source();
    return run;
}

bool rotates(const driven_run& run) {
    return run.schedule.kind == scheduled::schedule_kind::rotation;
}

} // namespace troupe::test

#include "tests/unit/apps_lasso/lasso_runs.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "apps/lasso/lasso.capnp.h"
#include "apps/lasso/lasso.hpp"
#include "apps/lasso/lasso_scheduler.hpp"
#include "apps/lasso/penalty.hpp"

namespace troupe::test {

namespace {

void write_settings(const lasso_case& c, proto::LassoSettings::Builder to) {
    auto penalty = to.initPenalty();
    if (c.count > 0) {
        auto path = penalty.initPath();
        path.setCount(c.count);
        path.setRatio(c.path_ratio);
    } else if (c.share > 0) {
        penalty.setShare(c.share);
    } else {
        penalty.setLambda(c.lambda);
    }
    to.setRatio(c.ratio);
    to.setIntercept(c.intercept);
    if (c.is_logistic)
        to.setLoss(proto::LassoLoss::LOGISTIC);
    if (c.has_label)
        to.initTarget().setLabel(c.label);
}

std::vector<lasso::solution> merged(const driven_result& run) {
    std::vector<lasso::solution> all;
    for (const scheduled::saved_part& part : run.saved) {
        auto own = lasso::read_solutions(part).value();
        all.resize(std::max(all.size(), own.size()));
        for (std::size_t i = 0; i < own.size(); ++i) {
            all[i].numbers = own[i].numbers;
            all[i].columns.insert(all[i].columns.end(), own[i].columns.begin(),
                                  own[i].columns.end());
            all[i].values.insert(all[i].values.end(), own[i].values.begin(), own[i].values.end());
        }
    }
    return all;
}

// The model's columns, targets and norms, in float64 and dense.
struct plain_model {
    std::size_t rows = 0;
    std::vector<std::vector<double>> columns;
    std::vector<double> targets, squares, means;
    double target_mean = 0;

    plain_model(const lasso_case& c, const matrix_rows& sparse) {
        const matrix_rows data = dense_of(sparse);
        rows = data.rows();
        columns.assign(data.columns, std::vector<double>(rows));
        means.resize(data.columns);
        for (std::size_t i = 0; i < rows; ++i)
            for (std::size_t j = 0; j < data.columns; ++j)
                columns[j][i] = static_cast<double>(data.values[i * data.columns + j]);
        for (const double target : data.targets)
            targets.push_back(!c.has_label ? target : target == c.label ? 1.0 : 0.0);
        for (std::size_t j = 0; j < columns.size(); ++j) {
            if (c.intercept)
                means[j] = centre(columns[j]);
            double square =
                std::inner_product(columns[j].begin(), columns[j].end(), columns[j].begin(), 0.0);
            if (c.run.unit_norm && square > 0) {
                for (double& x : columns[j])
                    x /= std::sqrt(square);
                means[j] /= std::sqrt(square);
                square = 1;
            }
            squares.push_back(square);
        }
        if (c.intercept)
            target_mean = centre(targets);
    }

    static double centre(std::vector<double>& values) {
        const double mean =
            std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
        for (double& x : values)
            x -= mean;
        return mean;
    }
    double product(std::size_t j, const std::vector<double>& r) const {
        return std::inner_product(r.begin(), r.end(), columns[j].begin(), 0.0);
    }
    lasso::penalty weights(double lambda, double ratio) const {
        const auto n = static_cast<double>(rows);
        return {n * lambda * ratio, n * lambda * (1 - ratio)};
    }
    double largest_lambda(double ratio) const {
        double largest = 0;
        for (std::size_t j = 0; j < columns.size(); ++j)
            largest = std::max(largest, std::abs(product(j, targets)));
        return largest / (static_cast<double>(rows) * ratio);
    }
    std::vector<double> residual(const std::vector<double>& values) const {
        std::vector<double> r = targets;
        for (std::size_t j = 0; j < columns.size(); ++j)
            if (values[j] != 0)
                for (std::size_t i = 0; i < rows; ++i)
                    r[i] -= columns[j][i] * values[j];
        return r;
    }
    double objective(const std::vector<double>& values, const lasso::penalty& p) const {
        const std::vector<double> r = residual(values);
        lasso::coefficient_sums sums;
        for (const double value : values)
            sums.add(value, 0, 0);
        return lasso::objective(std::inner_product(r.begin(), r.end(), r.begin(), 0.0), sums, p) /
               static_cast<double>(rows);
    }
};

// Is not told what is in flight when it folds a phase, so that a check covers the set alone.
class without_flight final : public scheduled::scheduler_part {
  public:
    explicit without_flight(lasso::scheduler_options options) : part_{std::move(options)} {}

    result<scheduled::phase> schedule(std::uint64_t number, random_stream& random) override {
        return part_.schedule(number, random);
    }
    result<scheduled::payload> pull(const scheduled::phase& p, scheduled::in_flight,
                                    std::span<const scheduled::payload> partials) override {
        return part_.pull(p, {}, partials);
    }
    result<void> absorb(const scheduled::phase_deltas& deltas) override {
        return part_.absorb(deltas);
    }
    result<scheduled::payload> judge(std::uint64_t number, scheduled::in_flight deltas,
                                     std::span<const scheduled::payload> partials) override {
        return part_.judge(number, deltas, partials);
    }
    result<scheduled::standing> conclude(std::uint64_t number,
                                         std::span<const scheduled::payload> judgements) override {
        return part_.conclude(number, judgements);
    }
    result<scheduled::saved_part> save() const override { return part_.save(); }
    result<void> load(const scheduled::saved_part& saved) override { return part_.load(saved); }

  private:
    lasso::lasso_scheduler part_;
};

scheduled::program program_of(const lasso_case& c) {
    scheduled::program program = lasso::lasso_program();
    program.make_scheduler = [sees_flight = c.sees_flight, entries_max = c.gram_entries_max,
                              gathered_max =
                                  c.gathered_entries_max](const scheduled::scheduler_site& site)
        -> result<std::unique_ptr<scheduled::scheduler_part>> {
        auto options = lasso::options_of(site, lasso::read_settings(site.settings).value());
        options.gram_entries_max = entries_max;
        options.gathered_entries_max = gathered_max;
        std::unique_ptr<scheduled::scheduler_part> part;
        if (sees_flight)
            part = std::make_unique<lasso::lasso_scheduler>(std::move(options));
        else
            part = std::make_unique<without_flight>(std::move(options));
        return part;
    };
    return program;
}

} // namespace

lasso_case precise_case() {
    lasso_case c;
    c.share = 0.1;
    c.run.stop.gap = 1e-13;
    return c;
}

namespace {

// A run, and what its settings are in.
struct lasso_driver {
    lasso_driver(const lasso_case& c, const matrix_rows& rows,
                 std::optional<scheduled::carried_run> start = {}) {
        write_settings(c, message.initRoot<proto::LassoSettings>());
        driven_run run = c.run;
        run.settings = message.getRoot<capnp::AnyPointer>().asReader();
        if (run.program.name.empty())
            run.program = program_of(c);
        run.start = std::move(start);
        driver.emplace(std::move(run), rows);
    }
    result<lasso_result> run() {
        auto driven = driver->run();
        if (!driven)
            return driven.failure();
        auto solutions = merged(*driven);
        driven->saved.clear(); // in the driver's memory
        return lasso_result{std::move(*driven), std::move(solutions)};
    }

    capnp::MallocMessageBuilder message;
    std::optional<program_driver> driver;
};

} // namespace

result<lasso_result> run_lasso(const lasso_case& c, const matrix_rows& rows) {
    return lasso_driver{c, rows}.run();
}

result<lasso_result> run_lasso(const lasso_case& before, const lasso_case& now,
                               const matrix_rows& rows) {
    lasso_driver first{before, rows};
    if (auto ran = first.run(); !ran)
        return ran;
    auto carried = first.driver->end();
    if (!carried)
        return carried.failure();
    const lasso_driver to{now, rows};
    scheduled::carried_site site = to.driver->carried_site();
    site.memory = first.driver->site().memory;
    if (auto fits = lasso::lasso_program().carry_over(first.driver->carried_site(), site, *carried);
        !fits)
        return fits.failure();
    return lasso_driver{now, rows, std::move(*carried)}.run();
}

// ---- data ----

matrix_rows made_rows(const made_data& made) {
    random_stream random{made.seed};
    std::vector<double> all(made.rows * made.columns);
    for (std::uint64_t first = 0; first < made.columns; first += made.group) {
        const std::uint64_t end = std::min(made.columns, first + made.group);
        for (std::uint64_t i = 0; i < made.rows; ++i) {
            const bool is_entry = random.uniform() < made.share;
            const double common = random.normal();
            for (std::uint64_t j = first; j < end; ++j) {
                const double own = random.normal();
                if (is_entry)
                    all[i * made.columns + j] = made.mean + std::sqrt(made.likeness) * common +
                                                std::sqrt(1 - made.likeness) * own;
            }
        }
    }
    std::vector<double> truth(made.columns);
    for (int k = 0; k < 10; ++k)
        truth[random.below(made.columns)] = random.normal() + (k % 2 == 0 ? 2 : -2);
    matrix_rows rows;
    rows.columns = made.columns;
    if (made.share < 1)
        rows.starts.push_back(0);
    for (std::uint64_t i = 0; i < made.rows; ++i) {
        double target = 3 + 0.5 * random.normal();
        for (std::uint64_t j = 0; j < made.columns; ++j) {
            const auto value = static_cast<float>(all[i * made.columns + j]);
            target += truth[j] * static_cast<double>(value);
            if (made.share < 1 && value == 0)
                continue;
            rows.values.push_back(value);
            if (made.share < 1)
                rows.indices.push_back(static_cast<std::int32_t>(j));
        }
        rows.targets.push_back(target);
        if (made.share < 1)
            rows.starts.push_back(static_cast<std::int64_t>(rows.values.size()));
    }
    return rows;
}

matrix_rows dense_of(const matrix_rows& rows) {
    if (!rows.is_sparse())
        return rows;
    matrix_rows dense;
    dense.columns = rows.columns;
    dense.targets = rows.targets;
    dense.values.resize(rows.rows() * rows.columns);
    for (std::uint64_t i = 0; i < rows.rows(); ++i)
        for (auto e = static_cast<std::size_t>(rows.starts[i]);
             e < static_cast<std::size_t>(rows.starts[i + 1]); ++e)
            dense.values[i * rows.columns + static_cast<std::size_t>(rows.indices[e])] =
                rows.values[e];
    return dense;
}

// ---- plain coordinate descent ----

plain_solution plain_descent(const lasso_case& c, const matrix_rows& rows, double lambda) {
    const plain_model m{c, rows};
    plain_solution s;
    s.lambda = lambda > 0 ? lambda : c.share > 0 ? c.share * m.largest_lambda(c.ratio) : c.lambda;
    const lasso::penalty p = m.weights(s.lambda, c.ratio);
    s.values.resize(m.columns.size());
    std::vector<double> r = m.targets;
    double change = 1;
    for (int pass = 0; pass < 100000 && change > 1e-15; ++pass) {
        change = 0;
        double largest = 0;
        for (std::size_t j = 0; j < m.columns.size(); ++j) {
            if (m.squares[j] < 1e-10)
                continue;
            const double before = s.values[j];
            s.values[j] =
                lasso::minimizer(m.product(j, r) + m.squares[j] * before, m.squares[j], p);
            const double delta = s.values[j] - before;
            change = std::max(change, std::abs(delta));
            largest = std::max(largest, std::abs(s.values[j]));
            if (delta != 0)
                for (std::size_t i = 0; i < m.rows; ++i)
                    r[i] -= m.columns[j][i] * delta;
        }
        change /= std::max(largest, 1e-300);
    }
    s.objective = m.objective(s.values, p);
    s.intercept =
        m.target_mean - std::inner_product(s.values.begin(), s.values.end(), m.means.begin(), 0.0);
    return s;
}

plain_check check_plainly(const lasso_case& c, const matrix_rows& rows, const lasso::solution& s) {
    const plain_model m{c, rows};
    const lasso::penalty p = m.weights(s.numbers.lambda, c.ratio);
    std::vector<double> values(m.columns.size());
    for (std::size_t i = 0; i < s.columns.size(); ++i)
        values[static_cast<std::size_t>(s.columns[i])] = s.values[i];
    const std::vector<double> r = m.residual(values);
    plain_check check{m.objective(values, p), 0, 0};
    lasso::coefficient_sums sums;
    for (std::size_t j = 0; j < values.size(); ++j) {
        const double gradient = m.product(j, r) - p.l2 * values[j];
        const double off = values[j] == 0 ? std::abs(gradient) - p.l1
                                          : std::abs(gradient - std::copysign(p.l1, values[j]));
        check.violation = std::max(check.violation, off / p.l1);
        if (m.squares[j] > 1e-10)
            sums.add(values[j], m.product(j, r), p.l2);
    }
    const auto square = [](const std::vector<double>& v) {
        return std::inner_product(v.begin(), v.end(), v.begin(), 0.0);
    };
    check.gap = lasso::duality_gap(square(r), sums, p) / (square(m.targets) / 2);
    return check;
}

} // namespace troupe::test

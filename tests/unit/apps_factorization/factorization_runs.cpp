#include "tests/unit/apps_factorization/factorization_runs.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>

#include <boost/test/unit_test.hpp>

#include "apps/factorization/factorization.capnp.h"
#include "apps/factorization/factorization.hpp"
#include "apps/factorization/result_files.hpp"

namespace troupe::test {

using factorization::factor_model;
using factorization::factorization_settings;
using factorization::rating_entry;

namespace {

// Adds the rows that are held out to the pieces of those that are not.
class with_held_out final : public scheduled::worker_part {
  public:
    with_held_out(std::unique_ptr<scheduled::worker_part> part, const matrix_rows& held_out,
                  std::uint64_t first, memory_pool& memory)
        : part_{std::move(part)}, held_out_{held_out}, next_{first}, memory_{memory} {}

    result<void> take_data(const scheduled::payload& piece) override {
        const std::size_t rows = piece[3].elements();
        const auto begin = static_cast<std::size_t>(held_out_.starts[next_]),
                   end = static_cast<std::size_t>(held_out_.starts[next_ + rows]);
        std::vector<std::int64_t> starts;
        for (std::size_t i = 0; i <= rows; ++i)
            starts.push_back(held_out_.starts[next_ + i] - held_out_.starts[next_]);
        auto more = scheduled::payload_of(memory_, starts,
                                          std::span{held_out_.indices}.subspan(begin, end - begin),
                                          std::span{held_out_.values}.subspan(begin, end - begin));
        if (!more)
            return more.failure();
        scheduled::payload whole = piece;
        whole.insert(whole.end(), more->begin(), more->end());
        next_ += rows;
        return part_->take_data(whole);
    }
    result<void> data_is_complete() override { return part_->data_is_complete(); }
    result<void> apply(const scheduled::phase_deltas& deltas) override {
        return part_->apply(deltas);
    }
    result<scheduled::payload> push(const scheduled::phase& p, compute_context& context) override {
        return part_->push(p, context);
    }
    result<scheduled::payload> probe(const scheduled::phase& p, std::uint32_t scheduler,
                                     compute_context& context) override {
        return part_->probe(p, scheduler, context);
    }
    result<scheduled::payload> make_block(std::uint32_t block) override {
        return part_->make_block(block);
    }
    result<scheduled::payload> turn(const scheduled::phase& p, scheduled::held_block& block,
                                    compute_context& context) override {
        return part_->turn(p, block, context);
    }
    result<scheduled::saved_part> save() const override { return part_->save(); }
    result<void> load(const scheduled::saved_part& saved) override { return part_->load(saved); }

  private:
    std::unique_ptr<scheduled::worker_part> part_;
    const matrix_rows& held_out_;
    std::uint64_t next_;
    memory_pool& memory_;
};

scheduled::program program_of(const ratings& data) {
    scheduled::program program = factorization::factorization_program();
    if (data.held_out.values.empty())
        return program;
    program.make_worker =
        [make = program.make_worker, &held_out = data.held_out](
            const scheduled::worker_site& site) -> result<std::unique_ptr<scheduled::worker_part>> {
        auto part = make(site);
        if (!part)
            return part;
        return std::unique_ptr<scheduled::worker_part>{std::make_unique<with_held_out>(
            std::move(*part), held_out, site.rows.first, *site.memory)};
    };
    return program;
}

void write_settings(const factorization_settings& s, proto::FactorizationSettings::Builder to) {
    to.setRank(s.rank);
    to.setBy(s.by == factorization::method::sgd ? proto::FactorizationMethod::SGD
                                                : proto::FactorizationMethod::COORDINATES);
    to.setBiases(s.has_biases);
    to.setPenalty(s.penalty);
    to.setRate(s.rate);
    to.setDecay(s.decay);
    to.setRankings(s.rankings);
}

// Runs it, and hands site and ended run to `use`, which may fail.
template <class Use>
auto run_and(const factorization_case& c, const ratings& data, Use use)
    -> decltype(use(std::declval<const scheduled::program_site&>(),
                    std::declval<const scheduled::ended_run&>(), std::declval<driven_result&>())) {
    capnp::MallocMessageBuilder message;
    write_settings(c.settings, message.initRoot<proto::FactorizationSettings>());
    driven_run run = c.run;
    run.settings = message.getRoot<capnp::AnyPointer>().asReader();
    run.program = program_of(data);
    program_driver driver{std::move(run), data.learned};
    auto driven = driver.run();
    if (!driven)
        return driven.failure();
    scheduled::ended_run ended{driven->saved, driven->saved_workers, driven->blocks};
    driven->saved.clear(); // in the driver's memory, as the others
    driven->saved_workers.clear();
    driven->blocks.clear();
    return use(driver.site(), ended, *driven);
}

void close_row(matrix_rows& rows) {
    rows.starts.push_back(static_cast<std::int64_t>(rows.values.size()));
    rows.targets.push_back(0);
}

matrix_rows rows_of(std::vector<rating_entry> entries, std::uint64_t users, std::uint64_t items) {
    std::ranges::sort(entries, [](const rating_entry& a, const rating_entry& b) {
        return a.user != b.user ? a.user < b.user : a.item < b.item;
    });
    matrix_rows rows;
    rows.columns = items;
    rows.starts.push_back(0);
    std::size_t next = 0;
    for (std::uint64_t user = 0; user < users; ++user) {
        for (; next < entries.size() && entries[next].user == user; ++next) {
            rows.indices.push_back(static_cast<std::int32_t>(entries[next].item));
            rows.values.push_back(entries[next].rating);
        }
        close_row(rows);
    }
    return rows;
}

std::vector<rating_entry> entries_of(const matrix_rows& rows) {
    std::vector<rating_entry> entries;
    for (std::uint64_t u = 0; u < rows.rows(); ++u)
        for (auto k = static_cast<std::size_t>(rows.starts[u]);
             k < static_cast<std::size_t>(rows.starts[u + 1]); ++k)
            entries.push_back({u, static_cast<std::uint64_t>(rows.indices[k]), rows.values[k]});
    return entries;
}

} // namespace

std::vector<rating_entry> ratings::held_out_entries() const {
    return entries_of(held_out);
}

ratings make_ratings(const made_ratings& made) {
    random_stream random{made.seed};
    const auto draw = [&](std::uint64_t count, double size) {
        std::vector<double> numbers(count);
        for (double& x : numbers)
            x = size * random.normal();
        return numbers;
    };
    const double each = 1 / std::sqrt(std::sqrt(static_cast<double>(made.rank)));
    const auto p = draw(made.users * made.rank, each), q = draw(made.items * made.rank, each),
               b = draw(made.users, 0.4), c = draw(made.items, 0.4);
    ratings all;
    for (matrix_rows* rows : {&all.learned, &all.held_out}) {
        rows->columns = made.items;
        rows->starts.push_back(0);
    }
    for (std::uint64_t u = 0; u < made.users; ++u) {
        for (std::uint64_t i = 0; i < made.items; ++i) {
            if (random.uniform() >= made.share)
                continue;
            double r = b[u] + c[i] + made.noise * random.normal();
            for (std::uint32_t k = 0; k < made.rank; ++k)
                r += p[u * made.rank + k] * q[i * made.rank + k];
            matrix_rows& to = random.uniform() < 0.1 ? all.held_out : all.learned;
            to.indices.push_back(static_cast<std::int32_t>(i));
            to.values.push_back(static_cast<float>(made.mean + made.scale * r));
        }
        close_row(all.learned);
        close_row(all.held_out);
    }
    return all;
}

ratings read_ratings(const std::filesystem::path& learned, const std::filesystem::path& held_out) {
    std::vector<rating_entry> entries[2];
    std::uint64_t users = 0, items = 0;
    const std::filesystem::path paths[] = {learned, held_out};
    for (int k = 0; k < 2; ++k) {
        std::ifstream file{paths[k]};
        rating_entry e;
        while (file >> e.user >> e.item >> e.rating) {
            entries[k].push_back(e);
            users = std::max(users, e.user + 1);
            items = std::max(items, e.item + 1);
        }
    }
    return {rows_of(entries[0], users, items), rows_of(entries[1], users, items)};
}

// ---- runs ----

factorization_case sgd_case(std::uint32_t rank, std::uint32_t workers, std::uint64_t sweeps) {
    factorization_case c;
    c.settings.rank = rank;
    c.run.workers = workers;
    c.run.schedule.kind = scheduled::schedule_kind::rotation;
    c.run.schedule.window = 1;
    c.run.phases_max = sweeps * c.run.schedule.blocks_per_worker * workers + sweeps;
    return c;
}

factorization_case coordinates_case(std::uint32_t rank, std::uint32_t workers,
                                    std::uint64_t sweeps) {
    factorization_case c;
    c.settings.rank = rank;
    c.settings.by = factorization::method::coordinates;
    c.run.workers = workers;
    c.run.schedule.kind = scheduled::schedule_kind::cyclic;
    c.run.schedule.window = 0;
    c.run.phases_max = 1 + sweeps * (rank + 2); // with biases
    return c;
}

double factorization_result::last(const char* name) const {
    BOOST_REQUIRE(!driven.standings.empty());
    for (const named_number& n : driven.standings.back().numbers)
        if (n.name == name)
            return n.value;
    return -1;
}

result<factorization_result> run_factorization(const factorization_case& c, const ratings& data) {
    return run_and(c, data,
                   [](const scheduled::program_site& site, const scheduled::ended_run& ended,
                      driven_result& driven) -> result<factorization_result> {
                       auto model = factorization::model_of(site, ended);
                       if (!model)
                           return model.failure();
                       auto held_out =
                           factorization::held_out_of(ended, site.data.rows, site.data.columns);
                       if (!held_out)
                           return held_out.failure();
                       std::vector<std::int32_t> counts;
                       for (const scheduled::held_block& block : ended.blocks)
                           for (const std::int32_t n : block.content[2].values<std::int32_t>())
                               counts.push_back(n);
                       return factorization_result{std::move(driven), std::move(*model),
                                                   std::move(*held_out), std::move(counts)};
                   });
}

factorization_result run_well(const factorization_case& c, const ratings& data) {
    auto run = run_factorization(c, data);
    if (!run)
        BOOST_FAIL("a run failed: " << run.failure().message());
    return std::move(*run);
}

result<std::vector<std::string>> write_factorization(const factorization_case& c,
                                                     const ratings& data,
                                                     const std::filesystem::path& directory) {
    return run_and(c, data,
                   [&](const scheduled::program_site& site, const scheduled::ended_run& ended,
                       driven_result&) {
                       scheduled::result_site where{site, directory, {}};
                       return factorization::write_result(where, ended);
                   });
}

double objective_of(const factor_model& model, const matrix_rows& rows, double penalty) {
    double sum = 0;
    const auto square = [](const float* from, std::uint32_t count) {
        double s = 0;
        for (std::uint32_t k = 0; k < count; ++k)
            s += static_cast<double>(from[k]) * static_cast<double>(from[k]);
        return s;
    };
    const auto entries = entries_of(rows);
    for (const rating_entry& e : entries) {
        const double off = static_cast<double>(e.rating) - predict(model, e.user, e.item);
        sum += off * off +
               penalty *
                   (square(model.user_factors.data() + e.user * model.rank, model.rank) +
                    square(model.item_factors.data() + e.item * model.rank, model.rank) +
                    square(&model.user_biases[e.user], 1) + square(&model.item_biases[e.item], 1));
    }
    return sum / static_cast<double>(entries.size());
}

// ---- alternating least squares ----

namespace {

// Solves the symmetric positive definite system by Cholesky's method, in place.
std::vector<double> solved(std::vector<double> a, std::vector<double> b) {
    const std::size_t n = b.size();
    for (std::size_t j = 0; j < n; ++j) {
        for (std::size_t k = 0; k < j; ++k)
            for (std::size_t i = j; i < n; ++i)
                a[i * n + j] -= a[i * n + k] * a[j * n + k];
        const double root = std::sqrt(a[j * n + j]);
        for (std::size_t i = j; i < n; ++i)
            a[i * n + j] /= root;
    }
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t k = 0; k < i; ++k)
            b[i] -= a[i * n + k] * b[k];
        b[i] /= a[i * n + i];
    }
    for (std::size_t i = n; i-- > 0;) {
        for (std::size_t k = i + 1; k < n; ++k)
            b[i] -= a[k * n + i] * b[k];
        b[i] /= a[i * n + i];
    }
    return b;
}

struct side {
    std::vector<float>& factors;
    std::vector<float>& biases;
};

// Of each of the own: (number of the other, rating).
using by_own = std::vector<std::vector<std::pair<std::size_t, double>>>;

void solve_side(const factorization_settings& s, double mean, const by_own& rated, side own,
                side other) {
    const std::size_t n = s.rank + (s.has_biases ? 1 : 0);
    std::vector<double> x(n, 1.0);
    for (std::size_t u = 0; u < rated.size(); ++u) {
        std::vector<double> a(n * n), b(n);
        for (const auto& [i, rating] : rated[u]) {
            for (std::size_t k = 0; k < s.rank; ++k)
                x[k] = static_cast<double>(other.factors[i * s.rank + k]);
            const double y = rating - mean - static_cast<double>(other.biases[i]);
            for (std::size_t k = 0; k < n; ++k) {
                b[k] += x[k] * y;
                for (std::size_t l = 0; l <= k; ++l)
                    a[k * n + l] += x[k] * x[l];
                a[k * n + k] += s.penalty;
            }
        }
        if (rated[u].empty())
            continue;
        const std::vector<double> best = solved(std::move(a), std::move(b));
        for (std::size_t k = 0; k < s.rank; ++k)
            own.factors[u * s.rank + k] = static_cast<float>(best[k]);
        if (s.has_biases)
            own.biases[u] = static_cast<float>(best.back());
    }
}

} // namespace

factor_model alternate(const factorization_settings& settings, const matrix_rows& rows,
                       int sweeps) {
    factor_model m;
    m.rank = settings.rank;
    m.users = rows.rows();
    m.items = rows.columns;
    m.has_biases = settings.has_biases;
    by_own of_users(m.users), of_items(m.items);
    for (const rating_entry& e : entries_of(rows)) {
        of_users[e.user].emplace_back(e.item, static_cast<double>(e.rating));
        of_items[e.item].emplace_back(e.user, static_cast<double>(e.rating));
        m.mean += static_cast<double>(e.rating) / static_cast<double>(rows.values.size());
    }
    if (!m.has_biases)
        m.mean = 0;
    random_stream random{7};
    m.user_factors.resize(m.users * m.rank);
    m.item_factors.resize(m.items * m.rank);
    for (std::uint64_t i = 0; i < m.items; ++i)
        for (std::uint64_t k = 0; k < m.rank && !of_items[i].empty(); ++k)
            m.item_factors[i * m.rank + k] = static_cast<float>(0.1 * random.normal());
    m.user_biases.resize(m.users);
    m.item_biases.resize(m.items);
    const side users{m.user_factors, m.user_biases}, items{m.item_factors, m.item_biases};
    for (int sweep = 0; sweep < sweeps; ++sweep) {
        solve_side(settings, m.mean, of_users, users, items);
        solve_side(settings, m.mean, of_items, items, users);
    }
    return m;
}

} // namespace troupe::test

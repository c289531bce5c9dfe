// What every program that scores has to say of data that its run has not seen.
#include <boost/test/unit_test.hpp>

#include <cmath>

#include "actors/scheduled/data_pieces.hpp"
#include "tests/conformance/program_cases.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

using numbers_of_solutions = std::vector<std::vector<named_number>>;

// Rows in memory, a few at a time.
class listed_rows final : public scheduled::piece_source {
  public:
    listed_rows(const matrix_rows& rows, std::uint64_t at_once) : rows_{rows}, at_once_{at_once} {}

    scheduled::data_shape shape() const override {
        return {rows_.rows(), rows_.columns, rows_.values.size(), rows_.is_sparse()};
    }
    std::uint64_t row_work(std::uint64_t) const override { return 1; }
    std::uint64_t column_work(std::uint64_t) const override { return 1; }
    result<std::optional<scheduled::rows_piece>> next(std::uint64_t, memory_pool& memory) override {
        if (done_ == rows_.rows())
            return std::optional<scheduled::rows_piece>{};
        const std::uint64_t count = std::min(at_once_, rows_.rows() - done_);
        std::size_t first = done_ * rows_.columns, end = first + count * rows_.columns;
        std::vector<std::int64_t> starts;
        if (rows_.is_sparse()) {
            first = static_cast<std::size_t>(rows_.starts[done_]);
            end = static_cast<std::size_t>(rows_.starts[done_ + count]);
            for (std::uint64_t r = done_; r <= done_ + count; ++r)
                starts.push_back(rows_.starts[r] - rows_.starts[done_]);
        }
        const auto indices = rows_.is_sparse()
                                 ? std::span{rows_.indices}.subspan(first, end - first)
                                 : std::span<const std::int32_t>{};
        auto made = scheduled::payload_of(memory, starts, indices,
                                          std::span{rows_.values}.subspan(first, end - first),
                                          std::span{rows_.targets}.subspan(done_, count));
        if (!made)
            return made.failure();
        done_ += count;
        return std::optional{scheduled::rows_piece{done_ - count, count, std::move(*made)}};
    }
    result<void> rewind() override {
        done_ = 0;
        return {};
    }

  private:
    const matrix_rows& rows_;
    const std::uint64_t at_once_;
    std::uint64_t done_ = 0;
};

class printed_lines final : public scheduled::prediction_table {
  public:
    result<void> begin(const std::vector<std::string>& columns) override {
        columns_ = columns.size();
        return {};
    }
    result<void> add(std::span<const std::string> texts, std::span<const double> numbers) override {
        BOOST_TEST(texts.size() + numbers.size() == columns_);
        for (const std::string& text : texts)
            all.append(text).append(" ");
        for (const double number : numbers) {
            BOOST_TEST(std::isfinite(number));
            all.append(std::to_string(number)).append(" ");
        }
        ++lines;
        return {};
    }

    std::string all;
    std::size_t lines = 0;

  private:
    std::size_t columns_ = 0;
};

// A run to its end, and the result that it leaves behind.
class left_behind {
  public:
    left_behind(const program_case& c, const scheduled::program_app& app)
        : what_{c.program}, driver_{whole_run(c, app), c.rows} {
        auto ended = driver_.run();
        BOOST_REQUIRE_MESSAGE(ended.ok(), (ended ? "" : ended.failure().message()));
        scheduled::result_site site;
        static_cast<scheduled::program_site&>(site) = driver_.site();
        site.directory = folder_.path();
        const auto files =
            c.program.write_result(site, {ended->saved, ended->saved_workers, ended->blocks});
        BOOST_REQUIRE_MESSAGE(files.ok(), (files ? "" : files.failure().message()));
    }

    numbers_of_solutions score(const matrix_rows& rows, std::uint64_t at_once) const {
        listed_rows source{rows, at_once};
        const auto numbers = what_.score(use_of(source));
        BOOST_REQUIRE_MESSAGE(numbers.ok(), (numbers ? "" : numbers.failure().message()));
        return *numbers;
    }
    printed_lines predict(const matrix_rows& rows, std::uint64_t at_once) const {
        listed_rows source{rows, at_once};
        printed_lines table;
        const auto done = what_.predict(use_of(source), table);
        BOOST_REQUIRE_MESSAGE(done.ok(), (done ? "" : done.failure().message()));
        return table;
    }

  private:
    static driven_run whole_run(const program_case& c, const scheduled::program_app& app) {
        driven_run run = run_of(c, app);
        const scheduled::rotation ring{run.workers, run.schedule.blocks_per_worker};
        if (c.sweeps > 0)
            run.phases_max = c.sweeps * ring.phases_per_sweep();
        return run;
    }
    scheduled::result_use use_of(scheduled::piece_source& rows) const {
        scheduled::result_use use;
        static_cast<scheduled::program_site&>(use) = driver_.site();
        use.data = rows.shape();
        use.directory = folder_.path();
        use.rows = &rows;
        return use;
    }

    const scheduled::program& what_;
    const temporary_folder folder_;
    program_driver driver_;
};

void check_same(const numbers_of_solutions& a, const numbers_of_solutions& b) {
    BOOST_TEST_REQUIRE(a.size() == b.size());
    for (std::size_t s = 0; s < a.size(); ++s) {
        BOOST_TEST_REQUIRE(a[s].size() == b[s].size());
        for (std::size_t i = 0; i < a[s].size(); ++i) {
            BOOST_TEST(a[s][i].name == b[s][i].name);
            BOOST_TEST(std::isfinite(a[s][i].value));
            BOOST_TEST(a[s][i].value == b[s][i].value);
        }
    }
}

bool differ(const numbers_of_solutions& a, const numbers_of_solutions& b) {
    for (std::size_t s = 0; s < a.size(); ++s)
        for (std::size_t i = 0; i < a[s].size(); ++i)
            if (a[s][i].value != b.at(s).at(i).value)
                return true;
    return false;
}

} // namespace

BOOST_AUTO_TEST_SUITE(scores_of_programs)

BOOST_AUTO_TEST_CASE(say_how_well_a_result_fits_what_was_held_out) {
    for (const program_case& c : program_cases())
        BOOST_TEST_CONTEXT(c.name) {
            if (c.source)
                continue; // there is nothing else that its result could fit
            BOOST_TEST_REQUIRE(static_cast<bool>(c.program.score));
            const auto app = app_of(c).value();
            const left_behind found{c, app};
            const auto numbers = found.score(c.held_out, 1000);
            BOOST_TEST_REQUIRE(!numbers.empty());
            BOOST_TEST(!numbers.front().empty());
            check_same(numbers, found.score(c.held_out, 3)); // pieces are the reader's affair
            BOOST_TEST(differ(numbers, found.score(c.rows, 1000)));
            check_same(numbers, left_behind{c, app}.score(c.held_out, 1000));
        }
}

BOOST_AUTO_TEST_CASE(predict_without_a_look_at_the_targets) {
    for (const program_case& c : program_cases())
        BOOST_TEST_CONTEXT(c.name) {
            if (c.source)
                continue;
            BOOST_TEST_REQUIRE(static_cast<bool>(c.program.predict));
            const auto app = app_of(c).value();
            const left_behind found{c, app};
            const auto lines = found.predict(c.held_out, 1000);
            BOOST_TEST(lines.lines >= c.held_out.rows());
            matrix_rows bare = c.held_out;
            std::ranges::fill(bare.targets, 0.0);
            BOOST_TEST((found.predict(bare, 3).all == lines.all));
        }
}

BOOST_AUTO_TEST_SUITE_END()

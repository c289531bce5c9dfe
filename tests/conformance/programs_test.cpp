// What every program of scheduled parameters that ships has to be, without actors (tests/support/program_driver.hpp); the
// actors are held to the same numbers in tests/sim/.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "tests/conformance/program_attacks.hpp"
#include "tests/conformance/program_cases.hpp"
#include "tests/support/seeds.hpp"
#include "tools/troupe/shipped_programs.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

struct division {
    std::uint32_t workers = 1;
    std::uint32_t schedulers = 1;
    std::uint32_t window = 2;
};

driven_run divided(const program_case& c, const scheduled::program_app& app, const division& d) {
    driven_run run = run_of(c, app);
    run.workers = d.workers;
    run.schedulers = rotates(run) || c.has_one_scheduler ? 1 : d.schedulers;
    run.schedule.window = d.window;
    const scheduled::rotation ring{run.workers, run.schedule.blocks_per_worker};
    if (c.sweeps > 0)
        run.phases_max = c.sweeps * ring.phases_per_sweep();
    return run;
}

// A run to its end, whose tensors are in the driver's memory.
class ended_run {
  public:
    ended_run(const driven_run& run, const program_case& c) : driver_{run, c.rows} {
        auto ended = driver_.run();
        BOOST_REQUIRE_MESSAGE(ended.ok(), (ended ? "" : ended.failure().message()));
        result_ = std::move(*ended);
    }
    const driven_result* operator->() const { return &result_; }
    const driven_result& operator*() const { return result_; }

  private:
    program_driver driver_;
    driven_result result_;
};

std::string bytes_of(std::span<const tensor> tensors) {
    std::string all;
    for (const tensor& t : tensors) {
        all +=
            std::to_string(static_cast<int>(t.type())) + ' ' + std::to_string(t.elements()) + ' ';
        all.append(reinterpret_cast<const char*>(t.data()), t.bytes());
    }
    return all;
}

bool is_same(const std::vector<scheduled::saved_part>& a,
             const std::vector<scheduled::saved_part>& b) {
    return std::ranges::equal(a, b, [](const auto& left, const auto& right) {
        return left.names == right.names && bytes_of(left.tensors) == bytes_of(right.tensors);
    });
}

// The same phases, the same changes, the same end, to the bit.
void check_same(const ended_run& left_run, const ended_run& right_run) {
    const driven_result &a = *left_run, &b = *right_run;
    BOOST_TEST(a.phases == b.phases);
    BOOST_TEST(a.is_done == b.is_done);
    BOOST_TEST(a.contents == b.contents, boost::test_tools::per_element());
    BOOST_TEST(a.changes == b.changes, boost::test_tools::per_element());
    BOOST_TEST(is_same(a.saved, b.saved));
    BOOST_TEST(is_same(a.saved_workers, b.saved_workers));
    BOOST_TEST(a.blocks.size() == b.blocks.size());
    BOOST_TEST(std::ranges::equal(a.blocks, b.blocks, [](const auto& left, const auto& right) {
        return left.number == right.number && left.turn == right.turn &&
               bytes_of(left.content) == bytes_of(right.content);
    }));
}

} // namespace

BOOST_AUTO_TEST_SUITE(programs)

BOOST_AUTO_TEST_CASE(all_that_ship_have_a_row) {
    std::set<std::string> have;
    for (const program_case& c : program_cases())
        have.insert(c.program.name);
    for (const scheduled::program& p : cli::shipped_programs())
        BOOST_TEST(have.contains(p.name), p.name);
}

BOOST_AUTO_TEST_CASE(end_and_say_how_good_they_are) {
    for (const program_case& c : program_cases())
        BOOST_TEST_CONTEXT(c.name) {
            const auto app = app_of(c).value();
            const ended_run ended{divided(c, app, {2, 2, 2}), c};
            BOOST_TEST(ended->is_done == c.has_end);
            BOOST_TEST_REQUIRE(!ended->standings.empty());
            BOOST_TEST(!ended->standings.back().numbers.empty());
        }
}

BOOST_AUTO_TEST_CASE(compute_the_same_bits_from_the_same_seed) {
    for (const program_case& c : program_cases())
        for (const division& d : {division{1, 1, 0}, division{3, 2, 2}, division{4, 3, 5}})
            BOOST_TEST_CONTEXT(c.name << ", workers " << d.workers << ", schedulers "
                                      << d.schedulers << ", window " << d.window) {
                const auto app = app_of(c).value();
                const driven_run run = divided(c, app, d);
                check_same(ended_run{run, c}, ended_run{run, c});
            }
}

BOOST_AUTO_TEST_CASE(find_the_same_with_any_number_of_workers) {
    for (const program_case& c : program_cases())
        BOOST_TEST_CONTEXT(c.name) {
            const auto app = app_of(c).value();
            if (!c.found) { // it draws, or steps, in an order that depends on them
                BOOST_TEST(rotates(run_of(c, app)));
                continue;
            }
            const auto whole = c.found(*ended_run{divided(c, app, {1, 1, 2}), c});
            double largest = 0;
            for (const double x : whole)
                largest = std::max(largest, std::abs(x));
            BOOST_TEST(largest > 0);
            for (const std::uint32_t workers : {2u, 4u}) {
                const auto shared = c.found(*ended_run{divided(c, app, {workers, 1, 2}), c});
                BOOST_TEST_REQUIRE(shared.size() == whole.size());
                for (std::size_t i = 0; i < whole.size(); ++i)
                    BOOST_TEST(std::abs(shared[i] - whole[i]) <= c.tolerance * largest);
            }
        }
}

BOOST_AUTO_TEST_CASE(go_on_from_any_phase_as_if_nothing_had_been_saved, *seeded) {
    for (const program_case& c : program_cases()) {
        const auto app = app_of(c).value();
        for (const std::uint64_t seed : seed_range{60}) {
            random_stream random{seed};
            const division d{static_cast<std::uint32_t>(1 + random.below(4)),
                             static_cast<std::uint32_t>(1 + random.below(3)),
                             static_cast<std::uint32_t>(random.below(6))};
            driven_run run = divided(c, app, d);
            run.seed = seed;
            const ended_run whole{run, c};
            run.restart = random.below(whole->phases);
            BOOST_TEST_CONTEXT(c.name << ", phase " << *run.restart << " of " << whole->phases)
            check_same(whole, ended_run{run, c});
        }
    }
}

// A new worker that only passes the phases since a save goes on as the one that has computed them.
BOOST_AUTO_TEST_CASE(go_on_with_workers_that_replay_as_if_none_had_been_lost, *seeded) {
    for (const program_case& c : program_cases()) {
        const auto app = app_of(c).value();
        if (rotates(run_of(c, app)))
            continue; // all go back to the commit then
        for (const std::uint64_t seed : seed_range{60}) {
            random_stream random{seed, 1};
            const division d{static_cast<std::uint32_t>(1 + random.below(4)),
                             static_cast<std::uint32_t>(1 + random.below(3)),
                             static_cast<std::uint32_t>(random.below(6))};
            driven_run run = divided(c, app, d);
            run.seed = seed;
            const ended_run whole{run, c};
            const std::uint64_t from = random.below(whole->phases - 1);
            run.replayed = {from, from + 1 + random.below(whole->phases - from - 1)};
            BOOST_TEST_CONTEXT(c.name << ", phases " << from << " to " << run.replayed->at << " of "
                                      << whole->phases)
            check_same(whole, ended_run{run, c});
        }
    }
}

// Before data is read or memory is taken.
BOOST_AUTO_TEST_CASE(refuse_settings_that_make_no_sense) {
    for (const program_case& c : program_cases())
        for (const auto& [setting, says] : c.refused)
            BOOST_TEST_CONTEXT(c.name << ", " << setting) {
                const auto app = app_of(c, setting);
                result<void> fits = app ? result<void>{} : app.failure();
                if (app) {
                    scheduled::program_site site = program_driver{run_of(c, *app), c.rows}.site();
                    site.memory = nullptr;
                    BOOST_TEST_REQUIRE(static_cast<bool>(c.program.check));
                    fits = c.program.check(site);
                }
                BOOST_TEST_REQUIRE(!fits.ok());
                BOOST_TEST((fits.failure().code() == errc::usage));
                const std::string& why = fits.failure().message();
                BOOST_TEST(why.find(says) != std::string::npos, why);
            }
}

BOOST_AUTO_TEST_CASE(refuse_what_another_build_may_send, *seeded) {
    for (const program_case& c : program_cases()) {
        const auto app = app_of(c).value();
        attacks on{.ignored = c.ignored};
        for (const std::uint64_t seed : seed_range{4}) {
            on.seed = seed;
            driven_run run = divided(c, app,
                                     {static_cast<std::uint32_t>(1 + seed % 2),
                                      static_cast<std::uint32_t>(1 + seed / 2 % 2), 2});
            run.seed = seed;
            run.phases_max = std::min<std::uint64_t>(run.phases_max, 60);
            const ended_run undisturbed{run, c};
            run.program = under_attack(c.program, on);
            BOOST_TEST_CONTEXT(c.name)
            check_same(undisturbed, ended_run{run, c}); // what was tried was tried on copies
        }
        BOOST_TEST_CONTEXT(c.name) {
            BOOST_TEST(on.tried > 1000u);
            for (const std::string& wrong : on.wrongs)
                BOOST_ERROR(wrong);
            for (const auto& [broken, refused] : on.seen)
                BOOST_TEST(refused > 0, broken << ": is taken");
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()

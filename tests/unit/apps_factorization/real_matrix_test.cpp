// A small set of real ratings, where it is there: both methods beside alternating least squares.
#include <boost/test/unit_test.hpp>

#include <cmath>
#include <filesystem>

#include "tests/shared_data.hpp"
#include "tests/unit/apps_factorization/factorization_runs.hpp"

using namespace troupe;
using namespace troupe::factorization;
using namespace troupe::test;

namespace {

const std::filesystem::path folder = std::filesystem::path{TROUPE_SHARED_DATA} / "mf";

boost::test_tools::assertion_result has_data(boost::unit_test::test_unit_id) {
    boost::test_tools::assertion_result has{std::filesystem::exists(folder / "real_matrix.tr.txt")};
    has.message() << folder << " has no ratings";
    return has;
}

constexpr double penalty = 0.2;
constexpr std::uint32_t rank_of_all = 40;

struct real_data {
    ratings data = read_ratings(folder / "real_matrix.tr.txt", folder / "real_matrix.te.txt");
    double squares = 0;

    double least() {
        factorization_settings settings;
        settings.rank = rank_of_all;
        settings.penalty = penalty;
        const factor_model m = alternate(settings, data.learned, 15);
        const double error = rmse(m, data.held_out_entries());
        BOOST_TEST_MESSAGE("least squares: held out " << error << ", objective "
                                                      << objective_of(m, data.learned, penalty));
        return error;
    }
};

} // namespace

BOOST_AUTO_TEST_SUITE(factorization_of_real_ratings)

BOOST_AUTO_TEST_CASE(predicts_as_well_as_alternating_least_squares,
                     *boost::unit_test::precondition(has_data)) {
    real_data real;
    const double least = real.least();
    for (const std::uint32_t workers : {1U, 4U}) {
        auto sgd = sgd_case(rank_of_all, workers, 300);
        sgd.settings.penalty = penalty;
        sgd.settings.rate = 0.1;
        sgd.settings.decay = 0.01;
        auto coordinates = coordinates_case(rank_of_all, workers, 60);
        coordinates.settings.penalty = penalty;
        for (const auto& c : {sgd, coordinates}) {
            const auto run = run_well(c, real.data);
            const double error = rmse(run.model, real.data.held_out_entries());
            const double said = run.last("rmse");
            BOOST_TEST_MESSAGE("workers " << workers << ": held out " << error << ", said " << said
                                          << ", objective "
                                          << objective_of(run.model, real.data.learned, penalty));
            BOOST_TEST(std::abs(error / least - 1) < 0.01);
            BOOST_TEST(std::abs(said / error - 1) < 1e-3);
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()

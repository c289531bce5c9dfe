// The diabetes data of scikit-learn's package, as Debian installs it: 442 rows, 10 columns whose means are far from 0.
#include <boost/test/unit_test.hpp>

#include <zlib.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "tests/unit/apps_lasso/lasso_runs.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

const std::filesystem::path folder = "/usr/lib/python3/dist-packages/sklearn/datasets/data";

// All numbers of a text file, plain or gzip.
std::vector<double> numbers_of(const std::filesystem::path& path) {
    std::string text;
    gzFile file = gzopen(path.c_str(), "rb");
    BOOST_REQUIRE(file != nullptr);
    char block[4096];
    for (int count; (count = gzread(file, block, sizeof block)) > 0;)
        text.append(block, static_cast<std::size_t>(count));
    gzclose(file);
    std::vector<double> numbers;
    char* end = nullptr;
    for (const char* at = text.c_str(); *at != '\0'; at = end) {
        const double number = std::strtod(at, &end);
        if (end == at)
            break;
        numbers.push_back(number);
    }
    return numbers;
}

} // namespace

BOOST_AUTO_TEST_SUITE(lasso_diabetes)

BOOST_AUTO_TEST_CASE(has_the_known_objectives_and_numbers_of_coefficients) {
    if (!exists(folder / "diabetes_data_raw.csv.gz")) {
        std::cout << "skipped: no diabetes data (Debian: python3-sklearn)\n";
        return;
    }
    matrix_rows rows;
    rows.columns = 10;
    for (const double x : numbers_of(folder / "diabetes_data_raw.csv.gz"))
        rows.values.push_back(static_cast<float>(x));
    rows.targets = numbers_of(folder / "diabetes_target.csv.gz");
    BOOST_REQUIRE(rows.rows() == 442u);
    BOOST_REQUIRE(rows.values.size() == 4420u);
    // |r|^2 / 2 + penalty |b|_1 on columns that are centred and have unit norm; values are kept as float32
    struct known {
        double penalty, objective;
        std::size_t used;
    };
    for (const known& k :
         {known{500, 1180485.602805, 2}, known{200, 928257.599815, 4}, known{100, 805850.372374, 5},
          known{50, 729934.403037, 7}, known{10, 656133.310250, 8}, known{1, 635225.090438, 10}})
        for (const std::uint32_t workers : {1u, 3u}) {
            lasso_case c;
            c.lambda = k.penalty / 442;
            c.run.unit_norm = true;
            c.run.workers = workers;
            c.run.stop.gap = 1e-12;
            const auto ran = run_lasso(c, rows);
            BOOST_REQUIRE(ran.ok());
            const lasso::solution& s = ran->solutions.back();
            BOOST_TEST(std::abs(s.numbers.objective * 442 / k.objective - 1) < 5e-8);
            BOOST_TEST(s.columns.size() == k.used);
        }
    lasso_case c;
    c.count = 2;
    c.path_ratio = 0.9;
    c.run.unit_norm = true;
    c.run.stop.gap = 1e-6;
    const auto ran = run_lasso(c, rows);
    BOOST_REQUIRE(ran.ok());
    BOOST_TEST(std::abs(ran->solutions.front().numbers.lambda * 442 / 949.43526 - 1) < 1e-7);
}

BOOST_AUTO_TEST_SUITE_END()

#include <boost/test/unit_test.hpp>

#include <cstring>
#include <fstream>
#include <sstream>

#include <capnp/message.h>

#include "actors/scheduled/data_pieces.hpp"
#include "actors/scheduled/named_numbers.hpp"
#include "apps/lasso/lasso.capnp.h"
#include "apps/lasso/result_files.hpp"
#include "apps/lasso/solutions.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace troupe;
using namespace troupe::lasso;

namespace {

std::string text_of(const std::filesystem::path& path) {
    std::ostringstream text;
    text << std::ifstream{path, std::ios::binary}.rdbuf();
    return text.str();
}

struct saved_run {
    memory_pool memory{1u << 20};
    std::vector<scheduled::saved_part> parts{2};
    capnp::MallocMessageBuilder settings;

    saved_run() {
        settings.initRoot<proto::LassoSettings>().initPenalty().setLambda(1);
        const solution_numbers first{0.5, 2.25, 1e-7, 0.125, 0}, second{0.25, 1.5, 3e-7, -1, 3};
        BOOST_REQUIRE(
            append_solutions(memory, {{first, {}, {}}, {second, {1}, {0.5}}}, parts[0]).ok());
        BOOST_REQUIRE(
            append_solutions(memory, {{first, {}, {}}, {second, {3, 4}, {-2, 1e-3}}}, parts[1])
                .ok());
    }
    // Where it is written, and what of.
    scheduled::result_site site(const std::filesystem::path& folder) {
        scheduled::result_site site;
        site.settings = settings.getRoot<capnp::AnyPointer>().asReader();
        site.directory = folder;
        site.data = {100, 5, 500, false};
        return site;
    }
};

} // namespace

BOOST_AUTO_TEST_SUITE(lasso_result_files)

BOOST_AUTO_TEST_CASE(have_the_coefficients_of_all_schedulers_for_every_lambda) {
    saved_run run;
    const test::temporary_folder folder;
    scheduled::result_site site = run.site(folder.path());
    site.column_names = {"a", "b", "c", "say \"d\", e", "f"};
    const auto names = write_result(site, run.parts);
    BOOST_REQUIRE(names.ok());
    BOOST_TEST((*names == std::vector<std::string>{"coefficients.npy", "coefficients.csv",
                                                   "path.csv", "columns.txt", "summary.json"}));
    BOOST_TEST(text_of(folder.path() / "columns.txt") == "a\nb\nc\nsay \"d\", e\nf\n");
    BOOST_TEST(text_of(folder.path() / "coefficients.csv") == "lambda,column,coefficient\n"
                                                              "0.25,b,0.5\n"
                                                              "0.25,\"say \"\"d\"\", e\",-2\n"
                                                              "0.25,f,0.001\n");
    BOOST_TEST(text_of(folder.path() / "path.csv") == "lambda,objective,gap,nonzeros,intercept\n"
                                                      "0.5,2.25,1e-07,0,0.125\n"
                                                      "0.25,1.5,3e-07,3,-1\n");
    const std::string npy = text_of(folder.path() / "coefficients.npy");
    BOOST_TEST(npy.find("'shape': (2, 5)") != std::string::npos);
    BOOST_REQUIRE(npy.size() == 128u + 80);
    double values[10];
    std::memcpy(values, npy.data() + 128, sizeof values);
    const double expected[10] = {0, 0, 0, 0, 0, 0, 0.5, 0, -2, 1e-3};
    BOOST_TEST(values == expected, boost::test_tools::per_element());
    const std::string summary = text_of(folder.path() / "summary.json");
    BOOST_TEST(summary.find("\"nonzeros\": 3") != std::string::npos);
    BOOST_TEST(summary.find("\"lambdas\": 2") != std::string::npos);
    BOOST_TEST(summary.find("\"loss\": \"squared\"") != std::string::npos);
    run.settings.getRoot<proto::LassoSettings>().setLoss(proto::LassoLoss::LOGISTIC);
    BOOST_REQUIRE(write_result(site, run.parts).ok());
    BOOST_TEST(text_of(folder.path() / "summary.json").find("\"loss\": \"logistic\"") !=
               std::string::npos);
}

BOOST_AUTO_TEST_CASE(have_the_intercept_of_the_columns_in_the_file) {
    struct far_from_0 final : scheduled::piece_source {
        scheduled::data_shape shape() const override { return {100, 5, 500, false}; }
        std::uint64_t row_work(std::uint64_t) const override { return 5; }
        std::uint64_t column_work(std::uint64_t) const override { return 100; }
        std::vector<double> offsets() const override { return {9, 1000, 0, 10, 0}; }
        result<std::optional<scheduled::rows_piece>> next(std::uint64_t, memory_pool&) override {
            return error{errc::io, "the file is gone"};
        }
        result<void> rewind() override { return {}; }
    } rows;
    saved_run run;
    const test::temporary_folder folder;
    scheduled::result_site site = run.site(folder.path());
    site.rows = &rows;
    BOOST_REQUIRE(write_result(site, run.parts).ok());
    // -1 - (0.5 x 1000 - 2 x 10)
    BOOST_TEST(text_of(folder.path() / "path.csv").find("0.25,1.5,3e-07,3,-481\n") !=
               std::string::npos);
}

BOOST_AUTO_TEST_CASE(name_columns_without_names_by_their_numbers) {
    saved_run run;
    const test::temporary_folder folder;
    scheduled::result_site site = run.site(folder.path());
    BOOST_REQUIRE(write_result(site, run.parts).ok());
    BOOST_TEST(text_of(folder.path() / "coefficients.csv").find("0.25,3,-2\n") !=
               std::string::npos);
}

BOOST_AUTO_TEST_CASE(have_names_and_scales_only_where_the_columns_do) {
    saved_run run;
    const test::temporary_folder folder;
    scheduled::result_site site = run.site(folder.path());
    site.column_names = {"a", "b", "c", "d", "e"};
    site.unit_norm = true;
    const std::vector<double> facts[] = {{0, 4, 1, 9}, {0, 1, 0, 0, 2, 16}};
    for (std::size_t s = 0; s < 2; ++s)
        BOOST_REQUIRE(
            scheduled::append_state<double>(run.memory, "facts", facts[s], run.parts[s]).ok());
    BOOST_REQUIRE(write_result(site, run.parts).ok());
    const std::string npy = text_of(folder.path() / "scales.npy");
    BOOST_TEST(npy.find("'shape': (5,)") != std::string::npos);
    BOOST_REQUIRE(npy.size() == 128u + 40);
    double values[5];
    std::memcpy(values, npy.data() + 128, sizeof values);
    const double expected[5] = {2, 3, 1, 1, 4};
    BOOST_TEST(values == expected, boost::test_tools::per_element());
    site.column_names.clear();
    site.unit_norm = false;
    const test::temporary_folder other;
    site.directory = other.path();
    BOOST_REQUIRE(write_result(site, run.parts).ok());
    BOOST_TEST(!std::filesystem::exists(other.path() / "columns.txt"));
    BOOST_TEST(!std::filesystem::exists(other.path() / "scales.npy"));
}

BOOST_AUTO_TEST_CASE(are_refused_where_they_cannot_be_written_or_do_not_fit) {
    saved_run run;
    scheduled::result_site site = run.site("/nowhere/at/all");
    BOOST_TEST((write_result(site, run.parts).failure().code() == errc::io));
    const test::temporary_folder folder;
    site.directory = folder.path();
    site.data.columns = 4;
    BOOST_TEST((write_result(site, run.parts).failure().code() == errc::protocol));
    BOOST_TEST(!write_result(site, std::vector<scheduled::saved_part>(1)).ok());
}

BOOST_AUTO_TEST_SUITE_END()

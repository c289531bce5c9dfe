#include <boost/test/unit_test.hpp>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <nlohmann/json.hpp>

#include "apps/factorization/model_files.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/unit/apps_factorization/factorization_runs.hpp"

using namespace troupe;
using namespace troupe::factorization;
using namespace troupe::test;

namespace {

factor_model small_model() {
    factor_model m;
    m.rank = 2;
    m.users = 2;
    m.items = 4;
    m.mean = 3;
    m.has_biases = true;
    m.user_factors = {1, 0, 0.5F, -1};
    m.item_factors = {1, 1, 2, 0, -1, 1, 1, 1};
    m.user_biases = {0.5F, -0.5F};
    m.item_biases = {0, 0.25F, 0, 0};
    return m;
}

std::string text_of(const std::filesystem::path& path) {
    std::ostringstream text;
    text << std::ifstream{path, std::ios::binary}.rdbuf();
    return text.str();
}

bool says(const error& failure, std::string_view words) {
    return failure.message().find(words) != std::string::npos;
}

} // namespace

BOOST_AUTO_TEST_SUITE(factorization_model)

BOOST_AUTO_TEST_CASE(predicts_mean_biases_and_products) {
    const factor_model m = small_model();
    BOOST_TEST(predict(m, 0, 1) == 3 + 0.5 + 0.25 + 2);
    BOOST_TEST(predict(m, 1, 2) == 3 - 0.5 - 1.5);
    const rating_entry entries[] = {{0, 1, 5.75F}, {1, 2, 3.0F}};
    BOOST_TEST(rmse(m, entries) == std::sqrt(2.0));
    BOOST_TEST(rmse(m, {}) == 0);
}

BOOST_AUTO_TEST_CASE(ranks_the_best_items_that_were_not_seen) {
    const factor_model m = small_model();
    const auto all = rank(m, 0, 10, {});
    BOOST_TEST((all == std::vector<ranked_item>{{1, 5.75F}, {0, 4.5F}, {3, 4.5F}, {2, 2.5F}}));
    BOOST_TEST((rank(m, 0, 2, {}) == std::vector<ranked_item>{{1, 5.75F}, {0, 4.5F}}));
    const std::int32_t seen[] = {0, 1};
    BOOST_TEST((rank(m, 0, 1, seen) == std::vector<ranked_item>{{3, 4.5F}}));
    BOOST_TEST(rank(m, 0, 0, {}).empty());
}

BOOST_AUTO_TEST_CASE(is_read_back_as_it_was_written) {
    const temporary_folder folder;
    for (const bool has_biases : {true, false}) {
        factor_model m = small_model();
        if (!has_biases) {
            m.has_biases = false;
            m.mean = 0;
            m.user_biases.assign(2, 0.0F);
            m.item_biases.assign(4, 0.0F);
        }
        if (has_biases)
            m.item_names = {"a", "b", "c", "d e"};
        const auto names = write_model(folder.path(), m, {{"rmse", 0.5}});
        BOOST_REQUIRE(names.ok());
        BOOST_TEST(names->size() == (has_biases ? 6u : 3u));
        const auto read = load_model(folder.path());
        BOOST_REQUIRE_MESSAGE(read.ok(), "the model is read");
        BOOST_TEST(read->mean == m.mean);
        BOOST_TEST((read->user_factors == m.user_factors));
        BOOST_TEST((read->item_factors == m.item_factors));
        BOOST_TEST((read->user_biases == m.user_biases));
        BOOST_TEST((read->item_biases == m.item_biases));
        BOOST_TEST((read->item_names == m.item_names));
        BOOST_TEST(read->user_names.empty());
    }
}

BOOST_AUTO_TEST_CASE(is_refused_with_what_is_wrong_about_its_files) {
    const temporary_folder folder;
    BOOST_TEST(says(load_model(folder.path()).failure(), "model.json: cannot be read"));
    for (const char* text : {"", "[]", "{\"program\": \"lasso\"}", "{\"program\": 3}",
                             "{\"program\": \"factorization\", \"rank\": -1, \"users\": 2}"}) {
        std::ofstream{folder.path() / "model.json"} << text;
        const auto read = load_model(folder.path());
        BOOST_REQUIRE(!read.ok());
        BOOST_TEST((read.failure().code() == errc::data));
        BOOST_TEST(says(read.failure(), "not the model.json of a factorization"));
    }
    BOOST_REQUIRE(write_model(folder.path(), small_model(), {}).ok());
    factor_model other = small_model();
    other.items = 3;
    other.item_factors.resize(6);
    const temporary_folder second;
    BOOST_REQUIRE(write_model(second.path(), other, {}).ok());
    std::filesystem::copy_file(second.path() / "item_factors.npy",
                               folder.path() / "item_factors.npy",
                               std::filesystem::copy_options::overwrite_existing);
    BOOST_TEST(says(load_model(folder.path()).failure(), "its shape is not the one"));
    std::filesystem::remove(folder.path() / "item_factors.npy");
    BOOST_TEST(!load_model(folder.path()).ok());
}

BOOST_AUTO_TEST_CASE(of_a_run_has_the_error_of_the_factors_that_it_leaves_behind) {
    const ratings data = make_ratings({.users = 80, .items = 50});
    const temporary_folder folder;
    auto early = sgd_case(4, 2, 2); // far from converged
    early.run.phases_max += 3;
    for (auto c : {early, coordinates_case(4, 2, 2)}) {
        c.settings.rankings = 3;
        const auto names = write_factorization(c, data, folder.path());
        BOOST_REQUIRE(names.ok());
        BOOST_TEST(names->back() == "rankings.csv");
        const auto model = load_model(folder.path());
        BOOST_REQUIRE(model.ok());
        const auto entries = data.held_out_entries();
        const auto json = nlohmann::json::parse(text_of(folder.path() / "model.json"));
        BOOST_TEST(json["rmse"].get<double>() == rmse(*model, entries));
        BOOST_TEST(json["held_out"].get<std::size_t>() == entries.size());
        BOOST_TEST(json["ratings"].get<std::size_t>() == data.learned.values.size());
    }
}

BOOST_AUTO_TEST_CASE(of_a_run_comes_with_rankings_of_what_the_users_have_not_rated) {
    const ratings data = make_ratings({.users = 30, .items = 20});
    const temporary_folder folder;
    auto c = sgd_case(2, 3, 3);
    c.settings.rankings = 4;
    BOOST_REQUIRE(write_factorization(c, data, folder.path()).ok());
    const factor_model model = load_model(folder.path()).value();
    std::ifstream file{folder.path() / "rankings.csv"};
    std::string line;
    std::getline(file, line);
    BOOST_TEST(line == "user,place,item,prediction");
    for (std::uint64_t user = 0; user < 30; ++user) {
        const std::span<const std::int32_t> rated = std::span{data.learned.indices}.subspan(
            static_cast<std::size_t>(data.learned.starts[user]),
            static_cast<std::size_t>(data.learned.starts[user + 1] - data.learned.starts[user]));
        std::size_t place = 0;
        for (const ranked_item& expected : rank(model, user, 4, rated)) {
            std::getline(file, line);
            const std::string start = std::to_string(user) + ',' + std::to_string(++place) + ',' +
                                      std::to_string(expected.item) + ',';
            BOOST_TEST(line.starts_with(start));
            BOOST_TEST(std::stof(line.substr(start.size())) == expected.prediction);
        }
    }
    BOOST_TEST(!std::getline(file, line));
}

BOOST_AUTO_TEST_SUITE_END()

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <fstream>

#include <nlohmann/json.hpp>

#include "actors/scheduled/data_pieces.hpp"
#include "apps/factorization/model_files.hpp"
#include "apps/factorization/trained.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/unit/apps_factorization/factorization_runs.hpp"

using namespace troupe;
using namespace troupe::factorization;
using namespace troupe::test;

namespace {

// Rows in memory, in one piece.
class rows_in_memory final : public scheduled::piece_source {
  public:
    rows_in_memory(ratings data, std::vector<std::string> names)
        : data_{std::move(data)}, names_{std::move(names)} {}

    scheduled::data_shape shape() const override {
        return {data_.learned.rows(), data_.learned.columns, data_.learned.values.size(), true};
    }
    std::uint64_t row_work(std::uint64_t) const override { return 1; }
    std::uint64_t column_work(std::uint64_t) const override { return 1; }
    std::vector<std::string> row_names() const override { return names_; }
    result<std::optional<scheduled::rows_piece>> next(std::uint64_t, memory_pool& memory) override {
        if (std::exchange(is_read_, true))
            return std::optional<scheduled::rows_piece>{};
        const matrix_rows &l = data_.learned, &h = data_.held_out;
        auto tensors = h.values.empty()
                           ? scheduled::payload_of(memory, l.starts, l.indices, l.values, l.targets)
                           : scheduled::payload_of(memory, l.starts, l.indices, l.values, l.targets,
                                                   h.starts, h.indices, h.values);
        if (!tensors)
            return tensors.failure();
        return std::optional{scheduled::rows_piece{0, l.rows(), std::move(*tensors)}};
    }
    result<void> rewind() override { return {}; }

  private:
    ratings data_;
    std::vector<std::string> names_;
    bool is_read_ = false;
};

// 2 users, 3 items, one factor.
factor_model named_model() {
    factor_model m;
    m.rank = 1;
    m.users = 2;
    m.items = 3;
    m.mean = 3;
    m.has_biases = true;
    m.user_factors = {1, 2};
    m.item_factors = {1, 0, -1};
    m.user_biases = {0.5F, 0};
    m.item_biases = {0, 0.25F, 0};
    m.user_names = {"10", "20"};
    m.item_names = {"7", "8", "9"};
    return m;
}

factor_model model_without_names() {
    factor_model m = named_model();
    m.user_names.clear();
    m.item_names.clear();
    return m;
}

struct use_of {
    temporary_folder folder;
    memory_pool memory{1u << 20};
    rows_in_memory rows;
    scheduled::result_use use;

    use_of(const factor_model& model, const ratings& data, std::vector<std::string> users,
           std::vector<std::string> items)
        : rows{data, std::move(users)} {
        BOOST_REQUIRE(write_model(folder.path(), model, {}).ok());
        use.memory = &memory;
        use.data = rows.shape();
        use.directory = folder.path();
        use.rows = &rows;
        use.column_names = std::move(items);
    }
};

// The first user rates the first item with 4 and the second with 1, the second one the last with 2.
ratings three_ratings(std::uint64_t columns = 2) {
    ratings r;
    r.learned.columns = columns;
    r.learned.starts = {0, 2, 3};
    r.learned.indices = {0, 1, 1};
    r.learned.values = {4, 1, 2};
    r.learned.targets = {0, 0};
    return r;
}

class lines final : public scheduled::prediction_table {
  public:
    result<void> begin(const std::vector<std::string>& columns) override {
        names = columns;
        return {};
    }
    result<void> add(std::span<const std::string> texts, std::span<const double> numbers) override {
        BOOST_REQUIRE((texts.size() == 2 && numbers.size() == 1));
        all.push_back({texts[0], texts[1], numbers[0]});
        return {};
    }
    std::vector<std::string> names;
    struct line {
        std::string user, item;
        double prediction = 0;

        bool operator==(const line&) const = default;
    };
    std::vector<line> all;
};

} // namespace

BOOST_AUTO_TEST_SUITE(factorization_trained)

BOOST_AUTO_TEST_CASE(finds_users_and_items_by_their_names) {
    // Of the model: the second user, and one that it has not; the last item, and the first.
    use_of by_name{named_model(), three_ratings(), {"20", "30"}, {"9", "7"}};
    lines table;
    BOOST_REQUIRE(predict_ratings(by_name.use, table).ok());
    BOOST_TEST((table.names == std::vector<std::string>{"user", "item", "prediction"}));
    BOOST_TEST((table.all ==
                std::vector<lines::line>{{"20", "9", 3 - 2}, {"20", "7", 3 + 2}, {"30", "7", 3}}));
    use_of again{named_model(), three_ratings(), {"20", "30"}, {"9", "7"}};
    const auto numbers = score(again.use);
    BOOST_REQUIRE(numbers.ok());
    BOOST_REQUIRE(numbers->size() == 1u);
    BOOST_REQUIRE(numbers->front().size() == 2u);
    BOOST_TEST(numbers->front()[0].name == "training_rmse");
    BOOST_TEST(numbers->front()[0].value == std::sqrt((9.0 + 16 + 1) / 3));
    BOOST_TEST(numbers->front()[1].name == "unknown");
    BOOST_TEST(numbers->front()[1].value == 1);
}

BOOST_AUTO_TEST_CASE(takes_numbers_where_there_are_no_names) {
    use_of by_number{model_without_names(), three_ratings(3), {}, {}};
    lines table;
    BOOST_REQUIRE(predict_ratings(by_number.use, table).ok());
    BOOST_TEST((table.all ==
                std::vector<lines::line>{{"0", "0", 4.5}, {"0", "1", 3.75}, {"1", "1", 3.25}}));
}

BOOST_AUTO_TEST_CASE(names_are_not_rounded_to_numbers) {
    use_of large{named_model(), three_ratings(), {"100000", "9007199254740993"}, {"9", "7"}};
    lines table;
    BOOST_REQUIRE(predict_ratings(large.use, table).ok());
    BOOST_TEST(table.all.at(0).user == "100000");
    BOOST_TEST(table.all.at(2).user == "9007199254740993");
}

BOOST_AUTO_TEST_CASE(refuses_data_whose_users_or_items_cannot_be_told) {
    const auto refusal = [](const use_of& of) {
        const auto scored = score(of.use);
        BOOST_REQUIRE(!scored.ok());
        BOOST_TEST((scored.failure().code() == errc::usage));
        return scored.failure().message();
    };
    BOOST_TEST(refusal({named_model(), three_ratings(), {}, {"9", "7"}})
                   .find("have names, but those of the data have none") != std::string::npos);
    BOOST_TEST(
        refusal({named_model(), three_ratings(), {"10", "20"}, {}}).starts_with("the items of "));
    BOOST_TEST(refusal({model_without_names(), three_ratings(3), {"10", "20"}, {}})
                   .starts_with("the users of the data have names, but those of "));
    BOOST_TEST(refusal({model_without_names(), three_ratings(2), {}, {}})
                   .starts_with("the data has 2 items, but "));
}

BOOST_AUTO_TEST_CASE(scores_what_is_held_out_apart_from_the_rest) {
    ratings data = three_ratings(3);
    data.held_out = data.learned;
    data.held_out.starts = {0, 0, 1};
    data.held_out.indices = {0};
    data.held_out.values = {6};
    use_of both{model_without_names(), data, {}, {}};
    const auto numbers = score(both.use);
    BOOST_REQUIRE(numbers.ok());
    BOOST_REQUIRE(numbers->front().size() == 2u);
    BOOST_TEST(numbers->front()[0].value == 1); // 6 - (3 + 2)
    BOOST_TEST(numbers->front()[0].name == "rmse");
    BOOST_TEST(numbers->front()[1].name == "training_rmse");
}

BOOST_AUTO_TEST_CASE(an_error_of_training_is_not_called_one_of_held_out_ratings) {
    use_of learned{model_without_names(), three_ratings(3), {}, {}};
    const auto own = score(learned.use);
    BOOST_REQUIRE(own.ok());
    BOOST_REQUIRE(own->front().size() == 1u);
    BOOST_TEST(own->front()[0].name == "training_rmse");
    use_of other{model_without_names(), three_ratings(3), {}, {}};
    other.use.has_other_data = true;
    const auto of_others = score(other.use);
    BOOST_REQUIRE(of_others.ok());
    BOOST_TEST(of_others->front()[0].name == "rmse");
    BOOST_TEST(of_others->front()[0].value == own->front()[0].value);
}

BOOST_AUTO_TEST_CASE(reads_no_files_that_are_too_long) {
    use_of of{named_model(), three_ratings(), {"10", "20"}, {"9", "7"}};
    const auto refuses = [&](const char* name) {
        std::ofstream{of.folder.path() / name} << std::string(1u << 17, ' ');
        return score(of.use).failure().message().find(": too long for the") != std::string::npos;
    };
    BOOST_TEST(refuses("user_names.txt"));
    BOOST_TEST(refuses("model.json"));
}

BOOST_AUTO_TEST_CASE(needs_ratings_and_a_result) {
    use_of dense{named_model(), three_ratings(), {}, {}};
    dense.use.data.is_sparse = false;
    BOOST_TEST((score(dense.use).failure().code() == errc::data));
    use_of missing{named_model(), three_ratings(), {}, {}};
    missing.use.directory = missing.folder.path() / "other";
    BOOST_TEST((score(missing.use).failure().code() == errc::io));
    ratings none = three_ratings(3);
    none.learned.starts = {0, 0, 0};
    none.learned.indices.clear();
    none.learned.values.clear();
    use_of empty{model_without_names(), none, {}, {}};
    BOOST_TEST(score(empty.use).failure().message().starts_with("the data has no ratings"));
}

BOOST_AUTO_TEST_SUITE_END()

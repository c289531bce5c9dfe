#include <boost/test/unit_test.hpp>

#include <cmath>
#include <fstream>
#include <iterator>

#include <capnp/message.h>

#include "actors/scheduled/named_numbers.hpp"
#include "apps/lasso/lasso.capnp.h"
#include "apps/lasso/result_files.hpp"
#include "apps/lasso/trained.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace troupe;
using namespace troupe::lasso;

namespace {

namespace fs = std::filesystem;

std::string bytes_of(const fs::path& file) {
    std::ifstream in{file, std::ios::binary};
    return {std::istreambuf_iterator<char>{in}, {}};
}
void write(const fs::path& file, const std::string& bytes) {
    std::ofstream{file, std::ios::binary} << bytes;
}

// A few rows in memory.
struct few_rows final : scheduled::piece_source {
    scheduled::data_shape what;
    std::vector<scheduled::payload> pieces;
    std::size_t at = 0;
    std::vector<double> subtracted;

    std::vector<double> offsets() const override { return subtracted; }
    scheduled::data_shape shape() const override { return what; }
    std::uint64_t row_work(std::uint64_t) const override { return 1; }
    std::uint64_t column_work(std::uint64_t) const override { return 1; }
    result<std::optional<scheduled::rows_piece>> next(std::uint64_t, memory_pool&) override {
        if (at == pieces.size())
            return std::optional<scheduled::rows_piece>{};
        const std::uint64_t count = pieces[at][3].elements();
        return std::optional{scheduled::rows_piece{0, count, pieces[at++]}};
    }
    result<void> rewind() override {
        at = 0;
        return {};
    }
};

struct lines_taken final : scheduled::prediction_table {
    std::vector<std::string> names;
    std::vector<std::vector<double>> lines;

    result<void> begin(const std::vector<std::string>& columns) override {
        names = columns;
        return {};
    }
    result<void> add(std::span<const std::string> texts, std::span<const double> line) override {
        BOOST_TEST(texts.empty());
        lines.emplace_back(line.begin(), line.end());
        return {};
    }
};

// The result of a run with two schedulers and three values of lambda, of five columns with names.
struct left_behind {
    memory_pool memory{1u << 20};
    const test::temporary_folder folder;
    capnp::MallocMessageBuilder settings;
    few_rows rows;
    scheduled::result_use use;

    explicit left_behind(bool unit_norm = false,
                         proto::LassoLoss loss = proto::LassoLoss::SQUARED) {
        settings.initRoot<proto::LassoSettings>().initPenalty().setLambda(1);
        settings.getRoot<proto::LassoSettings>().setLoss(loss);
        const solution_numbers none{1, 2.5, 1e-7, 0.25, 0}, some{0.5, 2.25, 1e-7, 0.125, 1},
            all{0.25, 1.5, 3e-7, -1, 3};
        std::vector<scheduled::saved_part> parts(2);
        const std::vector<solution> first{{none, {}, {}}, {some, {1}, {2}}, {all, {1}, {0.5}}};
        const std::vector<solution> second{{none, {}, {}}, {some, {}, {}}, {all, {3, 4}, {-2, 4}}};
        BOOST_REQUIRE(append_solutions(memory, first, parts[0]).ok());
        BOOST_REQUIRE(append_solutions(memory, second, parts[1]).ok());
        const std::vector<double> facts[] = {{0, 1, 0, 16}, {1, 9, 0, 4, 0, 64}};
        for (int s = 0; s < 2; ++s)
            BOOST_REQUIRE(scheduled::append_state<double>(
                              memory, "facts", facts[static_cast<std::size_t>(s)], parts[s])
                              .ok());
        scheduled::result_site site;
        site.settings = settings.getRoot<capnp::AnyPointer>().asReader();
        site.directory = folder.path();
        site.data = {100, 5, 500, false};
        site.unit_norm = unit_norm;
        site.column_names = {"a", "b", "c", "d", "e"};
        BOOST_REQUIRE(write_result(site, parts).ok());
        use.settings = settings.getRoot<capnp::AnyPointer>().asReader();
        use.memory = &memory;
        use.unit_norm = unit_norm;
        use.directory = folder.path();
        use.rows = &rows;
        rows.what = use.data = {4, 5, 20, false};
        add_piece({1, 2, 3, 4, 5, 0, 1, 0, 1, 0}, {1, -2});
        add_piece({0, 0, 0, 0, 0, 5, 4, 3, 2, 1}, {-1, 0});
    }

    void add_piece(const std::vector<float>& values, const std::vector<double>& targets) {
        rows.pieces.push_back(scheduled::payload_of(memory, std::vector<std::int64_t>{},
                                                    std::vector<std::int32_t>{}, values, targets)
                                  .value());
    }
    lines_taken predicted() {
        lines_taken taken;
        const auto done = predict(use, taken);
        BOOST_REQUIRE_MESSAGE(done.ok(), (done ? "" : done.failure().message()));
        return taken;
    }
    // The sentence about this file if it holds this instead.
    std::string refused_with(const char* name, const std::string& bytes, errc code = errc::data) {
        const std::string before = bytes_of(folder.path() / name);
        write(folder.path() / name, bytes);
        const auto read = read_result(folder.path(), use.unit_norm);
        write(folder.path() / name, before);
        BOOST_REQUIRE_MESSAGE(!read.ok(), name << " is taken: " << bytes.substr(0, 80));
        BOOST_TEST((read.failure().code() == code), read.failure().message());
        BOOST_TEST(read.failure().message().starts_with(folder.path().string()));
        return read.failure().message();
    }
    std::string refused() {
        lines_taken taken;
        const auto done = predict(use, taken);
        BOOST_REQUIRE(!done.ok());
        BOOST_TEST((done.failure().code() == errc::usage), done.failure().message());
        return done.failure().message();
    }
    std::string file(const char* name) const { return bytes_of(folder.path() / name); }
};

using table = std::vector<std::vector<double>>;

bool says(const std::string& sentence, const std::string& part) {
    return sentence.find(part) != std::string::npos;
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
    const auto at = text.find(what);
    BOOST_REQUIRE(at != std::string::npos);
    return text.replace(at, what.size(), by);
}

} // namespace

BOOST_AUTO_TEST_SUITE(trained_lasso_models)

BOOST_AUTO_TEST_CASE(predict_a_number_for_each_row_and_lambda) {
    left_behind run;
    const lines_taken taken = run.predicted();
    BOOST_TEST((taken.names == std::vector<std::string>{"lambda 1", "lambda 0.5", "lambda 0.25"}));
    const table expected{
        {0.25, 4.125, 12}, {0.25, 2.125, -2.5}, {0.25, 0.125, -1}, {0.25, 8.125, 1}};
    BOOST_TEST((taken.lines == expected));
}

BOOST_AUTO_TEST_CASE(add_what_float32_leaves_of_numbers) {
    left_behind run;
    run.rows.pieces.clear();
    const std::vector<float> values{0, 1, 0, 0, 0}, remainders{1, 0x1p-30f, 0, 0, 0};
    run.rows.pieces.push_back(scheduled::payload_of(run.memory, std::vector<std::int64_t>{},
                                                    std::vector<std::int32_t>{}, values,
                                                    std::vector<double>{0}, remainders)
                                  .value());
    const double twice = 2 * (1 + 0x1p-30);
    BOOST_TEST((run.predicted().lines == table{{0.25, 0.125 + twice, twice / 4 - 1}}));
}

BOOST_AUTO_TEST_CASE(divide_by_the_norms_of_columns_that_were_scaled) {
    left_behind run{true}; // by 1, 4, 3, 2, 8
    const table expected{
        {0.25, 1.125, -2.25}, {0.25, 0.625, -1.875}, {0.25, 0.125, -1}, {0.25, 2.125, -2}};
    BOOST_TEST((run.predicted().lines == expected));
    BOOST_TEST(says(run.refused_with("scales.npy", "x"), "scales.npy"));
    run.use.unit_norm = false;
    BOOST_TEST(says(run.refused(), "with data.scale: unit_norm"));
}

BOOST_AUTO_TEST_CASE(see_sparse_rows_as_dense_ones) {
    left_behind dense, sparse;
    sparse.rows.what.is_sparse = sparse.use.data.is_sparse = true;
    sparse.rows.pieces.clear();
    const auto add = [&](std::vector<std::int64_t> starts, std::vector<std::int32_t> indices,
                         std::vector<float> values, std::vector<double> targets) {
        sparse.rows.pieces.push_back(
            scheduled::payload_of(sparse.memory, starts, indices, values, targets).value());
    };
    add({0, 5, 7}, {0, 1, 2, 3, 4, 1, 3}, {1, 2, 3, 4, 5, 1, 1}, {1, -2});
    add({0, 0, 5}, {0, 1, 2, 3, 4}, {5, 4, 3, 2, 1}, {-1, 0});
    BOOST_TEST((sparse.predicted().lines == dense.predicted().lines));
    sparse.use.data.columns = 6;
    BOOST_TEST(says(sparse.refused(), "6 columns"));
    sparse.rows.pieces.clear();
    sparse.rows.at = 0;
    add({0, 1}, {1}, {2}, {0}); // those that the file does not have are 0
    sparse.use.data = {1, 2, 1, true};
    BOOST_TEST((sparse.predicted().lines == table{{0.25, 4.125, 0}}));
    sparse.rows.at = 0;
    sparse.rows.subtracted = {0, 5, 0, 1000, 1000};
    sparse.rows.subtracted.resize(2);
    BOOST_TEST((sparse.predicted().lines == table{{0.25, 14.125, 2.5}}));
}

BOOST_AUTO_TEST_CASE(are_scored_by_their_errors) {
    left_behind run;
    const auto scores = score(run.use);
    BOOST_REQUIRE(scores.ok());
    BOOST_REQUIRE(scores->size() == 3u);
    const auto& last = scores->back(); // errors 11, -0.5, 0, 1; targets 1, -2, -1, 0
    BOOST_TEST(last.at(0).name == "lambda");
    BOOST_TEST(last.at(0).value == 0.25);
    BOOST_TEST(last.at(1).name == "mse");
    BOOST_TEST(last.at(1).value == (121 + 0.25 + 0 + 1) / 4);
    BOOST_TEST(last.at(2).name == "r2");
    BOOST_TEST(last.at(2).value == 1 - 122.25 / 5, boost::test_tools::tolerance(1e-14));
    run.settings.getRoot<proto::LassoSettings>().initTarget().setLabel(-2);
    run.rows.at = 0;
    const auto classes = score(run.use); // targets 0, 1, 0, 0
    BOOST_REQUIRE(classes.ok());
    BOOST_TEST(classes->back().at(1).value == (144 + 12.25 + 1 + 1) / 4);
}

BOOST_AUTO_TEST_CASE(of_the_logistic_loss_predict_probabilities_and_are_scored_by_their_classes) {
    left_behind run{false, proto::LassoLoss::LOGISTIC};
    const table margins{
        {0.25, 4.125, 12}, {0.25, 2.125, -2.5}, {0.25, 0.125, -1}, {0.25, 8.125, 1}};
    const table lines = run.predicted().lines;
    BOOST_REQUIRE(lines.size() == margins.size());
    for (std::size_t i = 0; i < lines.size(); ++i)
        for (std::size_t s = 0; s < 3; ++s)
            BOOST_TEST(lines[i][s] == 1 / (1 + std::exp(-margins[i][s])),
                       boost::test_tools::tolerance(1e-14));

    run.rows.at = 0;
    BOOST_TEST((score(run.use).failure().code() == errc::data)); // -2 is no class
    auto settings = run.settings.getRoot<proto::LassoSettings>();
    settings.initTarget().setLabel(-2); // targets 0, 1, 0, 0
    run.rows.at = 0;
    const auto scores = score(run.use);
    BOOST_REQUIRE(scores.ok());
    const auto& last = scores->back();
    BOOST_TEST(last.at(1).name == "log_loss");
    const auto loss = [](double wrong) { return std::log1p(std::exp(wrong)); };
    BOOST_TEST(last.at(1).value == (loss(12) + loss(2.5) + loss(-1) + loss(1)) / 4,
               boost::test_tools::tolerance(1e-14));
    BOOST_TEST(last.at(2).name == "accuracy");
    BOOST_TEST(last.at(2).value == 0.25);
    settings.setLoss(proto::LassoLoss::SQUARED);
    BOOST_TEST(says(run.refused(), "is of a run with loss: logistic"));
}

BOOST_AUTO_TEST_CASE(of_results_that_do_not_say_the_loss_are_of_squares) {
    left_behind run;
    const std::string summary = run.file("summary.json");
    write(run.folder.path() / "summary.json", replaced(summary, "  \"loss\": \"squared\",\n", ""));
    BOOST_TEST((read_result(run.folder.path(), false).value().loss == loss_kind::squared));
    run.refused_with("summary.json", replaced(summary, "\"squared\"", "\"hinge\""));
    run.refused_with("summary.json", replaced(summary, "\"squared\"", "1"));
}

BOOST_AUTO_TEST_CASE(refuse_data_with_other_columns) {
    left_behind run;
    run.use.column_names = {"a", "b", "c", "d", "e"};
    run.predicted();
    run.use.column_names = {"a", "c", "b", "d", "e"};
    BOOST_TEST(says(run.refused(), "column 1 of the data is \"c\", but \"b\""));
    run.use.data.columns = 4;
    BOOST_TEST(says(run.refused(), "4 columns"));
}

BOOST_AUTO_TEST_CASE(refuse_predictions_that_are_no_numbers) {
    left_behind run;
    run.add_piece({0, 3e38f, 0, 3e38f, 3e38f}, {0});
    lines_taken taken;
    BOOST_TEST(predict(run.use, taken).ok()); // float64 has room for it
    run.rows.at = 0;
    run.add_piece({0, INFINITY, 0, 0, 0}, {0});
    const auto done = predict(run.use, taken);
    BOOST_REQUIRE(!done.ok());
    BOOST_TEST((done.failure().code() == errc::numeric));
    run.rows.at = 0;
    BOOST_TEST((score(run.use).failure().code() == errc::numeric));
}

BOOST_AUTO_TEST_CASE(refuse_damaged_files) {
    left_behind run;
    const std::string summary = run.file("summary.json"), path = run.file("path.csv"),
                      npy = run.file("coefficients.npy"), names = run.file("columns.txt");
    run.refused_with("summary.json", "");
    run.refused_with("summary.json", "[1]");
    run.refused_with("summary.json", R"({"program": 3})");
    run.refused_with("summary.json", std::string(1u << 17, ' '));
    run.refused_with("summary.json", R"({"program": "lasso"})");
    run.refused_with("summary.json", R"({"program": "lasso", "columns": -5, "lambdas": 3})");
    run.refused_with("summary.json",
                     R"({"program": "lasso", "columns": 4294967296, "lambdas": 1})");
    run.refused_with("summary.json", R"({"program": "lasso", "columns": 5, "lambdas": 1e300})");
    BOOST_TEST(says(run.refused_with("summary.json", R"({"program": "lda"})", errc::usage),
                    "of the program \"lda\""));
    run.refused_with("summary.json", replaced(summary, "\"lambdas\": 3", "\"lambdas\": 0"),
                     errc::usage);
    run.refused_with("summary.json", replaced(summary, "\"columns\": 5", "\"columns\": 6"));
    for (const char* lambdas : {"2", "4"})
        run.refused_with("summary.json", replaced(summary, "\"lambdas\": 3",
                                                  std::string{"\"lambdas\": "} + lambdas));
    run.refused_with("path.csv", "");
    run.refused_with("path.csv", replaced(path, "gap", "gab"));
    BOOST_TEST(says(run.refused_with("path.csv", replaced(path, "0.125", "")), "line 3"));
    run.refused_with("path.csv", replaced(path, "0.125", "nan"));
    run.refused_with("path.csv", replaced(path, "0.125", "0.125,1"));
    run.refused_with("path.csv", replaced(path, "0.25,1.5,3e-07,3,-1\n", ""));
    run.refused_with("path.csv", path + "0.1,1,1,1,1\n");
    run.refused_with("path.csv", replaced(path, "3e-07,3", "3e-07,2"));
    for (const std::string& damaged :
         {npy.substr(0, npy.size() - 1), npy.substr(0, 100), npy + "x", std::string{"x"}}) {
        const std::string why = run.refused_with("coefficients.npy", damaged);
        BOOST_TEST(says(why, "coefficients.npy: is not the whole array that the run has written; "
                             "the folder is damaged"));
        BOOST_TEST(says(why, "run again"));
        BOOST_TEST(!says(why, "fetch"));
    }
    run.refused_with("coefficients.npy", replaced(npy, "(3, 5)", "(5, 3)"));
    run.refused_with("coefficients.npy", replaced(npy, "<f8", "<i8"));
    std::string broken = npy;
    broken.replace(npy.size() - 8, 8, 8, '\xff'); // NaN
    run.refused_with("coefficients.npy", broken);
    run.refused_with("columns.txt", names + "f\n");
    run.refused_with("columns.txt", "a\nb\n");
    BOOST_TEST(read_result(run.folder.path(), false).ok());
    fs::remove(run.folder.path() / "coefficients.npy");
    BOOST_TEST((read_result(run.folder.path(), false).failure().code() == errc::io));
    fs::remove(run.folder.path() / "summary.json");
    BOOST_TEST((read_result(run.folder.path(), false).failure().code() == errc::usage));
}

BOOST_AUTO_TEST_SUITE_END()

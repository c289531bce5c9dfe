#include "tests/support/matrix_values.hpp"

#include "actors/data/matrix/table_rows.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

using floats = std::vector<float>;
using doubles = std::vector<double>;
using table = std::vector<std::vector<double>>;
using counts = std::vector<std::uint32_t>;

class matrix_files : public data_files {
  public:
    matrix_settings with_targets(const std::string& features, const std::string& targets) const {
        return {.features = {features, "data.matrix.features"},
                .targets = {targets, "data.matrix.targets"}};
    }
    const std::string two_rows = plain("x", "1,2\n3,4\n");
};

// Targets are below 5, and their sum is at least 3.
class small_targets final : public data_rule {
  public:
    result<void> take_target(double target) override {
        sum_ += target;
        return target < 5 ? result<void>{} : error{errc::data, "a target is too large"};
    }
    result<void> end_targets() const override {
        return sum_ >= 3 ? result<void>{} : error{errc::data, "all targets are too small"};
    }

  private:
    double sum_ = 0;
};

bool says_changed(const result<std::optional<row_block>>& read) {
    return !read.ok() && read.failure().message().find(file_changed) != std::string::npos;
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(matrix_sources, matrix_files)

BOOST_AUTO_TEST_CASE(blocks_take_as_many_rows_as_fit_but_one) {
    auto dense = open_matrix(
        with_targets(plain("a", "1,2\n3,4\n5,6\n7,8\n9,10\n"), plain("y", "1\n2\n3\n4\n5\n")));
    BOOST_REQUIRE(dense.ok());
    // A row takes 16 bytes of values and 8 of its target.
    for (const auto& [bytes, blocks] : {std::pair<std::uint64_t, counts>{48, {2, 2, 1}},
                                        {71, {2, 2, 1}},
                                        {72, {3, 2}},
                                        {0, {1, 1, 1, 1, 1}},
                                        {UINT64_MAX, {5}}}) {
        const matrix_values values = values_of(*dense, bytes);
        BOOST_TEST(values.blocks == blocks, boost::test_tools::per_element());
        BOOST_TEST((values.rows == table{{1, 2}, {3, 4}, {5, 6}, {7, 8}, {9, 10}}));
        BOOST_TEST((values.targets == doubles{1, 2, 3, 4, 5}));
        BOOST_TEST(!dense->next(1)->has_value());
        BOOST_REQUIRE(dense->rewind().ok());
    }
    // 8 bytes for the first start, then 16 for each row and 12 for each entry.
    auto sparse = open_matrix(features_in(plain("s", "1 1:1\n2 1:1 2:1\n3\n")));
    BOOST_TEST(values_of(*sparse, 8 + 28).blocks == (counts{1, 1, 1}),
               boost::test_tools::per_element());
    BOOST_REQUIRE(sparse->rewind().ok());
    BOOST_TEST(values_of(*sparse, 8 + 28 + 40).blocks == (counts{2, 1}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(every_format_can_be_read_again_from_the_middle) {
    const std::string market = "%%MatrixMarket matrix ";
    for (const std::string& file :
         {plain("csv", "a,b\n1,2\n3,4\n"), plain("svm", "0 1:1 2:2\n0 1:3 2:4\n"),
          plain("mtx", market + "coordinate real general\n2 2 4\n1 1 1\n1 2 2\n2 1 3\n2 2 4\n"),
          plain("array", market + "array real general\n2 2\n1\n3\n2\n4\n"),
          plain("npy", npy_of(floats{1, 2, 3, 4}, "2, 2")),
          zip("csr", scipy_members("csr", 2, 2,
                                   {{"indptr", npy_of(std::vector<std::int32_t>{0, 2, 4})},
                                    {"indices", npy_of(std::vector<std::int32_t>{0, 1, 0, 1})},
                                    {"data", npy_of(floats{1, 2, 3, 4})}}))}) {
        auto source = open_matrix(features_in(file));
        BOOST_REQUIRE_MESSAGE(source.ok(), file);
        BOOST_TEST((*source->next(0))->rows == 1u);
        BOOST_REQUIRE(source->rewind().ok());
        BOOST_TEST((values_of(*source).rows == table{{1, 2}, {3, 4}}), file);
        BOOST_REQUIRE(source->rewind().ok());
        BOOST_TEST((values_of(*source).rows == table{{1, 2}, {3, 4}}), file);
    }
}

BOOST_AUTO_TEST_CASE(dense_matrices_count_every_number) {
    const auto source = open_matrix(features_in(plain("a", "0,2,0\n3,4,0\n")));
    BOOST_TEST(source->shape().entries == 6u);
    BOOST_TEST((source->row_entries(1) == 3 && source->column_entries(2) == 2));
}

BOOST_AUTO_TEST_CASE(targets_come_from_any_file_of_numbers) {
    const doubles wanted{0.1, 7};
    for (const std::string& targets :
         {plain("y1", "0.1\n7\n"), plain("y2", "price\n0.1\n\n7"), gzip("y3", "0.1\r\n7\r\n"),
          plain("y4", npy_of(wanted)), plain("y5", npy_of(wanted, "2, 1")),
          zip("y6.npz", {{"t.npy", npy_of(wanted)}}),
          zip("y7.npz", {{"t.npy", npy_of(wanted)}, {"u.npy", ""}}) + ":t"}) {
        auto source = open_matrix(with_targets(two_rows, targets));
        BOOST_REQUIRE_MESSAGE(source.ok(), (source.ok() ? "" : source.failure().message()));
        BOOST_TEST(source->shape().has_targets);
        BOOST_TEST((values_of(*source, 0).targets == wanted));
    }
    const auto svm = plain("s", "1 1:1\n2 1:1\n");
    auto instead = open_matrix(with_targets(svm, plain("y8", "8\n9\n")));
    BOOST_TEST((values_of(*instead).targets == doubles{8, 9}));
    auto none = open_matrix(features_in(two_rows));
    BOOST_TEST(!none->shape().has_targets);
    BOOST_TEST(values_of(*none).targets.empty());
}

BOOST_AUTO_TEST_CASE(targets_that_break_a_rule_are_refused_at_their_place) {
    const auto said = [&](matrix_settings settings) {
        small_targets rule;
        settings.rule = &rule;
        return refused(settings, errc::data);
    };
    const auto column = [&](const std::string& text) {
        matrix_settings settings = features_in(plain("t", text));
        settings.target_column = "y";
        return settings;
    };
    BOOST_TEST(said(column("x,y\n1,1\n\n2,5\n")) == "t: line 4: a target is too large");
    BOOST_TEST(said(column("x,y\n1,1\n2,1\n")) == "t: line 3: all targets are too small");
    BOOST_TEST(said(features_in(plain("s", "1 1:1\n6 1:1 2:1\n"))) ==
               "s: line 2: a target is too large");
    BOOST_TEST(said(with_targets(two_rows, plain("y", "1\n9\n"))) ==
               "data.matrix.targets: y: line 2: a target is too large");
    BOOST_TEST(said(with_targets(two_rows, plain("y", "1\n1\n"))) ==
               "data.matrix.targets: y: line 2: all targets are too small");
    BOOST_TEST(said(with_targets(two_rows, plain("y", npy_of(doubles{1, 7}, "2,")))) ==
               "data.matrix.targets: y: element 1: a target is too large");
    BOOST_TEST(said(with_targets(plain("images", idx_image_file(2)),
                                 plain("labels", idx_label_file({7, 1})))) ==
               "data.matrix.targets: labels: element 0: a target is too large");
    small_targets rule;
    matrix_settings good = column("x,y\n1,1\n2,2\n");
    good.rule = &rule;
    BOOST_TEST(open_matrix(good).ok());
}

BOOST_AUTO_TEST_CASE(wrong_targets_are_refused_with_their_key) {
    const auto said = [&](const std::string& targets, errc code = errc::data) {
        return refused(with_targets(two_rows, targets), code);
    };
    BOOST_TEST(said(plain("y", "1\n2\n3\n")) ==
               "data.matrix.targets: y: line 3: 3 targets, but x has 2 "
               "rows; give each row one");
    BOOST_TEST(said(plain("y", npy_of(doubles{1}))) ==
               "data.matrix.targets: y: byte 0: 1 targets, but x has 2 rows; give each row one");
    BOOST_TEST(said(plain("y", "1,2\n3,4\n")) ==
               "data.matrix.targets: y: line 1: 2 numbers in a line; a file of targets has one");
    BOOST_TEST(
        said(plain("y", npy_of(doubles{1, 2, 3, 4}, "2, 2"))) ==
        "data.matrix.targets: y: byte 0: an array with several numbers for a row; targets are a "
        "vector, as array[:, 0]");
    BOOST_TEST(
        said(plain("y", npy_of(doubles{1, std::numeric_limits<double>::infinity()}))) ==
        "data.matrix.targets: y: byte 136: element 1 is not a finite number; clean the data");
    BOOST_TEST(said(plain("y", "1\nx\n")).find("y: line 2: column 0: \"x\" is not a number") !=
               std::string::npos);
    BOOST_TEST(
        said(plain("y", "1 1:1\n2 1:1\n")) ==
        "data.matrix.targets: y: line 1: a matrix, where targets belong; give a file with one "
        "number a line");
    BOOST_TEST(said("/nonexistent/y", errc::io) ==
               "data.matrix.targets: /nonexistent/y: no such file");
    BOOST_TEST(refused(with_targets(plain("bad", "1,x\n"), plain("y", "1\n")))
                   .find("data.matrix.features: bad: line 1: \"x\"") == 0);
}

BOOST_AUTO_TEST_CASE(labels_beside_targets_of_another_file_are_noted) {
    const std::string features = plain("x.svm", "1 1:2\n-1 1:3\n"), targets = plain("y", "5\n7\n");
    const auto source = open_matrix(with_targets(features, targets));
    BOOST_REQUIRE((source.ok() && source->notes().size() == 1));
    BOOST_TEST(source->notes().front() == "data.matrix.features: " + features +
                                              ": its labels are not used, as targets come from " +
                                              targets);
}

BOOST_AUTO_TEST_CASE(settings_of_csv_are_for_csv_files) {
    auto settings = features_in(plain("a", npy_of(floats{1, 2}, "1, 2")));
    settings.target_column = "y";
    BOOST_TEST(refused(settings, errc::usage) ==
               "a: target_column and header are for CSV files, which this is not; leave them out");
    settings = with_targets(two_rows, plain("y", "1\n2\n"));
    settings.target_column = "0";
    BOOST_TEST(refused(settings, errc::usage) ==
               "data.matrix.targets: y: targets and a target_column; give one of them");
}

BOOST_AUTO_TEST_CASE(images_are_rows_of_pixels_as_they_are_and_labels_numbers) {
    auto source =
        open_matrix(with_targets(gzip("images.gz", idx_image_file(50)),
                                 plain("labels", idx_label_file(std::vector<int>(50, 9)))));
    BOOST_REQUIRE(source.ok());
    BOOST_TEST((source->shape().columns == 6 && !source->shape().is_sparse));
    const matrix_values values = values_of(*source, 100);
    BOOST_TEST((values.rows[42] == std::vector<double>{252, 253, 254, 255, 0, 1}));
    BOOST_TEST((values.targets == doubles(50, 9)));
    BOOST_TEST(
        refused(with_targets(plain("images", idx_image_file(2)),
                             plain("labels", idx_label_file({1})))) ==
        "data.matrix.targets: labels: byte 4: 1 targets, but images has 2 rows; give each row "
        "one");
    const std::string images = idx_image_file(2);
    BOOST_TEST(
        refused(features_in(plain("cut", images.substr(0, 27)))) ==
        "cut: byte 16: truncated: the header claims 12 bytes of images, which the file is too "
        "short for; fetch the file again");
    BOOST_TEST(refused(features_in(plain("long", images + "x"))) ==
               "long: byte 28: more data than the header says");
    BOOST_TEST(refused(features_in(plain("labels", idx_label_file({1}))))
                   .find("labels: byte 0: not an IDX file of images") == 0);
}

BOOST_AUTO_TEST_CASE(a_file_that_changes_between_passes_is_refused) {
    const auto changed = [&](const std::string& first, const std::string& then) {
        const std::string name = plain("changing", first);
        auto source = open_matrix(features_in(name));
        BOOST_REQUIRE(source.ok());
        BOOST_REQUIRE(source->next(0).ok());
        plain("changing", then);
        if (const auto again = source->rewind(); !again.ok())
            return again.failure().message();
        const auto block = source->next(UINT64_MAX);
        return block.ok() ? std::string{"taken"} : block.failure().message();
    };
    const auto says = [&](const std::string& said) {
        return said.find(file_changed) != std::string::npos;
    };
    BOOST_TEST(says(changed("1,2\n3,4\n", "1,2\n")));
    BOOST_TEST(says(changed("1 1:1\n2 2:1\n", "1 1:1\n2 3:1\n")));
    BOOST_TEST(says(changed("1 1:1\n2 2:1\n", "1 1:1\n2 1:1 2:1\n")));
    BOOST_TEST(says(changed(npy_of(floats{1, 2}, "1, 2"), npy_of(floats{1, 2}, "2, 1"))));
    BOOST_TEST(changed("1,2\n3,4\n", "1,2\n3,4,5\n").find("line 2: 3 numbers") !=
               std::string::npos);
    BOOST_TEST(says(changed("1,2\n3,4\n", "1,2\n3,5\n")));
    BOOST_TEST(says(changed("1 1:1\n2 2:1\n", "3 1:1\n2 2:1\n")));
    BOOST_TEST(says(changed("1 1:1 3:1\n2 2:1\n", "1 2:1 3:1\n2 2:1\n")));
    BOOST_TEST(changed("1\n\n2 2:1\n", "1\n2 2:1\n") == "taken");
}

// Whoever reads the beginning alone again, for the share of one worker, reads what the others were dealt.
BOOST_AUTO_TEST_CASE(a_block_that_changes_is_refused_before_the_end_of_the_pass) {
    auto source = open_matrix(features_in(plain("changing", "1,2\n3,4\n5,6\n"))).value();
    BOOST_REQUIRE(source.next(0).ok());
    BOOST_REQUIRE(source.next(0).ok());
    plain("changing", "1,7\n3,4\n5,6\n");
    BOOST_REQUIRE(source.rewind().ok());
    BOOST_TEST(says_changed(source.next(0)));
    plain("changing", "1,2\n3,4\n5,7\n"); // a block that has not been read before
    BOOST_REQUIRE(source.rewind().ok());
    BOOST_REQUIRE(source.next(0).ok());
    BOOST_REQUIRE(source.next(0).ok());
    BOOST_TEST(says_changed(source.next(0)));
}

BOOST_AUTO_TEST_CASE(a_digest_is_of_the_numbers_alone) {
    const auto digest = [&](const std::string& name) {
        return open_matrix(features_in(name)).value().digest();
    };
    const std::uint64_t dense = digest(plain("a.csv", "1,2\n3,4\n"));
    BOOST_TEST(digest(plain("b.csv", "x;y\n1.0;2\n3;4")) == dense);
    BOOST_TEST(digest(plain("c.npy", npy_of(floats{1, 2, 3, 4}, "2, 2"))) == dense);
    BOOST_TEST(digest(plain("d.csv", "1,2\n3,5\n")) != dense);
    BOOST_TEST(digest(plain("e.csv", "1,2\n4,3\n")) != dense);
    BOOST_TEST(digest(plain("f.csv", "1\n2\n3\n4\n")) != dense);
    const std::uint64_t sparse = digest(plain("a.svm", "1 1:1 2:5\n2\n2 2:1\n"));
    BOOST_TEST(digest(plain("b.svm", "1 1:1 2:5\n2 2:1\n2\n")) != sparse);
    BOOST_TEST(digest(plain("c.svm", "1 1:1 3:5\n2\n2 2:1\n")) != sparse);
    BOOST_TEST(digest(plain("d.svm", "1 1:1 2:5\n2\n3 2:1\n")) != sparse);
    matrix_settings settings = features_in(plain("g.csv", "1,2\n3,4\n"));
    settings.targets = {plain("targets", "1\n2\n"), ""};
    const auto source = open_matrix(settings).value();
    plain("targets", "1\n3\n");
    const auto other = open_matrix(settings).value();
    BOOST_TEST(source.digest() == dense);
    BOOST_TEST(source.digest() == other.digest());
    BOOST_TEST(source.targets_digest() != other.targets_digest());
}

BOOST_AUTO_TEST_CASE(other_rows_than_those_of_files_are_taken) {
    struct counting final : table_rows {
        const table_form& form() const noexcept override { return form_; }
        result<bool> append_row(row_block& to) override {
            if (next_ == 3)
                return false;
            to.indices.push_back(next_++);
            to.values.push_back(1);
            return true;
        }
        result<void> rewind() override {
            next_ = 0;
            return {};
        }
        error fail(std::string_view sentence) const override {
            return {errc::data, std::string{sentence}};
        }
        table_form form_{.is_sparse = true};
        std::int32_t next_ = 0;
    };
    auto source = matrix_source::open(std::make_unique<counting>());
    BOOST_REQUIRE(source.ok());
    BOOST_TEST((values_of(*source).rows == table{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}));
}

BOOST_AUTO_TEST_SUITE_END()

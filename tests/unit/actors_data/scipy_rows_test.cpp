#include "tests/support/matrix_values.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

using whole = std::vector<std::int32_t>;
using floats = std::vector<float>;
using table = std::vector<std::vector<double>>;

// 0 1 2
// 0 0 0
// 3 0 4
const table wanted{{0, 1, 2}, {0, 0, 0}, {3, 0, 4}};

struct compressed {
    whole indptr, indices;
    floats data;
};
const compressed csr{{0, 2, 2, 4}, {1, 2, 0, 2}, {1, 2, 3, 4}};
const compressed csc{{0, 1, 2, 4}, {2, 0, 0, 2}, {3, 1, 2, 4}};

class scipy_files : public data_files {
  public:
    matrix_settings archive(const std::string& format, const zip_members& arrays,
                            std::int64_t columns = 3) const {
        return features_in(zip("a.npz", scipy_members(format, 3, columns, arrays)));
    }
    matrix_settings archive(const std::string& format, const compressed& of) const {
        return archive(format, {{"indptr", npy_of(of.indptr)},
                                {"indices", npy_of(of.indices)},
                                {"data", npy_of(of.data)}});
    }
    matrix_settings coo(const whole& rows, const whole& columns, const floats& data) const {
        return archive("coo",
                       {{"row", npy_of(rows)}, {"col", npy_of(columns)}, {"data", npy_of(data)}});
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(scipy_rows, scipy_files)

BOOST_AUTO_TEST_CASE(the_three_formats_give_the_same_rows) {
    BOOST_TEST((rows_of(archive("csr", csr)) == wanted));
    BOOST_TEST((rows_of(archive("csc", csc)) == wanted));
    BOOST_TEST((rows_of(coo({2, 0, 2, 0}, {2, 2, 0, 1}, {4, 2, 3, 1})) == wanted));
    auto source = open_matrix(archive("csr", csr));
    const matrix_shape& shape = source->shape();
    BOOST_TEST((shape.is_sparse && shape.rows == 3 && shape.columns == 3 && shape.entries == 4));
    BOOST_TEST((source->row_entries(1) == 0 && source->row_entries(2) == 2));
    BOOST_TEST((source->column_entries(1) == 1 && source->column_entries(2) == 2));
}

BOOST_AUTO_TEST_CASE(columns_of_a_row_may_come_in_any_order_and_numbers_in_any_type) {
    BOOST_TEST(
        (rows_of(archive("csr", compressed{csr.indptr, {2, 1, 2, 0}, {2, 1, 4, 3}})) == wanted));
    BOOST_TEST((rows_of(archive(
                    "csr", {{"indptr", npy_of(std::vector<std::int64_t>{0, 2, 2, 4})},
                            {"indices", npy_of(std::vector<std::int64_t>{1, 2, 0, 2})},
                            {"data", npy_of(std::vector<std::uint8_t>{1, 2, 3, 4})}})) == wanted));
    const auto wide =
        zip("wide.npz", {{"format.npy", npy("<U3", "", std::string("c\0\0\0s\0\0\0r\0\0\0", 12))},
                         {"shape.npy", npy_of(whole{1, 1})},
                         {"indptr.npy", npy_of(whole{0, 1})},
                         {"indices.npy", npy_of(whole{0})},
                         {"data.npy", npy_of(floats{5})},
                         {"_is_array.npy", npy("|b1", "", "\1")}});
    BOOST_TEST((rows_of(features_in(wide)) == table{{5}}));
}

BOOST_AUTO_TEST_CASE(other_formats_and_shapes_are_refused) {
    BOOST_TEST(
        refused(archive("bsr", csr)) ==
        "a.npz:format: byte 0: a matrix of the format \"bsr\"; csr, csc and coo are read, as "
        "by matrix.tocsr()");
    BOOST_TEST(refused(archive("csr", {}, 0)) ==
               "a.npz:shape: byte 136: element 1 is 0 columns; from 1 to 134217728 are read");
    BOOST_TEST(refused(archive("csr", {}, -1)).find("is -1 columns") != std::string::npos);
    BOOST_TEST(
        refused(features_in(zip("a.npz", {{"format.npy", npy_of(whole{1})}, {"shape.npy", ""}}))) ==
        "a.npz:format: byte 20: not a single word; save the archive again");
    BOOST_TEST(refused(archive("csr", zip_members{{"data", npy_of(floats{1})}})) ==
               "a.npz: no array \"indices\". It holds format, shape, data; write a.npz:NAME");
    const auto no_numbers =
        zip("a.npz", {{"format.npy", npy("|S3", "", "csr")}, {"shape.npy", npy_of(floats{3, 3})}});
    BOOST_TEST(refused(features_in(no_numbers)) ==
               "a.npz:shape: byte 0: not whole numbers; save the matrix by scipy.sparse.save_npz");
}

BOOST_AUTO_TEST_CASE(arrays_that_do_not_fit_together_are_refused) {
    BOOST_TEST(refused(archive("csr", compressed{{0, 2, 4}, csr.indices, csr.data})) ==
               "a.npz:indptr: byte 0: 3 elements, but 4 by the shape; save the matrix anew");
    BOOST_TEST(
        refused(archive("csr", compressed{csr.indptr, {1, 2, 0}, csr.data})) ==
        "a.npz:indices: byte 0: 3 elements, but 4 by the array \"data\"; save the matrix anew");
    BOOST_TEST(
        refused(archive("csr", compressed{{1, 2, 2, 4}, csr.indices, csr.data})) ==
        "a.npz:indptr: byte 128: element 0 is 1, but the entries begin at 0; save the matrix "
        "anew");
    BOOST_TEST(
        refused(archive("csr", compressed{{0, 2, 1, 4}, csr.indices, csr.data})) ==
        "a.npz:indptr: byte 136: element 2 is 1, which is not from 2 to 4; save the matrix anew");
    BOOST_TEST(
        refused(archive("csc", compressed{{0, 2, 2, 3}, csr.indices, csr.data})) ==
        "a.npz:indptr: byte 140: element 3 is 3, but there are 4 values; save the matrix anew");
    BOOST_TEST(refused(coo({0, 1}, {0}, {1})) ==
               "a.npz:row: byte 0: 2 elements, but 1 by the array \"data\"; save the matrix anew");
}

BOOST_AUTO_TEST_CASE(places_outside_the_matrix_are_refused) {
    BOOST_TEST(refused(archive("csr", compressed{csr.indptr, {1, 3, 0, 2}, csr.data})) ==
               "a.npz:indices: byte 132: element 1 is 3, but the shape says 3 columns; save the "
               "matrix anew");
    BOOST_TEST(refused(archive("csc", compressed{csc.indptr, {2, 0, -1, 2}, csc.data}))
                   .find("a.npz:indices: byte 136: element 2 is -1, but the shape says 3 rows") ==
               0);
    BOOST_TEST(refused(coo({3}, {0}, {1})).find("a.npz:row: byte 128: element 0 is 3, but") == 0);
}

BOOST_AUTO_TEST_CASE(entries_that_are_there_twice_are_refused) {
    BOOST_TEST(refused(archive("csr", compressed{csr.indptr, {1, 1, 0, 2}, csr.data})) ==
               "a.npz:indices: byte 132: element 1 is 1, as one before it in this row; call "
               "matrix.sum_duplicates() before it is saved");
    const char* twice = " has the row and column of one before it; call matrix.sum_duplicates() "
                        "before it is saved";
    BOOST_TEST(refused(archive("csc", compressed{csc.indptr, {2, 0, 2, 2}, csc.data})) ==
               std::string{"a.npz:indices: byte 140: element 3"} + twice);
    BOOST_TEST(refused(coo({1, 0, 1}, {2, 0, 2}, {1, 2, 3})) ==
               std::string{"a.npz:row: byte 136: element 2"} + twice);
}

BOOST_AUTO_TEST_CASE(values_and_ends_are_checked) {
    const float inf = std::numeric_limits<float>::infinity();
    BOOST_TEST(refused(archive("csr", compressed{csr.indptr, csr.indices, {1, 2, inf, 4}})) ==
               "a.npz:data: byte 136: element 2 is not a finite 32-bit number; clean the data");
    BOOST_TEST(refused(archive("csr", {{"indptr", npy_of(csr.indptr)},
                                       {"indices", npy_of(csr.indices) + "x"},
                                       {"data", npy_of(csr.data)}}))
                   .find("a.npz:indices: byte 144: more data") == 0);
    BOOST_TEST(refused(archive("coo", {{"row", npy("<i4", "500000000,", "x")},
                                       {"col", npy_of(whole{0})},
                                       {"data", npy_of(floats{1})}}))
                   .find("a.npz:row: byte 128: truncated: the header claims 2000000000 bytes") ==
               0);
}

BOOST_AUTO_TEST_SUITE_END()

#include "tests/support/matrix_values.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

using bytes = std::vector<std::uint8_t>;
using floats = std::vector<float>;
using table = std::vector<std::vector<double>>;

std::string fortran(const std::string& type, const std::string& shape,
                    const std::string& elements) {
    return npy_with("{'descr': '" + type + "', 'fortran_order': True, 'shape': (" + shape + "), }",
                    elements);
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(npy_rows, data_files)

BOOST_AUTO_TEST_CASE(every_type_is_read_as_numbers_and_bytes_are_not_scaled) {
    const table wanted{{1, 2, 255}, {0, 7, 5}};
    const std::string shape = "2, 3";
    for (const std::string& array :
         {npy_of(bytes{1, 2, 255, 0, 7, 5}, shape),
          npy_of(std::vector<std::int32_t>{1, 2, 255, 0, 7, 5}, shape),
          npy_of(std::vector<std::int64_t>{1, 2, 255, 0, 7, 5}, shape),
          npy_of(floats{1, 2, 255, 0, 7, 5}, shape),
          npy_of(std::vector<double>{1, 2, 255, 0, 7, 5}, shape),
          fortran("|u1", shape, raw_bytes(bytes{1, 0, 2, 7, 255, 5})),
          fortran("<f8", shape, raw_bytes(std::vector<double>{1, 0, 2, 7, 255, 5}))}) {
        BOOST_TEST((rows_of(features_in(plain("a.npy", array))) == wanted));
        BOOST_TEST((rows_of(features_in(gzip("a.npy.gz", array))) == wanted));
        BOOST_TEST((rows_of(features_in(zip("a.npz", {{"x.npy", array}}))) == wanted));
        BOOST_TEST((rows_of(features_in(zip("b.npz", {{"x.npy", array}, {"y.npy", ""}}) + ":x")) ==
                    wanted));
    }
    BOOST_TEST((rows_of(features_in(plain("a", npy_of(std::vector<std::int32_t>{-5, 16777217},
                                                      "1, 2")))) == table{{-5, 16777217}}));
}

BOOST_AUTO_TEST_CASE(arrays_of_several_pieces_are_read_whole_in_either_order) {
    constexpr std::size_t rows = 700, columns = 300;
    std::vector<double> c(rows * columns), f(rows * columns);
    for (std::size_t row = 0; row < rows; ++row)
        for (std::size_t column = 0; column < columns; ++column)
            c[row * columns + column] = f[column * rows + row] =
                static_cast<double>(row * columns + column);
    const auto in_c = rows_of(features_in(plain("c", npy_of(c, "700, 300"))));
    BOOST_TEST(in_c.size() == rows);
    BOOST_TEST(in_c[699][299] == 209'999.0f);
    BOOST_TEST(in_c[1][0] == 300.0f);
    BOOST_TEST((in_c == rows_of(features_in(gzip("f", fortran("<f8", "700, 300", raw_bytes(f)))))));
}

BOOST_AUTO_TEST_CASE(arrays_that_are_no_matrix_are_refused) {
    BOOST_TEST(refused(features_in(plain("a", npy_of(floats{1, 2})))) ==
               "a: byte 0: an array of 1 dimension; features have rows and columns, as by "
               "array.reshape(len(array), -1)");
    BOOST_TEST(refused(features_in(plain("a", npy_of(floats{1, 2}, "1, 1, 2"))))
                   .find("a: byte 0: an array of 3 dimensions; features") == 0);
    BOOST_TEST(refused(features_in(plain("a", npy("<f3", "1, 1", "1234"))))
                   .find("a: byte 20: elements of type '<f3'; save them as") == 0);
    BOOST_TEST(refused(features_in(zip("a.npz", {{"x.npy", ""}, {"y.npy", ""}}))) ==
               "a.npz: which array? It holds x, y; write a.npz:NAME");
    BOOST_TEST(refused(features_in(plain("a", "PK\x03\x04 no archive")))
                   .find("a: byte 0: no readable zip archive") == 0);
}

BOOST_AUTO_TEST_CASE(numbers_that_are_not_finite_are_refused_with_their_place) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    BOOST_TEST(refused(features_in(plain("a", npy_of(floats{1, 2, 3, 4, nan, 6}, "2, 3")))) ==
               "a: byte 144: row 1, column 1 is not a finite 32-bit number; clean the data");
    BOOST_TEST(refused(features_in(
                   plain("a", fortran("<f4", "2, 3", raw_bytes(floats{1, 2, 3, 4, 5, nan}))))) ==
               "a: byte 148: row 1, column 2 is not a finite 32-bit number; clean the data");
    BOOST_TEST(refused(features_in(plain("a", npy_of(std::vector<double>{1e39}, "1, 1"))))
                   .find("a: byte 128: row 0, column 0 is not a finite") == 0);
}

BOOST_AUTO_TEST_CASE(files_that_are_too_short_or_too_long_are_refused) {
    for (const std::string& array : {npy_of(floats{1, 2, 3, 4}, "2, 2"),
                                     fortran("<f4", "2, 2", raw_bytes(floats{1, 2, 3, 4}))}) {
        for (std::size_t length = 10; length < array.size(); ++length)
            BOOST_TEST(!open_matrix(features_in(plain("cut", array.substr(0, length)))).ok(),
                       length);
        BOOST_TEST(refused(features_in(plain("cut", array.substr(0, 140)))) ==
                   "cut: byte 128: truncated: the header claims 16 bytes of elements, which the "
                   "file is too short for; fetch the file again");
        BOOST_TEST(refused(features_in(plain("long", array + "x"))) ==
                   "long: byte 144: more data than the header says");
    }
    BOOST_TEST(refused(features_in(plain("a", npy("|u1", "999999999, 1", "x"))))
                   .find("truncated: the header claims 999999999 bytes") != std::string::npos);
    BOOST_TEST(
        refused(features_in(gzip("a", npy("|u1", "300000000, 1", std::string(1u << 20, 'x')))))
            .find("truncated") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

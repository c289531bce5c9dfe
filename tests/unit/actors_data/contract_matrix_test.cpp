// The contract of readers (tests/support/file_forms.hpp): matrices but CSV, and targets.
#include "actors/data/matrix/target_vector.hpp"
#include "tests/support/file_forms.hpp"
#include "tests/support/matrix_forms.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

using longs = std::vector<std::int64_t>;
using doubles = std::vector<double>;
using floats = std::vector<float>;
using bytes = std::vector<std::uint8_t>;

reading matrix_of(const std::string& path) {
    return matrix_in(features_in(path));
}

std::string market(const std::string& words, const std::string& rest) {
    return "%%MatrixMarket matrix " + words + "\n" + rest;
}

std::string fortran(const std::string& shape, const std::string& elements) {
    return npy_with("{'descr': '<f8', 'fortran_order': True, 'shape': (" + shape + "), }",
                    elements);
}

// An IDX file of these elements: type, sizes, elements.
std::string idx(std::uint32_t magic, const std::vector<std::uint32_t>& sizes,
                const std::string& elements) {
    std::string all = big_endian_word(magic);
    for (const std::uint32_t size : sizes)
        all += big_endian_word(size);
    return all + elements;
}

} // namespace

BOOST_AUTO_TEST_SUITE(contract_of_matrices)

BOOST_AUTO_TEST_CASE(libsvm) {
    const table_of forms{
        "libsvm",
        {
            {"labels and pairs", "1 1:0.5 3:2\n-1 2:1e3\n", "0.5 0 2 -> 1 / 0 1000 0 -> -1"},
            {"+1, tabs, CRLF and no newline", "+1\t1:1\r\n-1 2:1", "1 0 -> 1 / 0 1 -> -1"},
            {"comments and blank lines", "# of today\n\n1 1:1 # a\n", "1 -> 1"},
            {"a mark of the order of bytes",
             "\xef\xbb\xbf"
             "1 1:1\n",
             "1 -> 1"},
            {"rows without pairs", "1\n1 1:1\n", "0 -> 1 / 1 -> 1"},
            {"real labels", "0.25 1:1\n", "1 -> 0.25"},
            {"stored zeros", "1 1:0 2:1\n", "0 1 -> 1"},
            {"indices from 0", "1 0:1 1:2\n", "", "indices count from 1: add 1 to all"},
            {"indices that fall", "1 3:1 2:1\n", "", "the index 2 after 3; write the pairs in the"},
            {"an index twice", "1 2:1 2:1\n", "", "the index 2 twice; leave one of them out"},
            {"queries", "1 qid:1 1:1\n", "", "queries (qid) are for ranking"},
            {"several labels", "1 1:1\n1,2 1:1\n", "", "line 2: a list of labels \"1,2\""},
            {"no label", "1:1 2:1\n", "", "no label before \"1:1\""},
            {"labels that are names", "cat 1:1\n", "", "the label: \"cat\" is not a number"},
            {"a missing value", "1 1:nan\n", "", "the value of index 1: \"nan\" is not a number"},
            {"an infinite value", "1 1:inf\n", "", "the value of index 1: \"inf\" is not finite"},
            {"decimal commas", "1 1:0,5\n", "", "the value of index 1: \"0,5\" is not a number"},
            {"names for indices", "1 1:1\n1 a:1\n", "", "the index \"a\" is not a whole number"},
            {"commas between pairs", "1 1:1,2:1\n", "", "the value of index 1: "},
        }};
    forms.check(matrix_of);
}

BOOST_AUTO_TEST_CASE(matrix_market) {
    const std::string entries = "2 2 2\n1 1 1.5\n2 1 3\n";
    const table_of forms{
        "Matrix Market",
        {
            {"coordinates", market("coordinate real general", "% by me\n\n" + entries),
             "1.5 0 / 3 0"},
            {"in any letters, with blanks",
             "%%matrixmarket MATRIX  Coordinate Real General\r\n" + entries, "1.5 0 / 3 0"},
            {"a mark of the order of bytes",
             "\xef\xbb\xbf" + market("coordinate real general", entries), "1.5 0 / 3 0"},
            {"whole numbers", market("coordinate integer general", "1 2 1\n1 2 7\n"), "0 7"},
            {"pattern", market("coordinate pattern general", "1 2 1\n1 2\n"), "0 1"},
            {"symmetric", market("coordinate real symmetric", entries), "1.5 3 / 3 0"},
            {"symmetric pattern", market("coordinate pattern symmetric", "2 2 1\n2 1\n"),
             "0 1 / 1 0"},
            {"array", market("array real general", "2 2\n1\n2\n3\n4\n"), "1 3 / 2 4"},
            {"symmetric array", market("array integer symmetric", "2 2\n1\n2\n3\n"), "1 2 / 2 3"},
            {"skew-symmetric", market("coordinate real skew-symmetric", "2 2 1\n2 1 1\n"), "",
             "the symmetry \"skew-symmetric\"; general and symmetric are read"},
            {"complex", market("coordinate complex general", "1 1 1\n1 1 1 0\n"), "",
             "the field \"complex\"; real, integer and pattern are read"},
            {"pattern array", market("array pattern general", "1 1\n1\n"), "", "the field"},
            {"entries above the diagonal", market("coordinate real symmetric", "2 2 1\n1 2 1\n"),
             "", "an entry above the diagonal"},
            {"rows from 0", market("coordinate real general", "2 2 1\n0 1 1\n"), "",
             "the row \"0\"; rows are 1 to 2"},
            {"columns from 0", market("coordinate real general", "2 2 1\n1 0 1\n"), "",
             "the column \"0\"; columns are 1 to 2"},
            {"a place twice", market("coordinate real general", "2 2 2\n1 1 1\n1 1 2\n"), "",
             "line 4: row 1, column 1 a second time; leave one of them out"},
            {"fewer entries", market("coordinate real general", "9 9 3\n1 1 1\n2 2 2\n"), "",
             "truncated"},
            {"more entries", market("coordinate real general", "2 2 1\n1 1 1\n2 2 2\n"), "",
             "more than the 1 numbers of the sizes"},
            {"a value missing", market("coordinate real general", "2 2 1\n1 1    \n"), "",
             "an entry is ROW COLUMN VALUE"},
            {"nan", market("coordinate real general", "2 2 1\n1 1 nan\n"), "", "is not a number"},
            {"no sizes", market("coordinate real general", "% by me\n"), "",
             "the file ends before its sizes"},
            {"a vector", market("vector real general", "2\n1\n2\n"), "", "the format \"vector\""},
        }};
    forms.check(matrix_of);
}

BOOST_AUTO_TEST_CASE(numpy) {
    const std::string pair = "1, 2";
    const auto big_endian = [](std::string elements, std::size_t width) {
        for (std::size_t at = 0; at < elements.size(); at += width)
            std::reverse(elements.begin() + static_cast<std::ptrdiff_t>(at),
                         elements.begin() + static_cast<std::ptrdiff_t>(at + width));
        return elements;
    };
    using shorts = std::vector<std::int16_t>;
    using halves = std::vector<std::uint16_t>; // bits of 1.5 and the smallest number, 2^-24
    const table_of forms{
        "NumPy",
        {
            {"f4", npy("<f4", pair, raw_bytes(floats{0.5f, -2})), "0.5 -2"},
            {"f8", npy("<f8", pair, raw_bytes(doubles{0.5, -2})), "0.5 -2"},
            {"f2", npy("<f2", pair, raw_bytes(halves{0x3e00, 0xc000})), "1.5 -2"},
            {"b1", npy("|b1", pair, raw_bytes(bytes{0, 1})), "0 1"},
            {"u1", npy("|u1", pair, raw_bytes(bytes{0, 255})), "0 255"},
            {"i1", npy("|i1", pair, raw_bytes(bytes{255, 127})), "-1 127"},
            {"i2", npy("<i2", pair, raw_bytes(shorts{-300, 300})), "-300 300"},
            {"u2", npy("<u2", pair, raw_bytes(shorts{-1, 1})), "65535 1"},
            {"u4", npy("<u4", pair, raw_bytes(std::vector<std::uint32_t>{7, 1u << 31})),
             "7 2147483648"},
            {"i4", npy("<i4", pair, raw_bytes(std::vector<std::int32_t>{-7, 8})), "-7 8"},
            {"i8", npy("<i8", pair, raw_bytes(longs{-7, 8})), "-7 8"},
            {"big-endian f4", npy(">f4", pair, big_endian(raw_bytes(floats{0.5f, -2}), 4)),
             "0.5 -2"},
            {"big-endian f8", npy(">f8", pair, big_endian(raw_bytes(doubles{0.5, -2}), 8)),
             "0.5 -2"},
            {"big-endian i2", npy(">i2", pair, big_endian(raw_bytes(shorts{-300, 300}), 2)),
             "-300 300"},
            {"Fortran order", fortran("2, 2", raw_bytes(doubles{1, 2, 3, 4})), "1 3 / 2 4"},
            {"version 2", npy("<f4", pair, raw_bytes(floats{1, 2}), 2), "1 2"},
            {"version 3", npy("<f4", pair, raw_bytes(floats{1, 2}), 3), "1 2"},
            {"u8", npy("<u8", pair, raw_bytes(longs{7, 8})), "",
             "elements of type '<u8'; save them with a sign: array.astype('<i8')"},
            {"complex", npy("<c8", "1, 1", raw_bytes(floats{7, 8})), "",
             "elements of type '<c8'; save array.real, array.imag or abs(array)"},
            {"objects", npy("|O", pair, "\x80\x04"), "",
             "elements of type '|O'; save them as numbers, if they are: array.astype('<f4')"},
            {"texts", npy("<U1", pair, raw_bytes(floats{1, 2})), "", "elements of type '<U1'"},
            {"times", npy("<M8[D]", pair, raw_bytes(longs{1, 2})), "", "array.astype('<i8')"},
            {"long doubles", npy("<f16", "1, 1", raw_bytes(doubles{1, 2})), "",
             "elements of type '<f16'; save them as array.astype('<f8')"},
            {"structures",
             npy_with("{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (1,), }",
                      raw_bytes(floats{1})),
             "", "an array of structures; save each field as an array of its own"},
            {"a single number", npy("<f4", "", raw_bytes(floats{1})), "", "a single number"},
            {"a vector", npy("<f4", "2,", raw_bytes(floats{1, 2})), "",
             "features have rows and columns, as by array.reshape(len(array), -1)"},
            {"three dimensions", npy("<f4", "1, 1, 1", raw_bytes(floats{1})), "",
             "an array of 3 dimensions"},
            {"no rows", npy("<f4", "0, 2", ""), "", "a dimension of 0: the array is empty"},
            {"nan", npy("<f4", pair, raw_bytes(floats{1, NAN})), "", "row 0, column 1 is not a "},
            {"infinite", npy("<f2", pair, raw_bytes(halves{0x7c00, 0})), "", "row 0, column 0 is"},
            {"cut", npy("<f4", pair, raw_bytes(floats{1})), "", "truncated"},
            {"more than its shape", npy("<f4", pair, raw_bytes(floats{1, 2, 3})), "",
             "more data than the header says"},
            {"the first bytes", "\x93NUMPY\x01", "", "truncated: the header ends after 7 of 8"},
            {"the first four bytes", "\x93NUM", "",
             "truncated: the first 4 bytes of an array of NumPy; fetch the file again"},
        }};
    forms.check(matrix_of);
}

BOOST_AUTO_TEST_CASE(archives) {
    const data_files files;
    const auto zip = [&](const zip_members& members, bool packed = true) {
        return files.read(files.zip("made.npz", members, packed));
    };
    const std::string array = npy("<f4", "1, 2", raw_bytes(floats{1, 2}));
    const table_of numpy{
        "NumPy",
        {
            {"compressed", zip({{"x.npy", array}}), "1 2"},
            {"not compressed", zip({{"x.npy", array}}, false), "1 2"},
            {"two arrays", zip({{"x.npy", array}, {"y.npy", array}}), "",
             "which array? It holds x, y; write file.npz:NAME"},
            {"the first bytes", "PK\x03\x04", "", "no readable zip archive"},
            {"a table", zip({{"table.csv", "1,2\n"}}), "",
             "a zip archive without arrays of NumPy; unpack it, and name a file of it"},
            {"an Excel table", zip({{"[Content_Types].xml", "<x/>"}, {"xl/workbook.xml", "<x/>"}}),
             "", "a document of Microsoft Office; save the table as CSV"},
            {"weights of PyTorch", zip({{"weights/data.pkl", "\x80\x02"}}), "",
             "what torch.save writes; save an array of it"},
        }};
    numpy.check(matrix_of, "file.npz");
    check_form({"one of two", {}, "1 2"},
               files.zip("two.npz", {{"x.npy", array}, {"y.npy", array}}) + ":y", matrix_of);
    const auto matrix = [&](const std::string& format, const zip_members& arrays) {
        return zip(scipy_members(format, 2, 2, arrays));
    };
    const std::string values = npy_of(doubles{5, 6}), ends = npy_of(longs{0, 1, 2});
    const table_of scipy{
        "SciPy",
        {
            {"csr",
             matrix("csr", {{"data", values}, {"indices", npy_of(longs{1, 0})}, {"indptr", ends}}),
             "0 5 / 6 0"},
            {"csc",
             matrix("csc", {{"data", values}, {"indices", npy_of(longs{1, 0})}, {"indptr", ends}}),
             "0 6 / 5 0"},
            {"coo of truth values",
             matrix("coo", {{"data", npy("|b1", "2,", raw_bytes(bytes{1, 1}))},
                            {"row", npy_of(longs{0, 1})},
                            {"col", npy_of(longs{1, 0})}}),
             "0 1 / 1 0"},
            {"a place twice",
             matrix("coo",
                    {{"data", values}, {"row", npy_of(longs{0, 0})}, {"col", npy_of(longs{1, 1})}}),
             "", "matrix.sum_duplicates()"},
            {"a column that is not there",
             matrix("csr", {{"data", values}, {"indices", npy_of(longs{1, 2})}, {"indptr", ends}}),
             "", "is 2, but the shape says 2 columns"},
            {"bsr", matrix("bsr", {}), "", "csr, csc and coo are read, as by matrix.tocsr()"},
        }};
    scipy.check(matrix_of, "file.npz");
}

BOOST_AUTO_TEST_CASE(idx_images) {
    const table_of forms{
        "IDX",
        {
            {"images", idx(0x803, {2, 1, 2}, "\x01\x02\x03\x04"), "1 2 / 3 4"},
            {"cut", idx(0x803, {2, 1, 2}, "\x01\x02\x03"), "", "truncated: the header claims 4"},
            {"more than the header says", idx(0x803, {1, 1, 1}, "\x01\x02"), "",
             "more data than the header says"},
            {"labels", idx(0x801, {1}, "\x01"), "",
             "its elements are unsigned bytes in 1 dimension: is it another file's place?"},
            {"32-bit floats", idx(0xd03, {1, 1, 1}, raw_bytes(floats{1})), "",
             "its elements are 32-bit floats in 3 dimensions: save them by numpy.save"},
            {"16-bit numbers", idx(0xb03, {1, 1, 1}, "\x01\x02"), "", "16-bit numbers"},
            {"colours", idx(0x804, {1, 1, 1, 3}, "\x01\x02\x03"), "", "in 4 dimensions"},
            {"no images", idx(0x803, {0, 1, 1}, ""), "", "a size of 0: the file holds no images"},
            {"the first bytes", idx(0x803, {}, ""), "", "truncated: the header ends after 0 of 4"},
        }};
    forms.check(matrix_of);
}

BOOST_AUTO_TEST_CASE(targets) {
    const table_of forms{
        "targets",
        {
            {"a number a line", "1\n-2.5\n", "1 -2.5"},
            {"below a name", "y\r\n1\r\n2", "1 2"},
            {"labels from 0", "0\n1\n2\n", "0 1 2"},
            {"a name counted by pandas", "0\n0.5\n1\n", "0.5 1", "",
             "the first line, 0, is taken for the names of the columns"},
            {"a vector", npy("<f8", "2,", raw_bytes(doubles{0.1, 1e300})), "0.1 1e+300"},
            {"a column in Fortran order", fortran("2, 1", raw_bytes(doubles{1, 2})), "1 2"},
            {"truth values", npy("|b1", "2,", raw_bytes(bytes{1, 0})), "1 0"},
            {"labels in IDX", idx(0x801, {2}, "\x07\x01"), "7 1"},
            {"images in IDX", idx(0x803, {1, 1, 1}, "\x07"), "", "not an IDX file of labels"},
            {"two numbers a line", "1,2\n3,4\n", "", "2 numbers in a line; a file of targets has"},
            {"two columns", npy("<f8", "1, 2", raw_bytes(doubles{1, 2})), "", "array[:, 0]"},
            {"classes", "cat\ndog\n", "", "line 2: column 0: \"dog\" is not a number"},
            {"a gap", "1\nNA\n", "", "\"NA\" is not a number; fill in missing values"},
            {"a matrix", "1 1:1\n", "", "a matrix, where targets belong"},
            {"nothing", "", "", "the file holds no rows"},
        }};
    forms.check([](const std::string& path) -> reading {
        const auto found = read_targets(path);
        return found ? reading{shown_all(found->values), {}, found->notes} : refusal(found);
    });
}

BOOST_AUTO_TEST_SUITE_END()

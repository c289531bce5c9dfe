// The contract of readers (tests/support/file_forms.hpp): samples of training runs.
#include <capnp/message.h>

#include "actors/data/files/idx_file.hpp"
#include "actors/data/samples/cifar_reader.hpp"
#include "actors/data/samples/npy_reader.hpp"
#include "actors/data/samples/text_reader.hpp"
#include "tests/support/data_values.hpp"
#include "tests/support/file_forms.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

using bytes = std::vector<std::uint8_t>;
using shorts = std::vector<std::int16_t>;
using ints = std::vector<std::int32_t>;
using longs = std::vector<std::int64_t>;
using floats = std::vector<float>;

std::string shown_bytes(const bytes& all) {
    return shown_all(ints{all.begin(), all.end()});
}

// "bytes 1 2", "whole 1 2", "numbers 1 2": what they are to a model.
std::string shown_values(const value_array& values) {
    if (const auto* all = std::get_if<bytes>(&values))
        return "bytes " + shown_bytes(*all);
    if (const auto* all = std::get_if<ints>(&values))
        return "whole " + shown_all(*all);
    return "numbers " + shown_all(std::get<floats>(values));
}

form_reader npy_as(npy_use use) {
    return [use](const std::string& path) -> reading {
        const auto found = read_npy(path, use);
        return found ? reading{shown_values(found->values), {}} : refusal(found);
    };
}

reading cifar_of(const std::string& path, std::uint32_t classes) {
    capnp::MallocMessageBuilder message;
    auto cifar = message.initRoot<proto::Data>().initCifar();
    cifar.setClasses(classes);
    cifar.initTrain(1).set(0, path.c_str());
    cifar.initTest(1).set(0, path.c_str());
    const auto sets = read_cifar_data(cifar.asReader(), {3, 32, 32});
    return sets ? reading{shown_bytes(array_of<std::uint8_t>(sets->train.labels)), {}}
                : refusal(sets);
}

reading text_of(const std::string& path) {
    capnp::MallocMessageBuilder message;
    auto text = message.initRoot<proto::Data>().initText();
    text.initTrain(1).set(0, path.c_str());
    text.initTest(1).set(0, path.c_str());
    const auto sets = read_text_data(text.asReader(), {2});
    if (!sets)
        return refusal(sets);
    const auto& all = array_of<std::uint8_t>(sets->train.inputs);
    return {{all.begin(), all.end()}, {}};
}

} // namespace

BOOST_AUTO_TEST_SUITE(contract_of_samples)

BOOST_AUTO_TEST_CASE(numpy_inputs) {
    const table_of forms{
        "NumPy",
        {
            {"u1", npy("|u1", "2,", raw_bytes(bytes{0, 255})), "bytes 0 255"},
            {"f4", npy("<f4", "2,", raw_bytes(floats{0.5f, -2})), "numbers 0.5 -2"},
            {"f8", npy("<f8", "1,", raw_bytes(std::vector<double>{0.5})), "numbers 0.5"},
            {"f2", npy("<f2", "2,", raw_bytes(shorts{0x3e00, 1})), "numbers 1.5 5.9604645e-08"},
            {"b1", npy("|b1", "2,", raw_bytes(bytes{0, 1})), "numbers 0 1"},
            {"i1", npy("|i1", "1,", raw_bytes(bytes{7})), "whole 7"},
            {"i2", npy("<i2", "1,", raw_bytes(shorts{300})), "whole 300"},
            {"big-endian i2", npy(">i2", "1,", std::string{"\1\2"}), "whole 258"},
            {"u2", npy("<u2", "1,", raw_bytes(shorts{-1})), "whole 65535"},
            {"u4", npy("<u4", "1,", raw_bytes(ints{7})), "whole 7"},
            {"i8", npy("<i8", "1,", raw_bytes(longs{7})), "whole 7"},
            {"negative whole numbers", npy("<i2", "2,", raw_bytes(shorts{1, -1})), "",
             "element 1 is no token: give 0 to 2147483647; of measurements make array.astype"},
            {"too large whole numbers", npy("<i8", "1,", raw_bytes(longs{1ll << 31})), "",
             "element 0 is no token"},
            {"Fortran order",
             npy_with("{'descr': '<f4', 'fortran_order': True, 'shape': (1, 2), }",
                      raw_bytes(floats{1, 2})),
             "", "an array in Fortran order; save it as numpy.ascontiguousarray(array)"},
            {"a single number", npy("<f4", "", raw_bytes(floats{1})), "", "a single number"},
            {"objects", npy("|O", "1,", "\x80\x04"), "", "elements of type '|O'"},
            {"complex", npy("<c16", "1,", raw_bytes(longs{1, 2})), "", "save array.real"},
            {"u8", npy("<u8", "1,", raw_bytes(longs{1})), "", "array.astype('<i8')"},
            {"nan", npy("<f2", "1,", raw_bytes(shorts{0x7e00})), "", "element 0 is not a finite"},
            {"cut", npy("<f4", "2,", raw_bytes(floats{1})), "", "truncated"},
            {"text", "1,2\n3,4\n", "", "not a .npy file"},
        }};
    forms.check(npy_as(npy_use::inputs));
}

BOOST_AUTO_TEST_CASE(numpy_labels) {
    const table_of forms{
        "NumPy",
        {
            {"classes", npy("<i8", "2,", raw_bytes(longs{0, 7})), "whole 0 7"},
            {"truth values", npy("|b1", "2,", raw_bytes(bytes{0, 1})), "whole 0 1"},
            {"bytes", npy("|u1", "2,", raw_bytes(bytes{0, 9})), "bytes 0 9"},
            {"labels that are left out", npy("<i2", "2,", raw_bytes(shorts{-1, 3})), "whole -1 3"},
            {"labels that PyTorch leaves out", npy("<i8", "2,", raw_bytes(longs{3, -100})), "",
             "element 1 is no class: give 0 to 2147483647, or -1 for what the loss leaves out"},
            {"numbers", npy("<f4", "1,", raw_bytes(floats{0.5f})), "numbers 0.5"},
            {"names", npy("<U1", "1,", raw_bytes(ints{65})), "", "elements of type '<U1'"},
        }};
    forms.check(npy_as(npy_use::labels));
}

BOOST_AUTO_TEST_CASE(idx_labels) {
    const std::string header = big_endian_word(0x801);
    const table_of forms{
        "IDX",
        {
            {"labels", idx_label_file({1, 0}), "1 0"},
            {"cut", header + big_endian_word(3) + "\1", "", "truncated: the header claims 3 bytes"},
            {"more than the header says", idx_label_file({1}) + "\1", "", "more data than the"},
            {"images", idx_image_file(1), "", "in 3 dimensions: is it another file's place?"},
            {"32-bit numbers", big_endian_word(0xc01) + big_endian_word(1) + big_endian_word(7), "",
             "its elements are 32-bit numbers in 1 dimension: save them by numpy.save"},
            {"text", "1\n2\n3\n", "", "not an IDX file of labels: begins with 31 0a 32 0a"},
            {"no labels", header + big_endian_word(0), "", "a size of 0"},
            {"the first bytes", header.substr(0, 3), "", "truncated: the header ends after 3 of 4"},
        }};
    forms.check([](const std::string& path) -> reading {
        const auto found = read_idx_labels(path);
        return found ? reading{shown_bytes(*found), {}} : refusal(found);
    });
}

BOOST_AUTO_TEST_CASE(cifar) {
    const std::string one = cifar_record("\x03", 7);
    const table_of of_10{
        "CIFAR",
        {
            {"records", one + cifar_record("\x09", 8), "3 9"},
            {"cut", one + one.substr(0, 3000), "",
             "truncated: a record of CIFAR-10 ends after 3000 of 3073 bytes"},
            {"a label out of range", one + cifar_record("\x0a", 7), "", "label 10 in CIFAR-10"},
            {"records of CIFAR-100", cifar_record("\x01\x63", 7), "", "set data.cifar.classes"},
            {"the version for Python",
             "\x80\x02}q\x01(U\x04"
             "dataq\x02",
             "", "a Python pickle; load it in Python"},
        }};
    of_10.check([](const std::string& path) { return cifar_of(path, 10); });
    const table_of of_100{
        "CIFAR",
        {
            {"records", cifar_record("\x01\x63", 7), "99"},
            {"a label out of range", cifar_record("\x01\x64", 7), "", "label 100 in CIFAR-100"},
            {"records of CIFAR-10", one, "", "truncated"},
        }};
    of_100.check([](const std::string& path) { return cifar_of(path, 100); });
}

BOOST_AUTO_TEST_CASE(text) {
    const table_of forms{"text",
                         {
                             {"bytes as they are", "ab\r\n\xe9\xff", "ab\r\n\xe9\xff"},
                             {"shorter than a sample", "ab", "", "2 bytes, but a sample takes 3"},
                             {"nothing", "", "", "the file is empty"},
                         }};
    forms.check(text_of);
}

BOOST_AUTO_TEST_SUITE_END()

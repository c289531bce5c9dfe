#include <boost/test/unit_test.hpp>

#include <capnp/message.h>

#include "actors/data/samples/npy_reader.hpp"
#include "schemas/base/random.hpp"
#include "tests/support/data_files.hpp"
#include "tests/support/data_values.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

using bytes = std::vector<std::uint8_t>;
using floats = std::vector<float>;
using tokens = std::vector<std::int32_t>;

struct names {
    std::string train_inputs, train_labels, test_inputs, test_labels;
};

result<data_sets> load(const names& n, const tensor_shape& input,
                       proto::DataTarget target = proto::DataTarget::LABELS) {
    capnp::MallocMessageBuilder message;
    auto data = message.initRoot<proto::Data>();
    data.setTarget(target);
    auto npy = data.initNpy();
    npy.setTrainInputs(n.train_inputs.c_str());
    npy.setTestInputs(n.test_inputs.c_str());
    if (!n.train_labels.empty())
        npy.setTrainLabels(n.train_labels.c_str());
    if (!n.test_labels.empty())
        npy.setTestLabels(n.test_labels.c_str());
    return load_data(data.asReader(), input, 1);
}

std::string refused(const std::string& file, npy_use use = npy_use::inputs) {
    return refusal_of(read_npy(file, use));
}

bool says(const std::string& message, const std::string& part) {
    return message.find(part) != std::string::npos;
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(npy_reader, data_files)

BOOST_AUTO_TEST_CASE(every_type_and_version_is_read) {
    const auto u1 = read_npy(plain("a", npy("|u1", "2, 3", raw_bytes(bytes{1, 2, 3, 4, 5, 255}))),
                             npy_use::inputs);
    BOOST_REQUIRE(u1.ok());
    BOOST_TEST(u1->samples == 2u);
    BOOST_TEST((u1->sample_shape == tensor_shape{3}));
    BOOST_TEST((std::get<bytes>(u1->values) == bytes{1, 2, 3, 4, 5, 255}));
    const auto i4 = read_npy(plain("b", npy("<i4", "3,", raw_bytes(tokens{7, 0, 2147483647}), 2)),
                             npy_use::inputs);
    BOOST_REQUIRE(i4.ok());
    BOOST_TEST((i4->sample_shape == tensor_shape{}));
    BOOST_TEST((std::get<tokens>(i4->values) == tokens{7, 0, 2147483647}));
    const auto i8 =
        read_npy(plain("c", npy("<i8", "1, 2", raw_bytes(std::vector<std::int64_t>{-1, 9}))),
                 npy_use::labels);
    BOOST_REQUIRE(i8.ok());
    BOOST_TEST((std::get<tokens>(i8->values) == tokens{-1, 9}));
    const auto f4 = read_npy(gzip("d", npy("<f4", "2, 1", raw_bytes(floats{0.5f, -3e38f}), 3)),
                             npy_use::inputs);
    BOOST_REQUIRE(f4.ok());
    BOOST_TEST((std::get<floats>(f4->values) == floats{0.5f, -3e38f}));
    const auto f8 = read_npy(
        plain("e", npy("<f8", "2", raw_bytes(std::vector<double>{0.25, 1e-3}))), npy_use::inputs);
    BOOST_REQUIRE(f8.ok());
    BOOST_TEST((std::get<floats>(f8->values) == floats{0.25f, 1e-3f}));
}

BOOST_AUTO_TEST_CASE(arrays_of_several_pieces_are_read_whole) {
    std::vector<double> many(100'000);
    for (std::size_t i = 0; i < many.size(); ++i)
        many[i] = static_cast<double>(i);
    const auto array =
        read_npy(gzip("many", npy("<f8", "1000, 100", raw_bytes(many))), npy_use::inputs);
    BOOST_REQUIRE(array.ok());
    BOOST_TEST(std::get<floats>(array->values)[99'999] == 99'999.0f);
}

BOOST_AUTO_TEST_CASE(headers_that_do_not_hold_are_refused_with_the_byte) {
    const std::string good = npy("<f4", "2", raw_bytes(floats{1, 2}));
    BOOST_TEST(says(refused(plain("a", "PK34567890")), "a: byte 0: not a .npy file"));
    BOOST_TEST(says(refused(plain("a", npy("<f4", "2", raw_bytes(floats{1, 2}), 4))),
                    ": byte 6: .npy version 4"));
    BOOST_TEST(says(refused(plain("a", npy("f4", "2", raw_bytes(floats{1, 2})))),
                    ": byte 20: elements of type 'f4'; save"));
    BOOST_TEST(says(refused(plain("a", npy("<c8", "1", raw_bytes(floats{1, 2})))), "type '<c8'"));
    BOOST_TEST(
        says(refused(plain(
                 "a", npy_with("{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (1,), }",
                               ""))),
             ": byte 20: an array of structures"));
    BOOST_TEST(
        says(refused(plain("a", npy_with("{'descr': '<f4', 'fortran_order': True, 'shape': (1,), }",
                                         "1234"))),
             "in Fortran order; save it as numpy.ascontiguousarray(array)"));
    BOOST_TEST(says(refused(plain("a", npy("<f4", "", "1234"))), "a single number"));
    BOOST_TEST(says(refused(plain("a", npy("<f4", "3, 0", ""))), "a dimension of 0"));
    BOOST_TEST(says(refused(plain("a", npy("<f4", "1, 1, 1, 1, 1, 1, 1, 1, 1", "1234"))),
                    "more than 8 dimensions"));
    for (const char* damaged : {"{'descr': '<f4', 'fortran_order': False}", "[]", "{'descr': '<f4'",
                                "", "{'descr': '<f4', 'fortran_order': 1, 'shape': (1,)}",
                                "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x",
                                "{'descr': '<f4', 'fortran_order': False, 'shape': (1;)}",
                                "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
                                "{'descr': '<f4', 'fortran_order': False, 'shape': 1}",
                                "{'descr': '<f4', 'other': False, 'shape': (1,)}"})
        BOOST_TEST(says(refused(plain("a", npy_with(damaged, "1234"))), "damaged header"), damaged);
}

BOOST_AUTO_TEST_CASE(sizes_that_the_file_cannot_hold_take_no_memory) {
    BOOST_TEST(says(refused(plain("a", npy("<f4", "1000000000", "1234"))),
                    ": byte 128: truncated: the header claims 4000000000 bytes"));
    BOOST_TEST(
        says(refused(gzip("a", npy("<f4", "1000000000", "1234"))), "truncated: the header claims"));
    BOOST_TEST(
        says(refused(plain("a", npy("<f8", "18446744073709551615, 18446744073709551615", "1234"))),
             "the header claims more than 68719476736 bytes"));
    BOOST_TEST(
        says(refused(plain("a", npy("<f4", "99999999999999999999999", ""))), "damaged header"));
    std::string long_header = npy("<f4", "1", "1234", 2);
    long_header[11] = 1; // 16 MiB and more
    BOOST_TEST(says(refused(plain("a", long_header)), ": byte 8: a header of 167"));
}

BOOST_AUTO_TEST_CASE(truncation_is_found_at_every_byte_and_more_data_is_refused) {
    const std::string whole = npy("<i4", "2, 2", raw_bytes(tokens{1, 2, 3, 4}));
    for (std::size_t length = 0; length < whole.size(); ++length)
        BOOST_TEST(says(refused(plain("cut", whole.substr(0, length))), "truncated"), length);
    BOOST_TEST(says(refused(plain("long", whole + "x")), ": more data than the header says"));
}

BOOST_AUTO_TEST_CASE(values_that_cannot_be_taken_are_named_by_their_byte) {
    const float none = std::numeric_limits<float>::quiet_NaN();
    BOOST_TEST(says(refused(plain("a", npy("<f4", "3", raw_bytes(floats{1, none, 2})))),
                    ": byte 132: element 1 is not a finite 32-bit number"));
    BOOST_TEST(says(refused(plain("a", npy("<f8", "2", raw_bytes(std::vector<double>{1, 1e300})))),
                    ": byte 136: element 1 "));
    BOOST_TEST(
        says(refused(plain("a", npy("<i8", "1", raw_bytes(std::vector<std::int64_t>{1ll << 31})))),
             ": byte 128: element 0 is no token"));
    BOOST_TEST(says(refused(plain("a", npy("<i4", "2", raw_bytes(tokens{0, -1})))),
                    ": byte 132: element 1 is no token"));
    BOOST_TEST(
        says(refused(plain("a", npy("<i4", "2", raw_bytes(tokens{-1, -2}))), npy_use::labels),
             ": byte 132: element 1 is no class"));
}

BOOST_AUTO_TEST_CASE(mutated_files_never_crash_the_reader) {
    random_stream random{3};
    const std::string array = npy("<f8", "5, 2", raw_bytes(std::vector<double>(10, 0.5)));
    const std::string archive = read(zip("m.npz", {{"x.npy", array}}));
    for (const auto& [name, whole] :
         {std::pair<std::string, std::string>{"mutant.npy", array}, {"mutant.npz", archive}})
        for (int round = 0; round < 500; ++round) {
            std::string mutant = whole;
            for (int edits = 0; edits < 3; ++edits)
                mutant[random.below(mutant.size())] = static_cast<char>(random.next());
            const auto got = read_npy(plain(name, mutant), npy_use::inputs);
            if (got.ok())
                BOOST_REQUIRE(got->samples > 0);
        }
}

BOOST_AUTO_TEST_CASE(arrays_are_members_of_archives) {
    const std::string x = npy("<f4", "1", raw_bytes(floats{0.5f}));
    const std::string y = npy("<i4", "1", raw_bytes(tokens{3}));
    for (const bool packed : {true, false}) {
        const auto both = zip("both.npz", {{"x_train.npy", x}, {"y_train.npy", y}}, packed);
        const auto labels = read_npy(both + ":y_train", npy_use::labels);
        BOOST_REQUIRE(labels.ok());
        BOOST_TEST((std::get<tokens>(labels->values) == tokens{3}));
        BOOST_TEST(refused(both) ==
                   both + ": which array? It holds x_train, y_train; write both.npz:NAME");
        BOOST_TEST(refused(both + ":z") ==
                   both + ": no array \"z\". It holds x_train, y_train; write both.npz:NAME");
    }
    BOOST_TEST(read_npy(zip("one.npz", {{"x.npy", x}}), npy_use::inputs).ok());
    BOOST_TEST(says(refused(plain("no.npz", "no archive at all")),
                    "no.npz: byte 0: no readable zip archive"));
    BOOST_TEST(
        says(refused(zip("bad.npz", {{"x.npy", x + "y"}})), "bad.npz:x: byte 132: more data"));
    std::string damaged = read(zip("stored.npz", {{"x.npy", x}}, false));
    damaged[damaged.find("NUMPY") + 127] ^= 1; // an element, of which the archive keeps a checksum
    BOOST_TEST(
        says(refused(plain("stored.npz", damaged)), "stored.npz:x: byte 132: damaged zip data"));
    BOOST_TEST(refusal_of(read_npy("/nonexistent/a.npz:x", npy_use::inputs), errc::io) ==
               "/nonexistent/a.npz: no such file");
}

BOOST_AUTO_TEST_CASE(data_sets_have_inputs_of_the_models_shape_and_labels_of_any) {
    const auto images = plain("images", npy("|u1", "2, 2, 3, 1", raw_bytes(bytes(12, 255))));
    const auto values = plain("values", npy("<f4", "2, 2", raw_bytes(floats{1, 2, 3, 4})));
    const auto classes =
        plain("classes", npy("<i8", "2, 1", raw_bytes(std::vector<std::int64_t>{1, 0})));
    const auto sets = load({images, values, images, classes}, {1, 2, 3});
    BOOST_REQUIRE(sets.ok());
    BOOST_TEST((sets->train.inputs.type == data_type::float32 &&
                sets->train.inputs.shape == tensor_shape{1, 2, 3}));
    BOOST_TEST((sets->train.labels.type == data_type::float32 &&
                sets->train.labels.shape == tensor_shape{2}));
    BOOST_TEST((values_of<float>(sets->train.labels, 1) == floats{3, 4}));
    BOOST_TEST((sets->test.labels.type == data_type::int32));
    BOOST_TEST((values_of<std::int32_t>(sets->test.labels, 0) == tokens{1}));
    const auto of_tokens = load({classes, values, classes, values}, {1});
    BOOST_TEST((of_tokens->train.inputs.type == data_type::int32));
}

BOOST_AUTO_TEST_CASE(files_that_do_not_fit_together_are_refused_with_their_key) {
    const auto two = plain("two", npy("<f4", "2, 2", raw_bytes(floats{1, 2, 3, 4})));
    const auto three = plain("three", npy("|u1", "3", raw_bytes(bytes{1, 2, 0})));
    BOOST_TEST(refusal_of(load({two, three, two, three}, {2})) ==
               "data.npy.train_labels: " + three + ": byte 0: 3 labels, but " + two +
                   " has 2 samples");
    BOOST_TEST(refusal_of(load({two, "", two, ""}, {3})) ==
               "data.npy.train_inputs: " + two +
                   ": byte 0: samples of shape [2], but model.input is [3]; transpose or reshape "
                   "the array");
    BOOST_TEST(says(refusal_of(load({two, "", two, ""}, {2})),
                    "data.npy: train_labels is missing; name the file, or"));
    BOOST_TEST(refusal_of(load({two, two, "/nonexistent/x", two}, {2}), errc::io) ==
               "data.npy.test_inputs: /nonexistent/x: no such file");
    const auto own = load({two, "", two, ""}, {2}, proto::DataTarget::INPUT);
    BOOST_REQUIRE(own.ok());
    BOOST_TEST(own->train.labels_are_inputs);
}

BOOST_AUTO_TEST_SUITE_END()

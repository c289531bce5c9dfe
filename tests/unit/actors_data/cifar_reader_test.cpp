#include <boost/test/unit_test.hpp>

#include <capnp/message.h>

#include "actors/data/samples/cifar_reader.hpp"
#include "tests/support/data_files.hpp"
#include "tests/support/data_values.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

struct wanted {
    std::uint32_t classes = 10;
    std::string folder;
    std::vector<std::string> train = {};
    std::vector<std::string> test = {};
    tensor_shape input = {3, 32, 32};
};

result<data_sets> load(const wanted& w) {
    capnp::MallocMessageBuilder message;
    auto data = message.initRoot<proto::Data>();
    auto cifar = data.initCifar();
    cifar.setClasses(w.classes);
    if (!w.folder.empty())
        cifar.setFolder(w.folder.c_str());
    const auto list = [](auto into, const std::vector<std::string>& names) {
        for (unsigned i = 0; i < names.size(); ++i)
            into.set(i, names[i].c_str());
    };
    if (!w.train.empty())
        list(cifar.initTrain(static_cast<unsigned>(w.train.size())), w.train);
    if (!w.test.empty())
        list(cifar.initTest(static_cast<unsigned>(w.test.size())), w.test);
    return load_data(data.asReader(), w.input, 1);
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(cifar_reader, data_files)

BOOST_AUTO_TEST_CASE(a_folder_of_cifar_10_has_five_training_files_plain_or_gzip) {
    for (int i = 1; i <= 4; ++i)
        plain("data_batch_" + std::to_string(i) + ".bin",
              cifar_record({static_cast<char>(i)}, 10 * i));
    gzip("data_batch_5.bin.gz", cifar_record("\x09", 50) + cifar_record("\x07", 51));
    plain("test_batch.bin", cifar_record({'\0'}, 255));
    const auto sets = load({.folder = folder().string()});
    BOOST_REQUIRE(sets.ok());
    BOOST_TEST(sets->train.size() == 6u);
    BOOST_TEST((array_of<std::uint8_t>(sets->train.labels) ==
                std::vector<std::uint8_t>{1, 2, 3, 4, 9, 7}));
    BOOST_TEST(sets->train.inputs.block<std::uint8_t>(3)[0] == 40);
    BOOST_TEST(sets->train.inputs.block<std::uint8_t>(5)[3071] == 51);
    BOOST_TEST(sets->test.size() == 1u);
    BOOST_TEST((sets->test.inputs.shape == tensor_shape{3, 32, 32}));
}

BOOST_AUTO_TEST_CASE(the_fine_labels_of_cifar_100_are_taken) {
    const auto train = plain("train.bin", cifar_record("\x05\x63", 1));
    const auto test = plain("test.bin", cifar_record("\x06\x22", 2));
    for (const wanted& w : {wanted{.classes = 100, .folder = folder().string()},
                            wanted{.classes = 100, .train = {train}, .test = {test}}}) {
        const auto sets = load(w);
        BOOST_REQUIRE(sets.ok());
        BOOST_TEST(sets->train.labels.block<std::uint8_t>(0)[0] == 99);
        BOOST_TEST(sets->test.labels.block<std::uint8_t>(0)[0] == 34);
        BOOST_TEST(sets->test.inputs.block<std::uint8_t>(0)[0] == 2);
    }
}

BOOST_AUTO_TEST_CASE(records_that_do_not_hold_are_refused_with_the_byte) {
    const auto good = plain("good", cifar_record("\x01", 1));
    const auto refused = [&](const std::string& contents) {
        return refusal_of(load({.train = {good, plain("bad", contents)}, .test = {good}}));
    };
    const std::string at = "data.cifar.train: " + (folder() / "bad").string() + ": byte ";
    BOOST_TEST(refused(cifar_record("\x01", 1) + cifar_record("\x0a", 1)) ==
               at + "3073: label 10 in CIFAR-10; fetch the file again, or set data.cifar.classes");
    BOOST_TEST(refused(cifar_record("\x01", 1) + "\x02") ==
               at + "3073: truncated: a record of CIFAR-10 ends after 1 of 3073 bytes; fetch the "
                    "file again, or set data.cifar.classes");
    BOOST_TEST(refused("") == at + "0: the file holds no images");
    BOOST_TEST(refusal_of(load({.train = {good}, .test = {"/nonexistent/x"}}), errc::io) ==
               "data.cifar.test: /nonexistent/x: no such file");
}

BOOST_AUTO_TEST_CASE(options_that_do_not_fit_together_are_refused) {
    const auto good = plain("good", cifar_record("\x01", 1));
    BOOST_TEST(refusal_of(load({.classes = 20, .folder = "x"})) ==
               "data.cifar.classes: there are CIFAR-10 and CIFAR-100, not 20");
    for (const wanted& w : {wanted{}, wanted{.train = {good}},
                            wanted{.folder = "x", .train = {good}, .test = {good}}})
        BOOST_TEST(refusal_of(load(w)) == "data.cifar: give the folder, or both train and test");
    BOOST_TEST(refusal_of(load({.folder = "x", .input = {32, 32, 3}})) ==
               "data.cifar: images are [3, 32, 32], but model.input is [32, 32, 3]");
}

BOOST_AUTO_TEST_SUITE_END()

#include <boost/test/unit_test.hpp>

#include <capnp/message.h>

#include "actors/data/samples/text_reader.hpp"
#include "tests/support/data_files.hpp"
#include "tests/support/data_values.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

struct wanted {
    std::vector<std::string> train;
    std::vector<std::string> test = {};
    float test_share = 0.25f;
    std::uint32_t stride = 0;
    tensor_shape input = {4};
};

result<data_sets> load(const wanted& w) {
    capnp::MallocMessageBuilder message;
    auto data = message.initRoot<proto::Data>();
    auto text = data.initText();
    const auto list = [](auto into, const std::vector<std::string>& names) {
        for (unsigned i = 0; i < names.size(); ++i)
            into.set(i, names[i].c_str());
    };
    list(text.initTrain(static_cast<unsigned>(w.train.size())), w.train);
    if (!w.test.empty())
        list(text.initTest(static_cast<unsigned>(w.test.size())), w.test);
    text.setTestShare(w.test_share);
    text.setStride(w.stride);
    return load_data(data.asReader(), w.input, 1);
}

std::string text_of(const column& c, std::size_t sample) {
    const auto block = c.block<std::uint8_t>(sample);
    return {block.begin(), block.end()};
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(text_reader, data_files)

BOOST_AUTO_TEST_CASE(samples_are_windows_and_labels_the_same_one_byte_later) {
    const auto file = plain("a.txt", "abcdefghijklmnopqrst"); // 20 bytes, 15 of them to train on
    const auto sets = load({.train = {file}});
    BOOST_REQUIRE(sets.ok());
    BOOST_TEST(sets->train.size() == 3u);
    BOOST_TEST(text_of(sets->train.inputs, 0) == "abcd");
    BOOST_TEST(text_of(sets->train.labels, 0) == "bcde");
    BOOST_TEST(text_of(sets->train.inputs, 2) == "ijkl");
    BOOST_TEST(sets->test.size() == 1u);
    BOOST_TEST(text_of(sets->test.inputs, 0) == "pqrs");
    BOOST_TEST(text_of(sets->test.labels, 0) == "qrst");
    BOOST_TEST((sets->test.inputs.array == sets->train.labels.array)); // nothing is copied
    BOOST_TEST((sets->train.inputs.type == data_type::int32));
    BOOST_TEST((sets->train.labels.shape == tensor_shape{4}));
}

BOOST_AUTO_TEST_CASE(windows_may_overlap_or_leave_out) {
    const auto train = plain("a.txt", "abcdefg");
    const auto test = gzip("b.gz", "0123456789abcdef");
    const auto sets = load({.train = {train}, .test = {test}, .stride = 1});
    BOOST_REQUIRE(sets.ok());
    BOOST_TEST(sets->train.size() == 3u);
    BOOST_TEST(text_of(sets->train.labels, 2) == "defg");
    BOOST_TEST(sets->test.size() == 12u);
    const auto wide = load({.train = {train}, .test = {test}, .stride = 10});
    BOOST_TEST(wide->train.size() == 1u);
    BOOST_TEST(wide->test.size() == 2u);
    BOOST_TEST(text_of(wide->test.labels, 1) == "bcde");
}

BOOST_AUTO_TEST_CASE(files_stand_one_behind_the_other_and_patterns_for_files_by_name) {
    plain("part-2.txt", "fghij");
    plain("part-1.txt", "abcde");
    const auto literal = plain("odd[1].txt", "xyz01");
    const auto sets =
        load({.train = {(folder() / "part-*.txt").string(), literal}, .test_share = 0.4f});
    BOOST_REQUIRE(sets.ok());
    BOOST_TEST(text_of(sets->train.inputs, 0) == "abcd");
    BOOST_TEST(text_of(sets->train.inputs, 1) == "efgh");
    BOOST_TEST(text_of(sets->test.inputs, 0) == "jxyz");
}

BOOST_AUTO_TEST_CASE(text_that_cannot_be_used_is_refused_with_its_key) {
    const auto good = plain("good.txt", "abcdefghijklmnop");
    const auto none = plain("none.txt", "");
    BOOST_TEST(refusal_of(load({.train = {good, none}})) ==
               "data.text.train[1]: " + none + ": byte 0: the file is empty");
    BOOST_TEST(refusal_of(load({.train = {good}, .test_share = 0.1f})) ==
               "data.text.test_share: " + good +
                   ": 1 bytes, but a sample takes 5; give more text, or shorten model.input");
    BOOST_TEST(refusal_of(load({.train = {good, good}, .input = {64}})) ==
               "data.text.train: " + good +
                   " and 1 more file: 24 bytes, but a sample takes 65; give more text, or "
                   "shorten model.input");
    BOOST_TEST(load({.train = {good}, .test = {good, good, good}})->test.name ==
               good + " and 2 more files");
    BOOST_TEST(refusal_of(load({.train = {good}, .test = {"/nonexistent/x"}}), errc::io) ==
               "data.text.test[0]: /nonexistent/x: no such file");
    BOOST_TEST(refusal_of(load({.train = {"/nonexistent/*"}}), errc::io) ==
               "data.text.train[0]: /nonexistent/*: no file has such a name");
    BOOST_TEST(refusal_of(load({.train = {good}, .input = {1, 4}})) ==
               "data.text: a sample is a row of bytes, so that model.input is [LENGTH], not "
               "[1, 4]");
    std::string cut = read(gzip("cut.gz", "abcdefghijklmnopqrstuvwxyz"));
    const auto damaged = plain("cut.gz", cut.substr(0, cut.size() - 9));
    BOOST_TEST(refusal_of(load({.train = {damaged}})).find("cut.gz: byte ") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

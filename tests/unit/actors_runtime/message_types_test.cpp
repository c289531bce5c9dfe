#include <boost/test/unit_test.hpp>

#include "actors/runtime/message_types.hpp"
#include "schemas/pipeline.capnp.h"
#include "schemas/run.capnp.h"
#include "schemas/training.capnp.h"
#include "tests/support/all_messages.hpp"

using namespace troupe;
using troupe::test::all_messages;

namespace {

template <class Body>
std::string printed(frame_builder<Body>&& message) {
    return all_messages()->body_text(*std::move(message).finish(), 4096);
}

frame_builder<proto::Activation> activation(std::uint64_t version) {
    frame_builder<proto::Activation> message;
    message.body().setMinibatch(7);
    message.body().setWeightVersion(version);
    return message;
}

} // namespace

BOOST_AUTO_TEST_SUITE(message_bodies)

BOOST_AUTO_TEST_CASE(a_field_that_holds_none_is_not_printed_and_a_zero_is) {
    BOOST_TEST(printed(frame_builder<proto::Gradient>{}) == "(minibatch = 0, microbatch = 0)");
    BOOST_TEST(printed(activation(none)) == "(minibatch = 7, microbatch = 0)");
    BOOST_TEST(printed(activation(0)) == "(minibatch = 7, microbatch = 0, weightVersion = 0)");
    frame_builder<proto::StageFailed> of_source;
    BOOST_TEST(printed(std::move(of_source)) == "()");
}

BOOST_AUTO_TEST_CASE(all_ones_are_printed_where_they_are_a_value) {
    frame_builder<proto::StageOptions> stage;
    stage.body().setSamples(~0ull);
    BOOST_TEST(printed(std::move(stage)).find("samples = 18446744073709551615") !=
               std::string::npos);
}

BOOST_AUTO_TEST_CASE(values_are_printed_as_they_are_written) {
    frame_builder<proto::Spawn> spawn;
    spawn.body().setDevice("cpu:0");
    spawn.body().setOptionsType(type_id_of<proto::StageOptions>());
    auto stage = spawn.body().getOptions().initAs<proto::StageOptions>();
    stage.initPart().initTrain().initOptimizer().initSgd().setLearningRate(0.05f);
    const std::string text = printed(std::move(spawn));
    BOOST_TEST(text.find("device = \"cpu:0\"") != std::string::npos);
    BOOST_TEST(text.find("options = StageOptions (part = (") != std::string::npos);
    BOOST_TEST(text.find("learningRate = 0.05,") != std::string::npos);
    BOOST_TEST(text.find("samples = 0") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(options_of_a_type_that_is_not_known_are_not_printed) {
    frame_builder<proto::Spawn> spawn;
    spawn.body().setRole("dancer");
    spawn.body().setOptionsType(0xabcdef0123456789);
    spawn.body().getOptions().initAs<proto::StageOptions>();
    const std::string text = printed(std::move(spawn));
    BOOST_TEST(text.find("role = \"dancer\"") != std::string::npos);
    BOOST_TEST(text.find("options = (a type that this build does not know)") != std::string::npos,
               text);
}

// A struct where words of other kinds stand.
BOOST_AUTO_TEST_CASE(options_that_are_no_struct_are_told_as_unreadable) {
    frame_builder<proto::Spawn> spawn;
    spawn.body().setOptionsType(type_id_of<proto::StageOptions>());
    spawn.body().getOptions().setAs<capnp::Text>("stage");
    BOOST_TEST(printed(std::move(spawn)).starts_with("(unreadable: "));
}

BOOST_AUTO_TEST_SUITE_END()

// Numbers of the app file that come from another process keep the ranges of its schema.
#include <boost/test/unit_test.hpp>

#include <capnp/message.h>

#include <limits>

#include "actors/app_file/value_ranges.hpp"
#include "schemas/app.capnp.h"

using namespace troupe;

BOOST_AUTO_TEST_SUITE(value_ranges)

BOOST_AUTO_TEST_CASE(an_optimizer_with_settings_out_of_range_is_refused_with_its_key) {
    capnp::MallocMessageBuilder message;
    auto optimizer = message.initRoot<proto::Optimizer>();
    const auto outcome = [&] {
        const auto checked = check_ranges(capnp::toDynamic(optimizer.asReader()));
        return checked ? std::string{"fits"} : checked.failure().message();
    };
    auto sgd = optimizer.initSgd();
    sgd.setMomentum(0.9f);
    BOOST_TEST(outcome() == "fits");
    sgd.setMomentum(2);
    BOOST_TEST(outcome() == "sgd: momentum must be 0 to 0.99999, not 2");
    sgd.setMomentum(std::numeric_limits<float>::quiet_NaN());
    BOOST_TEST(outcome().starts_with("sgd: momentum must be 0 to 0.99999, not "));
    optimizer.initAdam().setBeta2(1);
    BOOST_TEST(outcome() == "adam: beta2 must be 0 to 0.999999, not 1");
}

BOOST_AUTO_TEST_CASE(a_learning_rate_schedule_with_settings_out_of_range_is_refused_with_its_key) {
    capnp::MallocMessageBuilder message;
    auto train = message.initRoot<proto::Train>();
    train.setBatch(1);
    train.initSchedule().initPolynomial().setPower(-1);
    const auto checked = check_ranges(capnp::toDynamic(train.asReader()));
    BOOST_REQUIRE(!checked);
    BOOST_TEST(checked.failure().message() ==
               "schedule: polynomial: power must be 0 to 100, not -1");
}

BOOST_AUTO_TEST_SUITE_END()

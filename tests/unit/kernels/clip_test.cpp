#include <boost/test/unit_test.hpp>

#include <capnp/message.h>

#include <cmath>
#include <limits>

#include "kernels/optim/clip.hpp"
#include "kernels/reference/reference.hpp"
#include "tests/unit/kernels/backends.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

// The gradients of two parameters: (0, 3, -4) and (12).
struct gradients {
    operand_pool pool{1 << 16};
    std::unique_ptr<operations> ops = make_reference_operations();
    compute_context context{*ops, pool};
    std::vector<tensor> list{made({0, 3, -4}), made({12})};

    tensor made(const std::vector<float>& values) {
        tensor t = tensor::allocate(pool, data_type::float32, {values.size()}).value();
        std::ranges::copy(values, t.mutable_values<float>().begin());
        return t;
    }
    float at(std::size_t parameter, std::size_t i) const {
        return list[parameter].values<float>()[i];
    }
    void clip(const gradient_clip& bound, std::optional<double> squares = std::nullopt) {
        BOOST_TEST(clip_gradients(context, bound, list, squares).ok());
    }
};

const auto near = boost::test_tools::tolerance(1e-6f);

} // namespace

BOOST_AUTO_TEST_SUITE(gradient_clipping)

BOOST_FIXTURE_TEST_CASE(by_value_every_element_is_bounded, gradients) {
    clip({.value = 3.5f});
    BOOST_TEST(at(0, 1) == 3.f);
    BOOST_TEST(at(0, 2) == -3.5f);
    BOOST_TEST(at(1, 0) == 3.5f);
}

BOOST_FIXTURE_TEST_CASE(by_norm_all_are_scaled_to_it_together, gradients) {
    clip({.norm = 6.5f}); // of 13
    BOOST_TEST(at(0, 0) == 0.f);
    BOOST_TEST(at(0, 1) == 1.5f, near);
    BOOST_TEST(at(0, 2) == -2.f, near);
    BOOST_TEST(at(1, 0) == 6.f, near);
}

BOOST_FIXTURE_TEST_CASE(a_smaller_norm_changes_nothing, gradients) {
    clip({.norm = 13.1f});
    clip({});
    BOOST_TEST(at(0, 1) == 3.f);
    BOOST_TEST(at(1, 0) == 12.f);
}

BOOST_FIXTURE_TEST_CASE(the_norm_may_be_of_more_than_these, gradients) {
    clip({.norm = 13.f}, 4 * 169);
    BOOST_TEST(at(1, 0) == 6.f, near);
}

BOOST_FIXTURE_TEST_CASE(gradients_of_no_size_stay_and_those_that_are_no_numbers_spread, gradients) {
    list = {made({0, 0})};
    clip({.norm = 1.f});
    BOOST_TEST(at(0, 0) == 0.f);
    list = {made({1}), made({std::numeric_limits<float>::quiet_NaN()})};
    clip({.norm = 1.f});
    BOOST_TEST(std::isnan(at(0, 0)));
}

BOOST_FIXTURE_TEST_CASE(squares_are_added_from_the_last_to_the_first, gradients) {
    const auto squares = squares_of(context, list).value();
    BOOST_TEST(squares == (std::vector<double>{25, 144}), boost::test_tools::per_element());
    // 1 is lost beside 2^53 unless it comes last.
    BOOST_TEST(add_squares(0, std::vector<double>{1, 1, 0x1p53}) == 0x1p53);
    BOOST_TEST(add_squares(1, std::vector<double>{0x1p53, 1}) == 0x1p53 + 2);
}

BOOST_AUTO_TEST_CASE(the_app_says_by_what) {
    capnp::MallocMessageBuilder message;
    auto description = message.initRoot<proto::GradientClip>();
    const auto made = [&] { return make_clip(description.asReader()).value(); };
    BOOST_TEST((!made().value && !made().norm));
    description.setValue(2);
    BOOST_TEST((made().value == 2.f && !made().norm));
    description.setNorm(3);
    BOOST_TEST((made().norm == 3.f && !made().value));
}

BOOST_AUTO_TEST_SUITE_END()

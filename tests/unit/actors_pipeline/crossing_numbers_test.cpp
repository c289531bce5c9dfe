// What crosses between stages in a form of fewer bits: numbers and tokens, sound and not.
#include <boost/test/unit_test.hpp>

#include "actors/pipeline/shape/crossing_numbers.hpp"
#include "kernels/reference/reference.hpp"

using namespace troupe;

namespace {

// Of an encoder-decoder: tokens, a value before which nothing is trained, and one that is.
struct crossing {
    memory_pool memory{1u << 22};
    const std::unique_ptr<operations> ops = make_reference_operations();
    compute_context context{*ops, memory};
    const number_form_ptr form = make_number_form(proto::NumberForm::BF16).value();
    const std::vector<graph_value> values{
        {{data_type::int32, {7}, 10}, false}, {numbers({3}), false}, {numbers({2, 4}), true}};
    const crossing_numbers activations = crossing_numbers::activations(form, values);
    const crossing_numbers gradients = crossing_numbers::gradients(form, values);

    tensor made(data_type type, const tensor_shape& shape) {
        tensor t = tensor::allocate(memory, type, shape).value();
        std::fill_n(t.mutable_data(), t.bytes(), std::byte{0x3f});
        return t;
    }
    // As they are sent for five samples.
    std::vector<tensor> sent() {
        return {made(data_type::int32, {5, 7}), made(data_type::uint8, {2 * 5 * 3}),
                made(data_type::uint8, {2 * 5 * 8})};
    }
    std::string refusal(const std::vector<tensor>& all) {
        const auto fits = activations.check(all, 5);
        BOOST_REQUIRE(!fits.ok());
        BOOST_TEST((fits.failure().code() == errc::protocol));
        return fits.failure().message();
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(numbers_that_cross, crossing)

BOOST_AUTO_TEST_CASE(numbers_are_decoded_and_tokens_stay_as_they_are) {
    std::vector<tensor> all = sent();
    const tensor tokens = all[0];
    BOOST_REQUIRE(activations.check(all, 5).ok());
    BOOST_REQUIRE(receive_tensors(context, &activations, all, 5).ok());
    BOOST_TEST(all[0].data() == tokens.data());
    BOOST_TEST((all[1].shape() == tensor_shape{5, 3}));
    BOOST_TEST((all[2].shape() == tensor_shape{5, 2, 4}));
    for (const float x : all[2].values<float>())
        BOOST_TEST(x == 0.74609375f); // 0x3f3f
    std::vector<tensor> untouched = sent();
    const tensor first = untouched[1];
    BOOST_REQUIRE(receive_tensors(context, nullptr, untouched, 5).ok());
    BOOST_TEST(untouched[1].data() == first.data());
}

BOOST_AUTO_TEST_CASE(gradients_come_back_for_what_is_trained) {
    std::vector<tensor> all{sent()[2]};
    BOOST_TEST(gradients.check(all, 5).ok());
    BOOST_TEST(!gradients.check(sent(), 5).ok());
}

BOOST_AUTO_TEST_CASE(the_bytes_are_those_that_are_sent) {
    std::uint64_t bytes = 0;
    for (const tensor& t : sent())
        bytes += t.bytes();
    BOOST_TEST(activations.bytes(5) == bytes);
    BOOST_TEST(gradients.bytes(5) == sent()[2].bytes());
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_is_refused) {
    BOOST_TEST(refusal({}) == "0 tensors instead of 3");
    std::vector<tensor> all = sent();
    all[0] = made(data_type::int32, {5, 8});
    BOOST_TEST(refusal(all) == "int32[5, 8] instead of int32[5, 7]");
    all[0] = {};
    BOOST_TEST(!activations.check(all, 5).ok());
    all = sent();
    all[0] = made(data_type::uint8, {2 * 5 * 7}); // tokens are not rounded
    BOOST_TEST(!activations.check(all, 5).ok());
    all = sent();
    all[1] = made(data_type::float32, {5, 3});
    BOOST_TEST(refusal(all) == "a payload of float32 [5, 3] is none of a tensor of [5, 3]");
    all = sent();
    all[2] = made(data_type::uint8, {2 * 5 * 8 - 1});
    BOOST_TEST(refusal(all) == "a payload of uint8 [79] is none of a tensor of [5, 2, 4]");
    BOOST_TEST(!activations.check(sent(), 4).ok());
}

BOOST_AUTO_TEST_SUITE_END()

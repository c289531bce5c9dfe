// What a backward pass hands over while it runs.
#include <boost/test/unit_test.hpp>

#include "actors/pipeline/stage/gradient_buckets.hpp"
#include "kernels/codec/codecs.hpp"
#include "kernels/reference/reference.hpp"

using namespace troupe;

namespace {

constexpr std::size_t large = bucket_bytes_min / sizeof(float);

struct handing_over {
    memory_pool memory{1u << 26};
    const std::unique_ptr<operations> ops = make_reference_operations();
    compute_context context{*ops, memory};
    std::vector<std::pair<std::size_t, std::vector<tensor>>> given;

    tensor filled(std::size_t elements, float value) {
        tensor t = tensor::allocate(memory, data_type::float32, {elements}).value();
        std::ranges::fill(t.mutable_values<float>(), value);
        return t;
    }
    gradient_buckets buckets(std::vector<tensor> sum, gradient_buckets::options how = {}) {
        return {std::move(sum),
                [this](std::size_t first, std::vector<tensor> gradients) {
                    given.emplace_back(first, std::move(gradients));
                },
                std::move(how)};
    }
    static std::shared_ptr<gradient_encoder> encoder(codec_ptr how) {
        return std::make_shared<gradient_encoder>(
            gradient_encoder::options{.how = std::move(how), .shapes = {{3}, {large}}});
    }
};

} // namespace

BOOST_AUTO_TEST_SUITE(buckets_of_gradients)

BOOST_FIXTURE_TEST_CASE(gradients_go_when_there_are_enough_the_last_parameters_first,
                        handing_over) {
    auto b = buckets({});
    const std::vector<tensor> last{filled(10, 5), filled(large / 2, 6)};
    const std::vector<tensor> middle{filled(large / 2, 3), filled(1, 4)};
    const std::vector<tensor> first{filled(3, 1), filled(2, 2)};
    BOOST_REQUIRE(b.add(context, 4, last).ok());
    BOOST_TEST(given.empty());
    BOOST_REQUIRE(b.add(context, 2, middle).ok());
    BOOST_REQUIRE(given.size() == 1u);
    BOOST_TEST(given[0].first == 2u);
    BOOST_REQUIRE(given[0].second.size() == 4u);
    for (std::size_t i = 0; i < 4; ++i)
        BOOST_TEST(given[0].second[i].values<float>()[0] == static_cast<float>(3 + i));
    BOOST_REQUIRE(b.add(context, 0, first).ok());
    const std::vector<tensor> statistics{filled(2, 9)};
    const auto rest = b.rest(context, statistics).value();
    BOOST_TEST(given.size() == 1u);
    BOOST_REQUIRE(rest.size() == 3u);
    BOOST_TEST(rest[0].values<float>()[0] == 1.0f);
    BOOST_TEST(rest[1].values<float>()[0] == 2.0f);
    BOOST_TEST(rest[2].values<float>()[0] == 9.0f);
}

BOOST_FIXTURE_TEST_CASE(what_earlier_microbatches_gave_is_in_it, handing_over) {
    std::vector<tensor> sum{filled(3, 10), filled(large, 20),
                            filled(2, 30)}; // the last: statistics
    auto b = buckets(std::move(sum));
    const std::vector<tensor> second{filled(large, 2)}, first{filled(3, 1)};
    BOOST_REQUIRE(b.add(context, 1, second).ok());
    BOOST_REQUIRE(given.size() == 1u);
    BOOST_TEST(given[0].second[0].values<float>()[large - 1] == 22.0f);
    BOOST_REQUIRE(b.add(context, 0, first).ok());
    const std::vector<tensor> statistics{filled(2, 3)};
    const auto rest = b.rest(context, statistics).value();
    BOOST_REQUIRE(rest.size() == 2u);
    BOOST_TEST(rest[0].values<float>()[2] == 11.0f);
    BOOST_TEST(rest[1].values<float>()[1] == 33.0f);
}

BOOST_FIXTURE_TEST_CASE(a_codec_compresses_what_is_handed_over, handing_over) {
    auto b = buckets({}, {encoder(make_half_codec(half_format::bf16))});
    const std::vector<tensor> second{filled(large, 2)}, first{filled(3, 1)};
    BOOST_REQUIRE(b.add(context, 1, second).ok());
    BOOST_REQUIRE(given.size() == 1u);
    BOOST_TEST(given[0].second[0].bytes() == 2 * large);
    BOOST_REQUIRE(b.add(context, 0, first).ok());
    const std::vector<tensor> statistics{filled(2, 3)};
    const auto rest = b.rest(context, statistics).value();
    BOOST_REQUIRE(rest.size() == 2u);
    BOOST_TEST(rest[0].bytes() == 2u * 3);
    BOOST_TEST(rest[1].bytes() == 4u * 2); // as they are
}

BOOST_FIXTURE_TEST_CASE(a_codec_that_needs_all_gradients_gets_them_at_once, handing_over) {
    const auto deep = encoder(make_deep_gradient_codec({.ratio = 0.5f, .clip_norm = 1}));
    auto b = buckets({}, {deep});
    const std::vector<tensor> second{filled(large, 2)}, first{filled(3, 1)};
    BOOST_REQUIRE(b.add(context, 1, second).ok());
    BOOST_REQUIRE(b.add(context, 0, first).ok());
    BOOST_TEST(given.empty());
    BOOST_TEST(b.rest(context, {}).value().size() == 2u);
}

BOOST_FIXTURE_TEST_CASE(factors_of_microbatches_are_rows_one_behind_another, handing_over) {
    std::vector<tensor> sum{filled(12, 1).reshaped({3, 4}),
                            filled(3, 10)}; // far less than a bucket
    auto b = buckets(std::move(sum), {.as_factors = {true, false}});
    const std::vector<tensor> more{filled(8, 2).reshaped({2, 4}), filled(3, 1)};
    BOOST_REQUIRE(b.add(context, 0, more).ok());
    BOOST_REQUIRE(given.size() == 1u);
    const auto& [rows, bias] = std::tie(given[0].second[0], given[0].second[1]);
    BOOST_TEST((rows.shape() == tensor_shape{5, 4}));
    BOOST_TEST(rows.values<float>()[11] == 1.0f);
    BOOST_TEST(rows.values<float>()[12] == 2.0f);
    BOOST_TEST(bias.values<float>()[0] == 11.0f);
}

BOOST_AUTO_TEST_SUITE_END()

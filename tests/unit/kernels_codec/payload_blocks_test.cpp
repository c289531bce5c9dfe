// Payloads that are cut into blocks: what is told of a block is what the whole tells of these elements.
#include <boost/test/unit_test.hpp>

#include <cmath>
#include <cstring>

#include "tests/unit/kernels_codec/all_codecs.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

struct fixture {
    operand_pool pool{1ull << 30};
    std::unique_ptr<operations> ops = shipped_operations(pool);
    compute_context context{*ops, pool};
};

// Buckets that are many, one, and of sizes that are no whole bytes.
std::vector<codec_ptr> codecs_with_blocks() {
    std::vector<codec_ptr> all = unbiased_codecs();
    all.push_back(make_quantized_codec("int8", {.levels = 127, .bucket = 16}));
    all.push_back(make_quantized_codec("tern_grad", {.levels = 1, .clip = 2.5f}));
    all.push_back(make_quantized_codec("qsgd", {.levels = 5, .norm = bucket_norm::euclidean}));
    all.push_back(
        make_quantized_codec("qsgd", {.levels = 5, .bucket = 7, .norm = bucket_norm::euclidean}));
    all.push_back(
        make_quantized_codec("qsgd", {.levels = 15, .bucket = 1, .norm = bucket_norm::euclidean}));
    all.push_back(make_sign_codec());
    all.push_back(with_error_feedback(make_sign_codec()));
    return all;
}

const std::vector<tensor_shape> shapes{{1},    {10},     {511},        {512},    {513},
                                       {3000}, {10, 33}, {8, 3, 3, 3}, {64, 200}};

} // namespace

BOOST_FIXTURE_TEST_SUITE(blocks_of_payloads, fixture)

BOOST_AUTO_TEST_CASE(a_block_is_told_by_its_part_of_the_payload) {
    for (const codec_ptr& how : codecs_with_blocks())
        for (const tensor_shape& shape : shapes) {
            BOOST_REQUIRE(how->blocks() != nullptr);
            const payload_blocks& blocks = *how->blocks();
            const tensor gradient = random_tensor(pool, shape, 3);
            auto state = how->first_state(pool, shape, {}).value();
            const tensor payload = how->encode(context, gradient, state, {.seed = 9}).value();
            const tensor whole = decoded(context, *how, shape, payload).value();
            const std::size_t elements = shape.elements(), unit = blocks.unit(shape);
            const std::size_t units = (elements + unit - 1) / unit;
            for (std::size_t pieces = 1; pieces <= std::min<std::size_t>(units, 5); ++pieces) {
                std::uint64_t bytes = 0;
                for (std::size_t p = 0; p < pieces; ++p) {
                    const std::size_t first = units * p / pieces * unit;
                    const std::size_t end = std::min(elements, units * (p + 1) / pieces * unit);
                    const tensor_shape block = blocks.shape_of(shape, end - first);
                    BOOST_REQUIRE(block.elements() == end - first);
                    const tensor part =
                        blocks.cut(pool, shape, payload, first, end - first).value();
                    BOOST_TEST(part.bytes() == how->payload_bytes(block));
                    bytes += part.bytes();
                    const tensor d = decoded(context, *how, block, part).value();
                    BOOST_TEST(std::memcmp(d.values<float>().data(),
                                           whole.values<float>().data() + first, d.bytes()) == 0,
                               how->name() << " of " << to_string(shape) << " from " << first);
                }
                // Norms of what is one bucket are told to each.
                BOOST_TEST(bytes <= payload.bytes() + 4 * (pieces - 1));
            }
        }
}

BOOST_AUTO_TEST_CASE(many_elements_can_be_cut_into_as_many_blocks_as_ranks) {
    for (const codec_ptr& how : codecs_with_blocks()) {
        const tensor_shape shape{1000, 1000};
        BOOST_TEST(how->blocks()->unit(shape) <= 1000u, how->name());
    }
    BOOST_TEST(make_top_codec(0.1f)->blocks() == nullptr);
    BOOST_TEST(make_half_codec(half_format::bf16)->blocks() == nullptr);
}

// What senders drew is large in few places: clipped, these would be less each time, and nobody would keep what is lost.
BOOST_AUTO_TEST_CASE(sums_are_not_clipped_again) {
    const codec_ptr how = make_quantized_codec("tern_grad", {.levels = 1, .clip = 2.5f});
    const codec_ptr of_sums = how->blocks()->of_sums();
    BOOST_REQUIRE(of_sums);
    BOOST_TEST(unbiased_codecs()[0]->blocks()->of_sums() == nullptr);
    tensor sum = random_tensor(pool, {1000}, 1);
    std::ranges::fill(sum.mutable_values<float>(), 0.f);
    sum.mutable_values<float>()[7] = 3;
    const auto largest = [&](const codec& c) {
        return decoded(context, c, {1000}, c.encode(context, sum, {}, {}).value())
            .value()
            .values<float>()[7];
    };
    BOOST_TEST(largest(*how) < 1.f);
    BOOST_TEST(largest(*of_sums) == 3.f);
}

BOOST_AUTO_TEST_SUITE_END()

// How the gradients of a codec are summed, and what that sends.
#include <boost/test/unit_test.hpp>

#include "actors/collective/compressed_sum.hpp"
#include "kernels/codec/codecs.hpp"
#include "kernels/codec/sufficient_factors.hpp"

using namespace troupe;

namespace {

compressed_sum sum_of(const codec_ptr& how, std::uint32_t ranks,
                      const std::vector<tensor_shape>& shapes, std::size_t averages = 0) {
    return *choose_compressed_sum({.shapes = shapes, .averages = averages, .codec = how}, ranks);
}

} // namespace

BOOST_AUTO_TEST_SUITE(compressed_sums)

BOOST_AUTO_TEST_CASE(sparse_payloads_are_summed_on_their_way_where_that_is_faster) {
    const auto top = with_error_feedback(make_top_codec(0.01f));
    const auto few = sum_of(top, 4, {{100, 100}});
    BOOST_TEST(few.name() == "sparse all-reduce by recursive doubling");
    BOOST_TEST(few.bytes == 8u * 100 * 3);
    const auto folded = sum_of(top, 3, {{1000, 1000}});
    BOOST_TEST(folded.name() == "all-gather");
    BOOST_TEST(folded.bytes == 8u * 10'000 * 2);
    const auto many = sum_of(with_error_feedback(make_top_codec(0.25f)), 8, {{4096, 4096}});
    BOOST_TEST(many.name() == "sparse all-reduce by split all-gather, dense");
    const std::size_t n = 4096 * 4096;
    BOOST_TEST(many.bytes == 7 * 8 * (n / 4) / 8 + 7 * 4 * n / 8);
}

// As blocks these are few bytes in two rounds.
BOOST_AUTO_TEST_CASE(small_payloads_are_gathered) {
    const codec_ptr signs = with_error_feedback(make_sign_codec());
    BOOST_TEST(sum_of(signs, 4, {{100, 100}}).name() == "all-gather");
    // Beside it an all-reduce of the averages: of so few, two rounds of recursive doubling.
    BOOST_TEST(sum_of(signs, 4, {{7}, {100, 100}}, 1).bytes ==
               3 * signs->payload_bytes({100, 100}) + 2u * 4 * 7);
}

BOOST_AUTO_TEST_CASE(numbers_of_16_bits_are_summed_as_such_by_more_than_two_ranks) {
    for (const half_format format : {half_format::bf16, half_format::f16}) {
        const codec_ptr how = with_error_feedback(make_half_codec(format));
        const std::vector<tensor_shape> shapes{{8}, {400, 100}};
        const auto two = sum_of(how, 2, shapes, 1);
        BOOST_TEST(two.name() == "all-gather"); // as little, and rounded once
        BOOST_TEST(two.bytes == 2u * 40'000 + 4u * 8);
        const auto four = choose_compressed_sum({.shapes = shapes,
                                                 .averages = 1,
                                                 .codec = how,
                                                 .algorithm = proto::AllReduceAlgorithm::RING},
                                                4)
                              .value();
        BOOST_TEST(four.name() == "all-reduce in 16 bits by ring");
        BOOST_TEST(
            choose_compressed_sum(
                {.shapes = shapes, .codec = how, .algorithm = proto::AllReduceAlgorithm::TREE}, 2)
                ->name() == "all-reduce in 16 bits by tree");
        BOOST_TEST(four.bytes == (2u * 40'000 + 4u * 8) * 6 / 4);
    }
}

BOOST_AUTO_TEST_CASE(weights_whose_factors_are_less_are_gathered_and_the_rest_is_summed) {
    // Two averages, a convolution, a linear layer of one row of a sample with its bias, one of 64 rows.
    const std::vector<tensor_shape> shapes{{3}, {3}, {8, 3, 3, 3}, {128, 4096}, {128}, {128, 128}};
    const std::vector<std::size_t> rows{0, 1, 0, 64}; // of parameters
    const auto sum = choose_compressed_sum({.shapes = shapes,
                                            .averages = 2,
                                            .sends_factors = true,
                                            .factor_rows = rows,
                                            .samples_max = 16},
                                           4)
                         .value();
    for (std::size_t t = 0; t < shapes.size(); ++t)
        BOOST_TEST((sum.forms[t] != nullptr) == (t == 3));
    BOOST_TEST(sum.gathered() == 1u);
    BOOST_TEST(sum.name() == "all-gather");
    const std::size_t rest = 3 + 3 + 8 * 3 * 3 * 3 + 128 + 128 * 128;
    const auto algorithm = choose(proto::AllReduceAlgorithm::AUTO, 4, rest);
    BOOST_TEST(sum.bytes == 3u * 4 * 16 * (128 + 4096) + 4 * elements_sent_max(algorithm, 4, rest));
    // K P (M + N) <= 2 M N: at 4 ranks and 64 by 64 up to 16 samples.
    const std::vector<tensor_shape> square{{64, 64}};
    const std::vector<std::size_t> one{1};
    BOOST_TEST((factors_to_ranks(square, one, 16, 4)[0] != nullptr));
    BOOST_TEST((factors_to_ranks(square, one, 17, 4)[0] == nullptr));
    const compressed_gradients more{
        .shapes = square, .sends_factors = true, .factor_rows = one, .samples_max = 17};
    BOOST_TEST(!choose_compressed_sum(more, 4)); // summed as they are
    // To a server K (M + N) <= M N.
    BOOST_TEST((factors_to_server(square, one, 32)[0] != nullptr));
    BOOST_TEST((factors_to_server(square, one, 33)[0] == nullptr));
}

BOOST_AUTO_TEST_CASE(factors_are_summed_and_take_no_more_of_each_rank_with_more_ranks) {
    const auto low = make_low_rank_codec(2);
    const std::size_t bytes = 4 * (2 * (4096 + 4096) + 4096); // P, Q and a vector as it is
    for (const std::uint32_t ranks : {2u, 4u, 8u, 16u, 64u}) {
        const auto sum = sum_of(low, ranks, {{4096, 4096}, {4096}});
        BOOST_TEST(sum.name().starts_with("all-reduce of factors by "), sum.name());
        BOOST_TEST(sum.bytes <= (ranks < 16 ? 3 : 6) * bytes); // of few, log2 P times
    }
    const auto many = sum_of(low, 64, {{1u << 20, 1u << 10}});
    BOOST_TEST(many.bytes <= 2 * 4 * 2 * ((1u << 20) + (1u << 10)));
}

BOOST_AUTO_TEST_CASE(what_a_codec_sends_as_it_is_lies_in_the_dense_row) {
    const auto deep = make_deep_gradient_codec({.ratio = 0.01f, .warmup_epochs = 2});
    const std::vector<tensor_shape> shapes{{3}, {10, 10}, {10}, {20, 10}};
    const auto layout = sparse_layout::of(*deep, shapes, 1);
    BOOST_TEST((layout.is_sparse == std::vector<bool>{false, true, false, true}));
    BOOST_TEST(layout.load.dense == 13u);
    BOOST_TEST(layout.load.dimension == 300u);
    BOOST_TEST(layout.load.numbers == 3u); // after the warm-up
}

BOOST_AUTO_TEST_SUITE_END()

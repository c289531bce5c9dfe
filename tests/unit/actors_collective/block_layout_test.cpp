// Who sums what block, and that no codec that is cut into blocks sends more than none.
#include <boost/test/unit_test.hpp>

#include <algorithm>

#include "actors/collective/block_layout.hpp"
#include "actors/collective/compressed_sum.hpp"
#include "kernels/codec/codecs.hpp"

using namespace troupe;

namespace {

std::vector<codec_ptr> codecs_with_blocks() {
    return {
        make_quantized_codec("int8", {.levels = 127, .bucket = 512}),
        make_quantized_codec("qsgd", {.levels = 15, .bucket = 512, .norm = bucket_norm::euclidean}),
        make_quantized_codec("tern_grad", {.levels = 1, .clip = 2.5f}),
        with_error_feedback(make_sign_codec()), with_error_feedback(make_threshold_codec(0.1f))};
}

// The network of apps/fashion_mnist with a hidden layer of so many units; with 412 its gradients are 5.3 MB.
std::vector<tensor_shape> network(std::size_t units) {
    return {{32, 1, 3, 3}, {32}, {64, 32, 3, 3}, {64}, {units, 3136}, {units}, {10, units}, {10}};
}

std::uint64_t dense_bytes(const std::vector<tensor_shape>& shapes, std::uint32_t ranks) {
    std::size_t elements = 0;
    for (const tensor_shape& shape : shapes)
        elements += shape.elements();
    return 4 * elements_sent_max(choose(proto::AllReduceAlgorithm::AUTO, ranks, elements), ranks,
                                 elements);
}

} // namespace

BOOST_AUTO_TEST_SUITE(block_layouts)

BOOST_AUTO_TEST_CASE(every_element_has_one_owner_and_ranks_own_as_much_but_for_a_unit) {
    const std::vector<tensor_shape> shapes{{1}, {10}, {64, 200}, {3}, {8, 3, 3, 3}, {5000}, {7, 1}};
    for (const codec_ptr& how : codecs_with_blocks())
        for (std::uint32_t ranks = 2; ranks <= 64; ++ranks) {
            const auto layout = block_layout::make(how, shapes, ranks);
            std::vector<std::vector<int>> owners;
            std::uint64_t unit_bytes = 0;
            for (const tensor_shape& shape : shapes) {
                owners.emplace_back(shape.elements());
                const std::size_t unit = std::min(how->blocks()->unit(shape), shape.elements());
                unit_bytes =
                    std::max(unit_bytes, how->payload_bytes(how->blocks()->shape_of(shape, unit)));
            }
            for (std::uint32_t r = 0; r < ranks; ++r) {
                std::uint64_t bytes = 0;
                std::size_t last = 0;
                for (const owned_block& b : layout.owned[r]) {
                    BOOST_TEST(b.tensor >= last);
                    last = b.tensor;
                    BOOST_TEST(b.elements.first % how->blocks()->unit(shapes[b.tensor]) == 0u);
                    BOOST_TEST(b.elements.count > 0u);
                    BOOST_TEST(b.shape.elements() == b.elements.count);
                    for (std::size_t i = 0; i < b.elements.count; ++i)
                        ++owners[b.tensor].at(b.elements.first + i);
                    bytes += how->payload_bytes(b.shape);
                }
                BOOST_TEST(bytes == layout.submitted_bytes[r]);
            }
            for (const auto& of_tensor : owners)
                BOOST_TEST(std::ranges::count(of_tensor, 1) == std::ssize(of_tensor));
            const auto [least, most] = std::ranges::minmax(layout.submitted_bytes);
            BOOST_TEST(most - least <= unit_bytes, how->name() << " of " << ranks << " ranks");
        }
}

BOOST_AUTO_TEST_CASE(a_rank_sends_the_blocks_of_others_and_the_sums_of_its_own_to_all) {
    const std::vector<tensor_shape> shapes{{100, 64}};
    const auto signs =
        block_layout::make(with_error_feedback(make_sign_codec()), shapes, 8); // 12 or 13 rows
    std::uint64_t all = 0;
    for (std::uint32_t r = 0; r < 8; ++r) {
        const std::uint64_t rows = r < 4 ? 13 : 12;
        BOOST_TEST(signs.owned[r][0].elements.count == 64 * rows);
        BOOST_TEST(signs.submitted_bytes[r] == 16 * rows);
        BOOST_TEST(signs.bytes_sent(r) == 16 * (100 - rows) + 7 * 16 * rows);
        all += signs.bytes_sent(r);
    }
    BOOST_TEST(signs.bytes_sent_max() == 16 * (87 + 7 * 13));
    BOOST_TEST(all == 2u * 7 * 1600); // as ring all-reduce: 2 n (P - 1)
}

BOOST_AUTO_TEST_CASE(no_codec_with_blocks_sends_more_than_none) {
    for (const codec_ptr& how : codecs_with_blocks())
        for (const std::size_t units : {std::size_t{128}, std::size_t{412}, std::size_t{1}})
            for (std::uint32_t ranks = 2; ranks <= 64; ++ranks) {
                const auto shapes = network(units);
                const auto sum = choose_compressed_sum({.shapes = shapes, .codec = how}, ranks);
                BOOST_REQUIRE(sum.has_value());
                // Of threshold all numbers are counted, which cannot all be shared evenly.
                const std::uint64_t uneven = how->name() == "threshold" ? 4 * ranks : 0;
                BOOST_TEST(sum->bytes <= dense_bytes(shapes, ranks) + uneven,
                           how->name() << " with " << ranks << " ranks by " << sum->name());
                BOOST_TEST(sum->in_blocks == (sum->name() != "all-gather"));
            }
}

BOOST_AUTO_TEST_CASE(blocks_are_chosen_where_they_are_faster) {
    const auto chosen = [](const codec_ptr& how, std::uint32_t ranks,
                           const std::vector<tensor_shape>& shapes) {
        return choose_compressed_sum({.shapes = shapes, .codec = how}, ranks).value();
    };
    for (const codec_ptr& how : codecs_with_blocks()) {
        BOOST_TEST(!chosen(how, 2, network(412)).in_blocks); // as many bytes in two rounds
        // A second round takes longer; but threshold might send as much as three times all numbers.
        BOOST_TEST(chosen(how, 4, {{100, 100}}).in_blocks == (how->name() == "threshold"));
        for (const std::uint32_t ranks : {4u, 8u, 64u}) {
            const auto sum = chosen(how, ranks, network(412));
            BOOST_TEST(sum.name() == "blocks summed and encoded again by their owners");
            const codec_ptr sums = how->blocks()->of_sums() ? how->blocks()->of_sums() : how;
            std::uint64_t payloads = 0; // given, and of sums
            for (const tensor_shape& shape : network(412))
                payloads += how->payload_bytes(shape) + sums->payload_bytes(shape);
            // 2 n (P - 1) / P and what units and norms of their own add.
            const double even = static_cast<double>(payloads) * (ranks - 1) / ranks;
            BOOST_TEST(static_cast<double>(sum.bytes) >= even);
            BOOST_TEST(static_cast<double>(sum.bytes) <= 1.15 * even,
                       how->name() << ' ' << sum.bytes << " of " << even);
        }
    }
    // 64 replicas send 2.6 MB each where no codec sends 10.4.
    BOOST_TEST(chosen(codecs_with_blocks()[0], 64, network(412)).bytes < 2'700'000u);
}

// Averages are summed as they are, beside it.
BOOST_AUTO_TEST_CASE(averages_are_no_blocks) {
    const codec_ptr how = codecs_with_blocks()[0];
    const std::vector<tensor_shape> shapes{{700}, {1000, 1000}};
    const auto sum =
        choose_compressed_sum({.shapes = shapes, .averages = 1, .codec = how}, 8).value();
    BOOST_TEST(sum.in_blocks);
    BOOST_TEST(sum.gathered() == 1u);
    const auto blocks = block_layout::make(how, std::span{shapes}.subspan(1), 8);
    const auto algorithm = choose(proto::AllReduceAlgorithm::AUTO, 8, 700);
    BOOST_TEST(sum.bytes == blocks.bytes_sent_max() + 4 * elements_sent_max(algorithm, 8, 700));
}

BOOST_AUTO_TEST_SUITE_END()

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <limits>

#include "kernels/cpu/cpu_operations.hpp"
#include "kernels/reference/reference.hpp"
#include "tests/unit/kernels/backends.hpp"
#include "tests/unit/kernels/models.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

tensor empty(memory_pool& pool, const tensor_shape& shape) {
    return tensor::allocate(pool, data_type::float32, shape).value();
}

// Ones that dropout has let through.
tensor mask(operations& ops, memory_pool& pool, const tensor_shape& shape, const dropout_key& key,
            std::uint64_t first_row, float probability = 0.25f) {
    tensor ones = empty(pool, shape);
    BOOST_REQUIRE(ops.run(fill{ones, 1}).ok());
    BOOST_REQUIRE(ops.run(dropout{probability, key, first_row, ones, ones}).ok());
    return ones;
}

tensor lengths_of(memory_pool& pool, std::initializer_list<std::int32_t> lengths) {
    tensor t = tensor::allocate(pool, data_type::int32, {lengths.size()}).value();
    std::ranges::copy(lengths, t.mutable_values<std::int32_t>().begin());
    return t;
}

// Self attention with one head on queries, keys and values beside one another.
struct attention_results {
    tensor output, log_sums, gradient;
};

result<attention_results> attend(operations& ops, memory_pool& pool, const tensor& packed,
                                 bool causal, const tensor* lengths) {
    const auto& shape = packed.shape();
    const std::size_t width = shape[2] / 3;
    attention_results r{empty(pool, {shape[0], shape[1], width}),
                        empty(pool, {shape[0], 1, shape[1]}), empty(pool, shape)};
    const attention_settings settings{.heads = 1, .causal = causal};
    const columns q{packed, 0}, k{packed, width}, v{packed, 2 * width};
    if (auto done = ops.run(attention_forward{settings, q, k, v, lengths, r.output, r.log_sums});
        !done)
        return done.failure();
    const auto done = ops.run(attention_backward{settings,
                                                 q,
                                                 k,
                                                 v,
                                                 lengths,
                                                 r.output,
                                                 r.log_sums,
                                                 r.output,
                                                 {r.gradient, 0},
                                                 {r.gradient, width},
                                                 {r.gradient, 2 * width}});
    if (!done)
        return done.failure();
    return r;
}

} // namespace

BOOST_AUTO_TEST_SUITE(sequences)

BOOST_AUTO_TEST_CASE(a_mask_is_the_same_however_its_minibatch_is_cut_and_on_every_back_end) {
    operand_pool pool{1 << 24};
    const dropout_key key{.stream = ~0ull, .minibatch = 1ull << 40};
    const auto oracle = make_reference_operations();
    const tensor whole = mask(*oracle, pool, {11, 3, 37}, key, 0);
    for (const auto& backend : backends()) {
        const auto ops = backend.make(pool);
        BOOST_TEST(bit_equal(mask(*ops, pool, {11, 3, 37}, key, 0), whole), backend.name);
        for (std::size_t first = 0; first < 11; first += 2) {
            const std::size_t rows = std::min<std::size_t>(2, 11 - first);
            BOOST_TEST(
                bit_equal(mask(*ops, pool, {rows, 3, 37}, key, first), whole.rows(first, rows)),
                backend.name << " from row " << first);
        }
    }
}

BOOST_AUTO_TEST_CASE(masks_differ_by_stream_and_minibatch_and_drop_the_share_asked_for) {
    operand_pool pool{1 << 24};
    const auto ops = make_cpu_operations(pool);
    const tensor one = mask(*ops, pool, {100, 1000}, {1, 1}, 0);
    for (const dropout_key& key : {dropout_key{2, 1}, dropout_key{1ull << 32 | 1, 1},
                                   dropout_key{1, 2}, dropout_key{1, 1ull << 32 | 1}}) {
        const tensor other = mask(*ops, pool, one.shape(), key, 0);
        double kept = 0, same = 0;
        for (std::size_t i = 0; i < one.elements(); ++i) {
            const float x = one.values<float>()[i], y = other.values<float>()[i];
            BOOST_REQUIRE((y == 0 || y == 1 / 0.75f));
            kept += y != 0;
            same += x == y;
        }
        // Expected 75000 and 62500; some seven standard deviations.
        BOOST_TEST(std::abs(kept - 75000) < 1000);
        BOOST_TEST(std::abs(same - 62500) < 1000);
    }
    BOOST_TEST(mask(*ops, pool, {4}, {}, 0, 0).values<float>()[3] == 1.f);
    tensor t = one;
    BOOST_TEST(!ops->run(dropout{1, {}, 0, t, t}).ok());
}

BOOST_AUTO_TEST_CASE(indices_that_the_table_has_no_row_for_are_refused_with_their_place) {
    operand_pool pool{1 << 20};
    const tensor table = random_tensor(pool, {10, 4}, 1);
    tensor output = empty(pool, {2, 3, 4}), to_table = empty(pool, {10, 4});
    for (const std::int32_t wrong : {-1, 10}) {
        const tensor indices = lengths_of(pool, {0, 1, 9, 3, wrong, 5}).reshaped({2, 3});
        for (const auto& backend : backends()) {
            const auto ops = backend.make(pool);
            const auto refused = ops->run(embedding_forward{indices, table, output});
            BOOST_REQUIRE(!refused);
            BOOST_TEST((refused.failure().code() == errc::data));
            BOOST_TEST(refused.failure().message() ==
                       "the index at position 1 of sample 1 of the batch is " +
                           std::to_string(wrong) + ", but the vocabulary has 10 entries");
            BOOST_TEST(!ops->run(embedding_backward{indices, output, to_table}).ok());
        }
    }
}

BOOST_AUTO_TEST_CASE(attention_takes_lengths_from_one_to_its_keys) {
    operand_pool pool{1 << 20};
    const auto ops = make_cpu_operations(pool);
    const tensor packed = random_tensor(pool, {2, 5, 12}, 1);
    for (const std::int32_t wrong : {0, 6}) {
        const tensor lengths = lengths_of(pool, {5, wrong});
        const auto refused = attend(*ops, pool, packed, false, &lengths);
        BOOST_REQUIRE(!refused);
        BOOST_TEST((refused.failure().code() == errc::data));
        BOOST_TEST(refused.failure().message() == "the length of sample 1 of the batch is " +
                                                      std::to_string(wrong) +
                                                      ", but samples have 1 to 5 positions");
    }
}

BOOST_AUTO_TEST_CASE(what_lies_behind_a_samples_length_does_not_matter) {
    operand_pool pool{1 << 24};
    const tensor lengths = lengths_of(pool, {300, 70});
    for (const auto& backend : backends())
        for (const bool causal : {false, true}) {
            const auto ops = backend.make(pool);
            tensor packed = random_tensor(pool, {2, 300, 24}, 1);
            const auto before = attend(*ops, pool, packed, causal, &lengths).value();
            const auto values = packed.mutable_values<float>();
            for (std::size_t position = 70; position < 300; ++position)
                for (std::size_t c = 8; c < 24; ++c)
                    values[(300 + position) * 24 + c] = std::numeric_limits<float>::quiet_NaN();
            const auto after = attend(*ops, pool, packed, causal, &lengths).value();
            BOOST_TEST(bit_equal(before.output, after.output), backend.name);
            BOOST_TEST(bit_equal(before.log_sums, after.log_sums), backend.name);
            BOOST_TEST(bit_equal(before.gradient, after.gradient), backend.name);
        }
}

BOOST_AUTO_TEST_CASE(a_causal_position_does_not_depend_on_later_ones) {
    operand_pool pool{1 << 24};
    for (const auto& backend : backends()) {
        const auto ops = backend.make(pool);
        tensor packed = random_tensor(pool, {1, 300, 24}, 1);
        const auto before = attend(*ops, pool, packed, true, nullptr).value();
        for (float& x : packed.mutable_values<float>().subspan(130 * 24))
            x = 5;
        const auto after = attend(*ops, pool, packed, true, nullptr).value();
        const auto rows = [](const tensor& output, std::size_t first, std::size_t count) {
            return output.reshaped({300, 8}).rows(first, count);
        };
        BOOST_TEST(bit_equal(rows(before.output, 0, 130), rows(after.output, 0, 130)),
                   backend.name);
        BOOST_TEST(!bit_equal(rows(before.output, 130, 1), rows(after.output, 130, 1)));
    }
}

BOOST_AUTO_TEST_CASE(attention_is_exact_where_scores_are_large_and_grow_from_block_to_block) {
    operand_pool pool{1 << 26};
    const auto ops = make_cpu_operations(pool);
    const auto oracle = make_reference_operations();
    tensor packed = random_tensor(pool, {1, 600, 24}, 1);
    const auto values = packed.mutable_values<float>();
    for (std::size_t i = 0; i < values.size(); ++i)
        if (i % 24 < 16) // scores up to some hundred, the largest behind
            values[i] *= 12 * static_cast<float>(i) / static_cast<float>(values.size());
    const auto given = attend(*ops, pool, packed, false, nullptr).value();
    const auto expected = attend(*oracle, pool, packed, false, nullptr).value();
    for (std::size_t i = 0; i < given.output.elements(); ++i)
        BOOST_REQUIRE_SMALL(given.output.values<float>()[i] - expected.output.values<float>()[i],
                            1e-4f);
    for (std::size_t i = 0; i < 600; ++i)
        BOOST_REQUIRE_CLOSE(given.log_sums.values<float>()[i], expected.log_sums.values<float>()[i],
                            1e-3f);
}

BOOST_AUTO_TEST_CASE(attention_needs_no_memory_of_the_size_of_its_scores) {
    operand_pool pool{1 << 24};
    memory_pool little{1 << 18};
    const auto ops = make_cpu_operations(little);
    const tensor packed = random_tensor(pool, {1, 2000, 24}, 1); // 16 MB of scores
    BOOST_TEST(attend(*ops, pool, packed, false, nullptr).ok());
    BOOST_TEST(little.statistics().bytes_in_use == 0u);
    memory_pool none{1 << 10};
    const auto starved = make_cpu_operations(none);
    const auto refused = attend(*starved, pool, packed, false, nullptr);
    BOOST_REQUIRE(!refused);
    BOOST_TEST((refused.failure().code() == errc::exhausted));
}

BOOST_AUTO_TEST_CASE(heads_that_do_not_divide_the_width_are_refused) {
    operand_pool pool{1 << 20};
    const auto ops = make_cpu_operations(pool);
    const tensor packed = random_tensor(pool, {1, 2, 12}, 1);
    tensor output = empty(pool, {1, 2, 4}), log_sums = empty(pool, {1, 3, 2});
    const auto refused = ops->run(attention_forward{
        {.heads = 3}, {packed, 0}, {packed, 4}, {packed, 8}, nullptr, output, log_sums});
    BOOST_REQUIRE(!refused);
    BOOST_TEST(refused.failure().message() ==
               "attention_forward: the heads do not divide the width");
    tensor one = empty(pool, {1, 1, 2});
    BOOST_TEST(!ops->run(attention_forward{
                             {}, {packed, 0}, {packed, 4}, {packed, 9}, nullptr, output, one})
                    .ok());
}

BOOST_AUTO_TEST_CASE(parts_that_are_not_the_whole_are_refused) {
    operand_pool pool{1 << 20};
    for (const auto& backend : backends()) {
        const auto ops = backend.make(pool);
        tensor whole = empty(pool, {2, 16, 3, 3});
        std::vector<tensor> parts{empty(pool, {2, 8, 3, 3}), empty(pool, {2, 7, 3, 3})};
        BOOST_TEST(!ops->run(concat{1, 1, parts, whole}).ok());
        parts[1] = empty(pool, {2, 8, 3, 3});
        BOOST_TEST(ops->run(concat{1, 8, parts, whole}).ok());
        BOOST_TEST(!ops->run(concat{1, 16, parts, whole}).ok());
        BOOST_TEST(!ops->run(concat{0, 1, parts, whole}).ok());
        BOOST_TEST(!ops->run(concat{4, 1, parts, whole}).ok());
        BOOST_TEST(!ops->run(split{1, 1, whole, {}}).ok());
        BOOST_TEST(ops->run(split{1, 1, whole, parts}).ok());
    }
}

BOOST_AUTO_TEST_SUITE_END()

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <cstring>

#include "kernels/cpu/additive_loops.hpp"
#include "tests/unit/kernels/backends.hpp"
#include "tests/unit/kernels/models.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

// What one table of loops makes of the same numbers.
std::vector<float> everything(const cpu::additive_loops& loops) {
    constexpr std::size_t samples = 3, source = 21, width = 37, attention = 19;
    random_stream random{1};
    const auto numbers = [&](std::size_t count) {
        std::vector<float> x(count);
        for (float& value : x)
            value = static_cast<float>(random.normal());
        return x;
    };
    const auto values = numbers(samples * source * width),
               projected = numbers(samples * source * attention), score_weight = numbers(attention),
               query = numbers(samples * attention), to_context = numbers(samples * width);
    const std::int32_t lengths[] = {1, 21, 18};
    const cpu::additive_memory memory{
        samples,       source,           width,   attention,
        values.data(), projected.data(), lengths, score_weight.data()};
    auto shares = numbers(samples * source), context = numbers(samples * width),
         scratch = numbers(source), to_query = numbers(samples * attention),
         to_projected = numbers(projected.size()), to_score_weight = numbers(attention);
    loops.forward(memory, {{query.data(), attention},
                           {shares.data(), source},
                           {context.data(), width},
                           scratch.data()});
    loops.backward(memory, {{query.data(), attention},
                            {shares.data(), source},
                            {to_context.data(), width},
                            {to_query.data(), attention},
                            to_projected.data(),
                            to_score_weight.data(),
                            scratch.data()});
    std::vector<float> all;
    for (const auto* part : {&shares, &context, &to_query, &to_projected, &to_score_weight})
        all.insert(all.end(), part->begin(), part->end());
    return all;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

struct attention {
    tensor state, values, projected, query_weight, score_weight, lengths, context, shares;

    explicit attention(memory_pool& pool)
        : state{random_tensor(pool, {2, 3}, 1)}, values{random_tensor(pool, {2, 5, 4}, 2)},
          projected{random_tensor(pool, {2, 5, 6}, 3)},
          query_weight{random_tensor(pool, {6, 3}, 4)}, score_weight{random_tensor(pool, {6}, 5)},
          lengths{tensor::allocate(pool, data_type::int32, {2}).value()},
          context{random_tensor(pool, {2, 4}, 6)}, shares{random_tensor(pool, {2, 5}, 7)} {}

    result<void> run(operations& ops, std::int32_t first, std::int32_t second) {
        lengths.mutable_values<std::int32_t>()[0] = first;
        lengths.mutable_values<std::int32_t>()[1] = second;
        return ops.run(additive_attention_forward{.state = state,
                                                  .memory = {values, projected, &lengths},
                                                  .parameters = {query_weight, score_weight},
                                                  .context = context,
                                                  .shares = shares});
    }
};

} // namespace

BOOST_AUTO_TEST_SUITE(additive_attention)

#if defined(__x86_64__)
BOOST_AUTO_TEST_CASE(every_instruction_set_gives_the_same_bits) {
    const auto expected = everything(cpu::additive_loops_baseline);
    if (__builtin_cpu_supports("avx2"))
        BOOST_TEST(same_bits(everything(cpu::additive_loops_avx2), expected));
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
        BOOST_TEST(same_bits(everything(cpu::additive_loops_avx512), expected));
}
#endif

BOOST_AUTO_TEST_CASE(what_lies_behind_the_length_does_not_matter) {
    operand_pool pool{1 << 20};
    for (const auto& backend : backends()) {
        const auto ops = backend.make(pool);
        attention a{pool};
        BOOST_REQUIRE(a.run(*ops, 1, 3));
        for (std::size_t i = 0; i < 4; ++i) // one position only
            BOOST_TEST(a.context.values<float>()[i] == a.values.values<float>()[i]);
        BOOST_TEST(a.shares.values<float>()[0] == 1.f);
        BOOST_TEST(a.shares.values<float>()[5 + 3] == 0.f);
        const std::vector<float> before(a.context.values<float>().begin(),
                                        a.context.values<float>().end());
        a.values.mutable_values<float>()[(5 + 3) * 4] = NAN;
        a.projected.mutable_values<float>()[(5 + 3) * 6] = NAN;
        BOOST_REQUIRE(a.run(*ops, 1, 3));
        BOOST_TEST(std::ranges::equal(before, a.context.values<float>()));
    }
}

BOOST_AUTO_TEST_CASE(a_length_that_the_memory_does_not_have_is_named_with_its_sample) {
    operand_pool pool{1 << 20};
    for (const auto& backend : backends()) {
        const auto ops = backend.make(pool);
        attention a{pool};
        const auto refused = a.run(*ops, 5, 6);
        BOOST_REQUIRE(!refused);
        BOOST_TEST((refused.failure().code() == errc::data));
        BOOST_TEST(refused.failure().message() ==
                   "the length of sample 1 of the batch is 6, but its memory has 5 positions; "
                   "lengths begin with 1");
        BOOST_TEST(!a.run(*ops, 0, 1));
    }
}

BOOST_AUTO_TEST_SUITE_END()

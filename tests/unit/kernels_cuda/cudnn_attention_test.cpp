// With an emulated cuDNN in reach: attention in bfloat16 that it takes goes through it, all else by the kernels. That what
// it gives is right is for the table of cases.
#include <boost/test/unit_test.hpp>

#include <cstring>

#include "tests/unit/kernels_cuda/cudnn_runs.hpp"
#include "tests/unit/kernels_cuda/emulated_convolutions.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

struct attention {
    std::size_t samples, queries, keys, width, heads = 1;
    bool causal = false;
    std::vector<std::int32_t> lengths = {};
    precision products = precision::bfloat16;
};

// Forward and back: the output, the sums' logarithms and the gradients, or what failed.
template <class Run>
result<std::vector<tensor>> results_of(emulated_gpu& gpu, const attention& a, const Run& run) {
    memory_pool& pool = gpu.pool();
    const auto made = [&](const tensor_shape& of) {
        return tensor::allocate(pool, data_type::float32, of).value();
    };
    const tensor q = random_tensor(pool, {a.samples, a.queries, a.width}, 1),
                 k = random_tensor(pool, {a.samples, a.keys, a.width}, 2),
                 v = random_tensor(pool, k.shape(), 3), g = random_tensor(pool, q.shape(), 4);
    tensor lengths;
    if (!a.lengths.empty()) {
        lengths = tensor::allocate(gpu.device_pool(), data_type::int32, {a.samples}).value();
        std::memcpy(lengths.mutable_data(), a.lengths.data(), lengths.bytes());
    }
    const tensor* const known = a.lengths.empty() ? nullptr : &lengths;
    const attention_settings settings{.heads = a.heads, .causal = a.causal};
    tensor output = made(q.shape()), log_sums = made({a.samples, a.heads, a.queries}),
           to_q = made(q.shape()), to_k = made(k.shape()), to_v = made(k.shape());
    if (auto done =
            run(attention_forward{settings, {q}, {k}, {v}, known, output, log_sums, a.products});
        !done)
        return done.failure();
    if (auto done = run(attention_backward{settings,
                                           {q},
                                           {k},
                                           {v},
                                           known,
                                           output,
                                           log_sums,
                                           g,
                                           {to_q},
                                           {to_k},
                                           {to_v},
                                           a.products});
        !done)
        return done.failure();
    return std::vector{output, log_sums, to_q, to_k, to_v};
}

// How many of forward and back went through cuDNN.
unsigned done_by_cudnn(emulated_gpu& gpu, const attention& a) {
    const unsigned before = runs_of_cudnn();
    cuda_operations ops{gpu.run()};
    BOOST_TEST(results_of(gpu, a, [&](const auto& op) { return gpu.waited(ops.run(op)); }).ok());
    return runs_of_cudnn() - before;
}

} // namespace

BOOST_AUTO_TEST_SUITE(cudnn_attention)

BOOST_AUTO_TEST_CASE(attention_in_bfloat16_goes_through_cudnn) {
    emulated_gpu gpu;
    for (const bool causal : {false, true})
        for (const bool has_lengths : {false, true}) {
            attention a{.samples = 2, .queries = 9, .keys = 9, .width = 14, .heads = 2};
            a.causal = causal;
            if (has_lengths)
                a.lengths = {9, 4};
            BOOST_TEST(done_by_cudnn(gpu, a) == 2);
            BOOST_TEST(done_by_cudnn(gpu, a) == 2);
        }
    BOOST_TEST(done_by_cudnn(gpu, {.samples = 1, .queries = 3, .keys = 70, .width = 144}) == 2);
}

BOOST_AUTO_TEST_CASE(other_attention_goes_by_the_kernels) {
    emulated_gpu gpu;
    for (const precision products : {precision::float32, precision::tfloat32, precision::float16})
        BOOST_TEST(
            done_by_cudnn(
                gpu, {.samples = 2, .queries = 9, .keys = 9, .width = 16, .products = products}) ==
            0);
    // Nothing is offered; known only when it should run, twice; and one query.
    BOOST_TEST(done_by_cudnn(gpu, {.samples = 1, .queries = 9, .keys = 9, .width = 40}) == 0);
    const attention found_out_late{.samples = 1, .queries = 9, .keys = 5, .width = 16};
    BOOST_TEST(done_by_cudnn(gpu, found_out_late) == 0);
    BOOST_TEST(done_by_cudnn(gpu, found_out_late) == 0);
    BOOST_TEST(done_by_cudnn(gpu, {.samples = 1, .queries = 1, .keys = 9, .width = 16}) == 0);
}

BOOST_AUTO_TEST_CASE(a_length_that_no_sample_can_have_is_refused) {
    emulated_gpu gpu;
    cuda_operations ops{gpu.run()};
    const unsigned before = runs_of_cudnn();
    for (const std::int32_t bad : {0, 10, -1}) {
        const attention a{.samples = 2, .queries = 9, .keys = 9, .width = 16, .lengths = {9, bad}};
        const auto given =
            results_of(gpu, a, [&](const auto& op) { return gpu.waited(ops.run(op)); });
        BOOST_REQUIRE(!given.ok());
        BOOST_TEST((given.failure().code() == errc::data));
        const std::string& text = given.failure().message();
        BOOST_TEST(text.find(bad_key_length(1, bad, 9).message()) != text.npos, text);
    }
    BOOST_TEST(runs_of_cudnn() - before == 3);
}

BOOST_AUTO_TEST_CASE(a_plan_that_is_used_again_gives_the_same_bits) {
    emulated_gpu gpu;
    cuda_operations ops{gpu.run()};
    const unsigned before = runs_of_cudnn();
    std::vector<tensor> first;
    for (int pass = 0; pass < 4; ++pass) {
        const attention a{.samples = 2, .queries = 17, .keys = 17, .width = 16, .causal = true};
        const auto given =
            results_of(gpu, a, [&](const auto& op) { return gpu.waited(ops.run(op)); });
        BOOST_REQUIRE(given.ok());
        if (pass == 0)
            first = *given;
        for (std::size_t i = 0; i < first.size(); ++i)
            BOOST_TEST(bit_equal(first[i], (*given)[i]));
    }
    BOOST_TEST(runs_of_cudnn() - before == 8);
}

BOOST_AUTO_TEST_SUITE_END()

// Elements that lie in a GPU's memory, where no check of operands sees them: kernels find those that are out of range, go
// on without them, and the work fails with the words of the check.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <functional>

#include "kernels/cuda/cuda_operations.hpp"
#include "kernels/cuda/memory_sources.hpp"

using namespace troupe;

namespace {

// An emulated GPU. Its memory can be written here, though no operation knows.
class gpu {
    static cudaStream_t made_stream() {
        cudaStream_t made = nullptr;
        BOOST_REQUIRE(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking) == cudaSuccess);
        return made;
    }
    struct owned_stream {
        cudaStream_t stream = made_stream();
        ~owned_stream() { cudaStreamDestroy(stream); }
    };
    owned_stream stream_;
    memory_pool memory_{1 << 26, std::make_unique<cuda::stream_memory>(0, stream_.stream),
                        memory_kind::device};
    memory_pool host_{1 << 24};
    cuda::execution run_{stream_.stream, memory_, host_};
    cuda_operations ops_{run_};

  public:
    tensor floats(const tensor_shape& shape, float value = NAN) {
        tensor t = tensor::allocate(memory_, data_type::float32, shape).value();
        std::fill_n(reinterpret_cast<float*>(t.mutable_data()), t.elements(), value);
        return t;
    }
    tensor integers(const tensor_shape& shape, std::initializer_list<std::int32_t> values) {
        tensor t = tensor::allocate(memory_, data_type::int32, shape).value();
        BOOST_REQUIRE(t.elements() == values.size());
        std::ranges::copy(values, reinterpret_cast<std::int32_t*>(t.mutable_data()));
        return t;
    }

    // What goes wrong, now or at the end of the work; "" where nothing does.
    template <class Operation>
    std::string failure_of(const Operation& op) {
        auto done = ops_.run(op);
        auto waited = run_.wait();
        if (done)
            done = waited;
        BOOST_TEST((done || done.failure().code() == errc::data));
        return done ? "" : done.failure().message();
    }
};

float at(const tensor& t, std::size_t i) {
    return reinterpret_cast<const float*>(t.data())[i];
}

} // namespace

BOOST_AUTO_TEST_SUITE(bad_elements)

BOOST_AUTO_TEST_CASE(the_first_label_that_is_no_class_is_named_and_no_row_with_one_counts) {
    gpu on;
    const tensor logits = on.floats({2, 3, 4}, 0.5f);
    tensor gradient = on.floats({2, 3, 4});
    softmax_cross_entropy_sums sums;
    const auto run = [&](std::initializer_list<std::int32_t> labels) {
        const tensor given = on.integers({2, 3}, labels);
        return on.failure_of(softmax_cross_entropy{.logits = logits,
                                                   .labels = given,
                                                   .scale = 1,
                                                   .gradient = &gradient,
                                                   .sums = sums,
                                                   .ignored_label = -100});
    };
    BOOST_TEST(run({0, 3, -100, 1, 2, 0}) == "");
    BOOST_TEST(sums.counted == 5u);
    BOOST_TEST(run({0, 3, -100, 1, 4, -2147483647}) ==
               "the label of sample 1, position 1 of the batch is 4, but the model has 4 outputs");
    BOOST_TEST(sums.counted == 3u);
    BOOST_TEST(at(gradient, 4 * 4) == 0.f);
    BOOST_TEST(at(gradient, 0) == -0.75f);
    BOOST_TEST(run({-1, 3, 0, 1, 4, 0}) ==
               "the label of sample 0, position 0 of the batch is -1, but the model has 4 outputs");
}

BOOST_AUTO_TEST_CASE(the_first_index_without_a_row_is_named_and_the_others_are_embedded) {
    gpu on;
    const tensor table = on.floats({3, 2}, 0.5f);
    const tensor indices = on.integers({2, 4}, {2, 0, 1, 2, 0, 3, -1, 0});
    const std::string words =
        "the index at position 1 of sample 1 of the batch is 3, but the vocabulary has 3 entries";
    tensor output = on.floats({2, 4, 2}, 7);
    BOOST_TEST(on.failure_of(embedding_forward{indices, table, output}) == words);
    BOOST_TEST(at(output, 4 * 2) == 0.5f);
    tensor gradient = on.floats({3, 2});
    BOOST_TEST(on.failure_of(embedding_backward{indices, output, gradient}) == words);
    BOOST_TEST(at(gradient, 0) == 1.5f); // indices 1, 4 and 7
    BOOST_TEST(at(gradient, 2) == 0.5f);
    BOOST_TEST(at(gradient, 4) == 1.f);
    tensor nothing = on.floats({0, 2});
    BOOST_TEST(on.failure_of(embedding_backward{indices, output, nothing}).ends_with("0 entries"));
}

BOOST_AUTO_TEST_CASE(the_first_length_that_a_memory_does_not_have_is_named) {
    gpu on;
    const tensor state = on.floats({3, 2}, 0.5f), values = on.floats({3, 5, 4}, 0.5f);
    const tensor projected = on.floats({3, 5, 6}, 0.5f), query_weight = on.floats({6, 2}, 0.5f);
    const tensor score_weight = on.floats({6}, 0.5f);
    tensor context = on.floats({3, 4}), shares = on.floats({3, 5});
    const auto run = [&](std::initializer_list<std::int32_t> lengths) {
        const tensor given = on.integers({3}, lengths);
        return on.failure_of(additive_attention_forward{.state = state,
                                                        .memory = {values, projected, &given},
                                                        .parameters = {query_weight, score_weight},
                                                        .context = context,
                                                        .shares = shares});
    };
    BOOST_TEST(run({5, 1, 2}) == "");
    BOOST_TEST(at(shares, 5) == 1.f);
    BOOST_TEST(at(shares, 6) == 0.f);
    BOOST_TEST(run({5, 0, 6}) == "the length of sample 1 of the batch is 0, but its memory has 5 "
                                 "positions; lengths begin with 1");
    BOOST_TEST(run({5, 1, 6}) == "the length of sample 2 of the batch is 6, but its memory has 5 "
                                 "positions; lengths begin with 1");
}

BOOST_AUTO_TEST_CASE(a_length_that_no_sample_has_is_named_and_others_attend) {
    gpu on;
    const tensor queries = on.floats({3, 2, 4}, 0.5f);
    const tensor keys = on.floats({3, 5, 4}, 0.25f);
    tensor output = on.floats({3, 2, 4}), log_sums = on.floats({3, 1, 2});
    tensor to_queries = on.floats({3, 2, 4});
    tensor to_keys = on.floats({3, 5, 4}), to_values = on.floats({3, 5, 4});
    const auto forward = [&](std::initializer_list<std::int32_t> lengths) {
        const tensor given = on.integers({3}, lengths);
        return on.failure_of(
            attention_forward{{}, {queries}, {keys}, {keys}, &given, output, log_sums});
    };
    const auto backward = [&](std::initializer_list<std::int32_t> lengths) {
        const tensor given = on.integers({3}, lengths);
        return on.failure_of(attention_backward{{},
                                                {queries},
                                                {keys},
                                                {keys},
                                                &given,
                                                output,
                                                log_sums,
                                                queries,
                                                {to_queries},
                                                {to_keys},
                                                {to_values}});
    };
    BOOST_TEST(forward({5, 1, 3}) == "");
    BOOST_TEST(backward({5, 1, 3}) == "");
    BOOST_TEST(at(to_values, 4 * (5 + 0)) == 1.f); // sample 1 has one key, which both queries get
    BOOST_TEST(at(to_values, 4 * (5 + 1)) == 0.f);
    for (const auto& run : {std::function{forward}, std::function{backward}}) {
        BOOST_TEST(run({5, 6, 0}) ==
                   "the length of sample 1 of the batch is 6, but samples have 1 to 5 positions");
        BOOST_TEST(run({5, 5, 0}) ==
                   "the length of sample 2 of the batch is 0, but samples have 1 to 5 positions");
    }
    BOOST_TEST(std::abs(at(output, 0) - 0.25f) < 1e-6f);
}

BOOST_AUTO_TEST_SUITE_END()

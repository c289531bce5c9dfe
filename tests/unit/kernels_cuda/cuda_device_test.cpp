// The CUDA device, on the emulated GPU.
#include <boost/test/unit_test.hpp>

#include <cuda_runtime.h>

#include <future>
#include <vector>

#include "kernels/cuda/cuda_device.hpp"
#include "kernels/ops/ops.hpp"

using namespace troupe;

namespace {

const monotonic_time time_of_tests;

std::unique_ptr<device> made(std::uint64_t bytes = 64u << 20) {
    return make_cuda_device({.memory_bytes_max = bytes, .host_bytes_max = 64u << 20}, time_of_tests)
        .value();
}

tensor host_tensor(memory_pool& pool, std::vector<float> values) {
    tensor t = tensor::allocate(pool, data_type::float32, {values.size()}).value();
    std::ranges::copy(values, t.mutable_values<float>().begin());
    return t;
}

// Waits for the outcome of the work.
result<void> outcome_of(device& d, device_work work) {
    const auto done =
        std::make_shared<std::promise<result<void>>>(); // the device may still be leaving it
    d.submit({.work = std::move(work), .done = [done](result<void> outcome, duration) {
                  done->set_value(std::move(outcome));
              }});
    return done->get_future().get();
}

} // namespace

BOOST_AUTO_TEST_SUITE(cuda_devices)

BOOST_AUTO_TEST_CASE(completions_come_in_the_order_of_the_work_when_its_results_are_there) {
    memory_pool pool{1 << 20};
    std::vector<int> order; // written by one thread of the device
    std::vector<tensor> results(40);
    {
        const auto gpu = made();
        BOOST_TEST(gpu->name() == "cuda:0");
        BOOST_TEST((gpu->memory().kind() == memory_kind::device));
        const tensor two = host_tensor(pool, {2, 3});
        for (int i = 0; i < 40; ++i)
            gpu->submit(
                {[&, i](compute_context& context) -> result<void> {
                     const auto x = copied_to_device(context, two);
                     if (!x)
                         return x.failure();
                     auto y = tensor::allocate(context.memory, data_type::float32, {2});
                     if (!y)
                         return y.failure();
                     if (auto done = context.ops.run(scale{*x, static_cast<float>(i), *y}); !done)
                         return done;
                     auto out = taken_out(context, *y);
                     if (!out)
                         return out.failure();
                     results[static_cast<std::size_t>(i)] = *out;
                     return {};
                 },
                 [&, i](result<void> outcome, duration busy) {
                     BOOST_TEST(outcome.ok());
                     BOOST_TEST(busy.count() >= 0);
                     order.push_back(i);
                     const auto given = results[static_cast<std::size_t>(i)].values<float>();
                     BOOST_TEST(given[1] == 3 * static_cast<float>(i));
                 }});
        // Destruction finishes what was submitted; what came of it is let go of before.
        drain(*gpu);
        results.clear();
    }
    BOOST_REQUIRE(order.size() == 40u);
    BOOST_TEST(std::ranges::is_sorted(order));
}

BOOST_AUTO_TEST_CASE(what_the_work_holds_is_free_when_its_completion_is_called) {
    memory_pool pool{1 << 20};
    const auto gpu = made();
    tensor x = host_tensor(pool, {1, 2, 3});
    std::promise<bool> alone;
    gpu->submit({[x](compute_context& context) -> result<void> {
                     const auto there = copied_to_device(context, x);
                     return there ? result<void>{} : there.failure();
                 },
                 [&](result<void>, duration) { alone.set_value(x.unique()); }});
    BOOST_TEST(alone.get_future().get());
    BOOST_TEST(gpu->memory().statistics().bytes_in_use == 0u);
}

BOOST_AUTO_TEST_CASE(memory_past_the_bound_is_an_error_and_later_work_still_runs) {
    const auto gpu = made(1 << 20);
    const auto refused = outcome_of(*gpu, [](compute_context& context) -> result<void> {
        auto t = tensor::allocate(context.memory, data_type::float32, {1 << 20});
        return t ? result<void>{} : t.failure();
    });
    BOOST_REQUIRE(!refused.ok());
    BOOST_TEST((refused.failure().code() == errc::exhausted));
    BOOST_TEST(outcome_of(*gpu, [](compute_context& context) -> result<void> {
                   auto t = tensor::allocate(context.memory, data_type::float32, {1 << 10});
                   return t ? context.ops.run(fill{*t, 1}) : t.failure();
               }).ok());
}

BOOST_AUTO_TEST_CASE(what_leaves_the_device_for_too_little_memory_of_the_host_says_what_to_do) {
    const auto gpu =
        make_cuda_device({.memory_bytes_max = 64u << 20, .host_bytes_max = 1u << 16}, time_of_tests)
            .value();
    const auto refused = outcome_of(*gpu, [](compute_context& context) -> result<void> {
        auto t = tensor::allocate(context.memory, data_type::float32, {1 << 20});
        const auto out = taken_out(context, *t);
        return out ? result<void>{} : out.failure();
    });
    BOOST_REQUIRE(!refused.ok());
    BOOST_TEST((refused.failure().code() == errc::exhausted));
    BOOST_TEST(refused.failure().message().ends_with("; give the node more by --memory-mb"));
}

BOOST_AUTO_TEST_CASE(elements_in_the_memory_of_the_device_come_back_as_they_went) {
    memory_pool pool{1 << 20};
    const auto gpu = made();
    const tensor x = host_tensor(pool, {1, -2, 0.5f});
    std::vector<tensor> there{x, tensor{}};
    BOOST_TEST(outcome_of(*gpu, [&](compute_context& context) {
                   return copy_to_device(context, there);
               }).ok());
    BOOST_TEST(!there[0].is_host());
    BOOST_TEST(!there[1]); // none stays none
    std::vector<tensor> back = there;
    BOOST_TEST(outcome_of(*gpu, [&](compute_context& context) {
                   return copy_to_host(context, back);
               }).ok());
    BOOST_TEST(std::ranges::equal(back[0].values<float>(), x.values<float>()));
    BOOST_TEST(outcome_of(*gpu, [&](compute_context& context) -> result<void> {
                   const auto same = copied_to_device(context, there[0]);
                   BOOST_TEST(same->data() == there[0].data());
                   return {};
               }).ok());
}

BOOST_AUTO_TEST_CASE(work_may_read_what_it_has_made_and_go_on_with_it) {
    memory_pool pool{1 << 20};
    const auto gpu = made();
    const tensor x = host_tensor(pool, {1, 2, 3});
    double squares = 0;
    tensor y;
    const auto done = outcome_of(*gpu, [&](compute_context& context) -> result<void> {
        const auto there = copied_to_device(context, x);
        auto sum = tensor::allocate(context.memory, data_type::float32, {3});
        if (auto added = context.ops.run(scale{*there, 2, *sum}); !added)
            return added;
        if (auto read = context.ops.run(sum_of_squares{*sum, squares}); !read)
            return read;
        if (auto made = context.ops.run(scale{*there, static_cast<float>(squares), *sum}); !made)
            return made;
        auto out = taken_out(context, *sum);
        y = *out;
        return {};
    });
    BOOST_TEST(done.ok());
    BOOST_TEST(squares == 4 + 16 + 36);
    BOOST_TEST(y.values<float>()[2] == 56 * 3);
}

BOOST_AUTO_TEST_CASE(work_that_fails_says_why_and_the_next_is_done) {
    const auto gpu = made();
    const auto scaled = [&](std::size_t elements) {
        return outcome_of(*gpu, [elements](compute_context& context) -> result<void> {
            auto x = tensor::allocate(context.memory, data_type::float32, {2});
            auto y = tensor::allocate(context.memory, data_type::float32, {elements});
            if (auto filled = context.ops.run(fill{*x, 1}); !filled)
                return filled;
            return context.ops.run(scale{*x, 2, *y});
        });
    };
    const auto refused = scaled(1);
    BOOST_REQUIRE(!refused.ok());
    BOOST_TEST((refused.failure().code() == errc::usage));
    BOOST_TEST(scaled(2).ok());
    BOOST_TEST(!gpu->lost());
}

// Who gets it next is behind in the stream.
BOOST_AUTO_TEST_CASE(work_may_let_go_of_memory_and_fill_the_pool) {
    const auto gpu = made(2u << 20);
    const auto work = [&](compute_context& context) -> result<void> {
        tensor total = tensor::allocate(context.memory, data_type::float32, {1}).value();
        if (auto begun = context.ops.run(fill{total, 0}); !begun)
            return begun;
        for (std::size_t i = 1; i <= 12; ++i) { // of sizes that do not fit beside one another
            auto part = tensor::allocate(context.memory, data_type::float32, {i * 20'000});
            if (!part)
                return part.failure();
            if (auto filled = context.ops.run(fill{*part, static_cast<float>(i)}); !filled)
                return filled;
            const tensor first{data_type::float32, {1}, part->storage()};
            if (auto added = context.ops.run(add_scaled{total, 1, first, total}); !added)
                return added;
        }
        const auto out = taken_out(context, total);
        if (auto there = context.ops.wait(); !there)
            return there;
        BOOST_TEST(out->values<float>()[0] == 78);
        return {};
    };
    for (int i = 0; i < 3; ++i)
        BOOST_TEST(outcome_of(*gpu, work).ok());
}

BOOST_AUTO_TEST_CASE(a_bad_element_explains_what_came_of_it) {
    memory_pool pool{1 << 20};
    tensor labels = tensor::allocate(pool, data_type::int32, {1}).value();
    labels.mutable_values<std::int32_t>()[0] = 7; // of three
    const auto gpu = made(1u << 20);
    for (int i = 0; i < 3; ++i) {
        const auto refused = outcome_of(*gpu, [&](compute_context& context) -> result<void> {
            const auto there = copied_to_device(context, labels);
            tensor table = tensor::allocate(context.memory, data_type::float32, {3, 4}).value();
            tensor rows = tensor::allocate(context.memory, data_type::float32, {1, 4}).value();
            if (auto looked = context.ops.run(embedding_forward{*there, table, rows}); !looked)
                return looked;
            return error{errc::usage, "the loss is not finite"};
        });
        BOOST_REQUIRE(!refused.ok());
        BOOST_TEST((refused.failure().code() == errc::data), refused.failure().message());
    }
}

BOOST_AUTO_TEST_CASE(a_gpu_that_fails_is_lost_and_says_why) {
    const auto gpu = made();
    BOOST_TEST(!gpu->lost());
    emulated::fail_events(true);
    const auto outcome = outcome_of(*gpu, [](compute_context&) { return result<void>{}; });
    emulated::fail_events(false);
    BOOST_REQUIRE(!outcome.ok());
    BOOST_TEST((outcome.failure().code() == errc::lost));
    BOOST_TEST(outcome.failure().message().starts_with("cuda:0 has failed: "));
    BOOST_TEST(outcome.failure().message().find("cudaErrorIllegalAddress") != std::string::npos);
    BOOST_REQUIRE(gpu->lost().has_value());
    BOOST_TEST(gpu->lost()->message() == outcome.failure().message());
}

BOOST_AUTO_TEST_CASE(a_gpu_that_is_not_there_is_refused) {
    const auto refused = make_cuda_device({.index = 7}, time_of_tests);
    BOOST_REQUIRE(!refused.ok());
    BOOST_TEST(refused.failure().message() == "this machine has no GPU 7; it has 2");
}

BOOST_AUTO_TEST_SUITE_END()

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/tensor/buffer_memory.hpp"
#include "kernels/tensor/tensor.hpp"

using namespace troupe;

BOOST_AUTO_TEST_SUITE(tensor_and_memory)

BOOST_AUTO_TEST_CASE(a_buffer_returns_to_the_pool_with_its_last_holder) {
    memory_pool pool{1 << 20};
    {
        buffer_ref first = pool.allocate(1000).value();
        buffer_ref second = first;
        BOOST_TEST(!first.unique());
        second = {};
        BOOST_TEST(first.unique());
        BOOST_TEST(pool.statistics().bytes_in_use >= 1000u);
    }
    BOOST_TEST(pool.statistics().bytes_in_use == 0u);
    BOOST_TEST(pool.statistics().bytes_reserved > 0u);
}

BOOST_AUTO_TEST_CASE(a_returned_buffer_is_given_out_again_without_asking_the_system) {
    memory_pool pool{1 << 20};
    for (int step = 0; step < 100; ++step) {
        buffer_ref a = pool.allocate(3000).value();
        buffer_ref b = pool.allocate(70000).value();
    }
    BOOST_TEST(pool.statistics().system_allocations_total == 2u);
    BOOST_TEST(pool.statistics().allocations_total == 200u);
}

#if !defined(__SANITIZE_ADDRESS__) // there a pool keeps nothing
BOOST_AUTO_TEST_CASE(large_buffers_are_kept_once_eight_of_their_size_have_ever_been_asked_for) {
    memory_pool pool{64 << 20};
    for (int step = 0; step < 7; ++step) {
        BOOST_TEST(pool.allocate(3 << 20).ok());
        BOOST_TEST(pool.statistics().bytes_reserved == 0u);
    }
    for (int step = 0; step < 100; ++step)
        BOOST_TEST(pool.allocate(3 << 20).ok());
    BOOST_TEST(pool.statistics().bytes_reserved >= 3u << 20);
    BOOST_TEST(pool.statistics().system_allocations_total == 8u);
}

BOOST_AUTO_TEST_CASE(large_buffers_of_another_source_are_kept_at_once) {
    class other_memory final : public memory_source {
      public:
        std::byte* take(std::size_t bytes) override { return new (std::nothrow) std::byte[bytes]; }
        void give_back(std::byte* memory, std::size_t) override { delete[] memory; }
    };
    memory_pool pool{64 << 20, std::make_unique<other_memory>(), memory_kind::host};
    for (int step = 0; step < 3; ++step)
        BOOST_TEST(pool.allocate(3 << 20).ok());
    BOOST_TEST(pool.statistics().system_allocations_total == 1u);
}
#endif

BOOST_AUTO_TEST_CASE(the_pool_refuses_what_exceeds_its_bound_and_says_so) {
    memory_pool pool{1 << 20};
    buffer_ref kept = pool.allocate(600000).value();
    auto refused = pool.allocate(600000);
    BOOST_REQUIRE(!refused);
    BOOST_TEST((refused.failure().code() == errc::exhausted));
    BOOST_TEST(refused.failure().message().find("600000 bytes wanted") != std::string::npos);
    BOOST_TEST(!pool.allocate(~std::size_t{0}).ok());
}

BOOST_AUTO_TEST_CASE(kept_buffers_make_room_for_other_sizes) {
    memory_pool pool{1 << 20};
    for (std::size_t bytes : {700000u, 900000u, 1000u, 800000u}) {
        BOOST_TEST(pool.allocate(bytes).ok());
        BOOST_TEST(pool.statistics().bytes_reserved <= pool.bytes_max());
    }
}

BOOST_AUTO_TEST_CASE(the_pool_says_which_sizes_an_empty_one_could_give) {
    // One byte more than a power of two is rounded up by a quarter of it, which passes this bound.
    const std::size_t power = 1 << 20;
    memory_pool pool{power + 1};
    BOOST_TEST(pool.can_ever_hold(0));
    BOOST_TEST(pool.can_ever_hold(power));
    BOOST_TEST(!pool.can_ever_hold(power + 1));
    BOOST_TEST(!pool.can_ever_hold(~std::size_t{0}));
    BOOST_TEST(pool.allocate(power).ok());
    BOOST_TEST(!pool.allocate(power + 1).ok());
    BOOST_TEST(!memory_pool{255}.can_ever_hold(1)); // the smallest class is 256 bytes

    buffer_ref kept = pool.allocate(power).value();
    BOOST_TEST(pool.can_ever_hold(power));
}

BOOST_AUTO_TEST_CASE(a_buffer_begins_at_a_multiple_of_64_bytes_and_a_large_one_at_a_huge_page) {
    memory_pool pool{16 << 20};
    const std::size_t huge_page = 2 << 20;
    for (const std::size_t bytes : {std::size_t{1}, std::size_t{5000}, huge_page, huge_page + 1}) {
        std::vector<buffer_ref> several;
        for (int i = 0; i < 3; ++i)
            several.push_back(pool.allocate(bytes).value());
        for (const buffer_ref& b : several) {
            const auto address = reinterpret_cast<std::uintptr_t>(b->data());
            BOOST_TEST(address % (bytes < huge_page ? 64 : huge_page) == 0u);
        }
    }
}

BOOST_AUTO_TEST_CASE(memory_that_goes_back_leaves_its_neighbours_as_they_are) {
    constexpr std::size_t bytes = (96u << 10) + 64; // no buffer begins and ends at a page
    buffer_memory memory;
    std::vector<std::byte*> kept, others; // of more than one region
    for (std::size_t i = 0; i < 1000; ++i) {
        std::byte* const one = memory.take(bytes);
        BOOST_TEST_REQUIRE(one != nullptr);
        std::fill_n(one, bytes, static_cast<std::byte>(1 + i % 255)); // pages that go are zeros
        (i % 3 == 0 ? kept : others).push_back(one);
    }
    for (std::byte* const one : others)
        memory.give_back(one, bytes);
    for (std::size_t i = 0; i < kept.size(); ++i) {
        const auto is_as_written = [&](std::byte b) {
            return b == static_cast<std::byte>(1 + 3 * i % 255);
        };
        BOOST_TEST(std::all_of(kept[i], kept[i] + bytes, is_as_written));
        memory.give_back(kept[i], bytes);
    }
}

BOOST_AUTO_TEST_CASE(a_shape_whose_bytes_overflow_is_refused) {
    memory_pool pool{1 << 20};
    const std::size_t half = std::size_t{1} << 32;
    auto refused = tensor::allocate(pool, data_type::float32, {half / 4, half});
    BOOST_REQUIRE(!refused);
    BOOST_TEST((refused.failure().code() == errc::exhausted));
}

BOOST_AUTO_TEST_CASE(rows_of_a_tensor_share_its_elements) {
    memory_pool pool{1 << 20};
    tensor whole = tensor::allocate(pool, data_type::float32, {4, 3}).value();
    std::ranges::fill(whole.mutable_values<float>(), 0.f);
    whole.mutable_values<float>()[7] = 5.f;
    const tensor middle = whole.rows(1, 2);
    BOOST_TEST(to_string(middle.shape()) == "[2, 3]");
    BOOST_TEST(middle.values<float>()[4] == 5.f);
    BOOST_TEST(!whole.unique());
    BOOST_TEST(whole.reshaped({12}).values<float>()[7] == 5.f);
}

BOOST_AUTO_TEST_SUITE_END()

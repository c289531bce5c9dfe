#include <boost/test/unit_test.hpp>

#include <algorithm>

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

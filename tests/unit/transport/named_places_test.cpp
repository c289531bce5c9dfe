#include <boost/test/unit_test.hpp>

#include "transport/named_places.hpp"

using namespace troupe;

namespace {

struct some_places {
    memory_pool pool{1u << 20};
    named_places places;

    tensor add(place_name name, std::size_t bytes) {
        tensor memory = tensor::allocate(pool, data_type::uint8, {bytes}).value();
        BOOST_TEST_REQUIRE(places.add({name, memory}));
        return memory;
    }
};

constexpr place_name name{actor_number{7}, 3};

} // namespace

BOOST_FIXTURE_TEST_SUITE(places_by_name, some_places)

BOOST_AUTO_TEST_CASE(a_place_is_taken_once) {
    const tensor memory = add(name, 100);
    BOOST_TEST(places.take(name, 100).data() == memory.data());
    BOOST_TEST(!places.take(name, 100));
    const tensor again = add(name, 100);
    BOOST_TEST(places.take(name, 100).data() == again.data());
}

BOOST_AUTO_TEST_CASE(only_a_frame_of_this_name_and_of_as_many_bytes_takes_it) {
    const tensor memory = add(name, 100);
    BOOST_TEST(!places.take({}, 100));
    BOOST_TEST(!places.take({actor_number{7}, 4}, 100));
    BOOST_TEST(!places.take({actor_number{8}, 3}, 100));
    BOOST_TEST(!places.take(name, 99));
    BOOST_TEST(!places.take(name, 101));
    BOOST_TEST(places.take(name, 100).data() == memory.data());
}

BOOST_AUTO_TEST_CASE(what_is_forgotten_of_one_actor_stays_of_the_others) {
    for (const std::uint64_t actor : {6, 7, 8})
        for (const std::uint64_t number : {std::uint64_t{0}, ~std::uint64_t{0}})
            add({actor_number{actor}, number}, 10);
    places.remove(actor_number{7});
    for (const std::uint64_t number : {std::uint64_t{0}, ~std::uint64_t{0}}) {
        BOOST_TEST(static_cast<bool>(places.take({actor_number{6}, number}, 10)));
        BOOST_TEST(!places.take({actor_number{7}, number}, 10));
        BOOST_TEST(static_cast<bool>(places.take({actor_number{8}, number}, 10)));
    }
    BOOST_TEST(pool.statistics().bytes_in_use == 0u);
}

BOOST_AUTO_TEST_CASE(memory_in_which_no_frame_can_be_received_is_refused) {
    const tensor all = tensor::allocate(pool, data_type::uint8, {100}).value();
    for (const std::size_t at : {1, 2, 3})
        BOOST_TEST(!places.add({name, all.rows(at, 8)}));
    BOOST_TEST(!places.add({{}, all}));
    BOOST_TEST(!places.add({name, {}}));
    memory_pool elsewhere{1u << 20, nullptr, memory_kind::device};
    BOOST_TEST(!places.add({name, tensor::allocate(elsewhere, data_type::uint8, {8}).value()}));
    BOOST_TEST(!places.take(name, 8));
    BOOST_TEST(places.add({name, all.rows(4, 8)}));
    BOOST_TEST(places.take(name, 8).data() == all.data() + 4);
}

BOOST_AUTO_TEST_SUITE_END()

// Frames whose tensors are received where their receiver expects them, over every transport.
#include <boost/test/unit_test.hpp>

#include <algorithm>

#include "tests/conformance/transport_world.hpp"

using namespace troupe;
using namespace troupe::conformance;
using downs = std::vector<std::pair<node_id, errc>>;

BOOST_AUTO_TEST_SUITE(places)

BOOST_AUTO_TEST_CASE_TEMPLATE(tensors_come_where_their_receiver_expects_them_each_place_once, World,
                              worlds) {
    World w;
    node a = w.add("a");
    node b = w.add("b");
    w.join(a, b);
    const place_name name{actor_number{7}, 3};
    std::uint64_t sent = 0;
    // The address of the tensor of a frame that is sent now, which is whole.
    const auto arrival_of = [&](place_name named, std::size_t bytes) -> const std::byte* {
        frame_builder<proto::Rejected> frame;
        frame.envelope().getTo().setActor(named.actor.value());
        tensor t = tensor::allocate(w.pool, data_type::uint8, {bytes}).value();
        std::ranges::fill(t.mutable_values<std::uint8_t>(), static_cast<std::uint8_t>(++sent));
        frame.attach(std::move(t));
        frame.name_place(named);
        a.end->send(b.id, std::move(frame).finish());
        BOOST_TEST_REQUIRE(w.wait_for([&] { return b.heard->frame_count() == 1; }));
        const tensor arrived = b.heard->frames()[0].second->tensors()[0];
        b.heard->forget_frames();
        BOOST_TEST(arrived.bytes() == bytes);
        BOOST_TEST(
            std::ranges::count(arrived.values<std::uint8_t>(), static_cast<std::uint8_t>(sent)) ==
            static_cast<std::ptrdiff_t>(bytes));
        return arrived.data();
    };
    for (const std::size_t bytes : {4u, 1000u, 65536u, 1u << 20, 16u << 20}) {
        tensor all = tensor::allocate(w.pool, data_type::uint8, {bytes + 8}).value();
        std::ranges::fill(all.mutable_values<std::uint8_t>(), std::uint8_t{0});
        const tensor place = all.rows(4, bytes);
        BOOST_TEST(b.end->expect(a.id, {name, place}));
        BOOST_TEST((arrival_of({actor_number{7}, 4}, bytes) != place.data()));
        BOOST_TEST((arrival_of(name, bytes + 1) != place.data()));
        BOOST_TEST((arrival_of(name, bytes) == place.data()));
        BOOST_TEST((arrival_of(name, bytes) != place.data()));
        BOOST_TEST(b.end->expect(a.id, {name, place}));
        b.end->forget(a.id, name.actor);
        BOOST_TEST((arrival_of(name, bytes) != place.data()));
        for (const std::size_t beside : {std::size_t{3}, bytes + 4})
            BOOST_TEST(all.values<std::uint8_t>()[beside] == 0);
    }
    const tensor four = tensor::allocate(w.pool, data_type::uint8, {4}).value();
    BOOST_TEST(!b.end->expect(node_id{12345}, {name, four}));
    BOOST_TEST(!b.end->expect(a.id, {name, four.rows(1, 3)}));
    BOOST_TEST(b.heard->downs().empty());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_frame_that_may_not_lie_in_its_place_costs_its_sender_the_connection,
                              World, worlds) {
    for (const bool is_another_actors : {false, true}) {
        World w;
        node a = w.add("a");
        node b = w.add("b");
        w.join(a, b);
        const place_name name{actor_number{7}, 3};
        const tensor all = tensor::allocate(w.pool, data_type::uint8, {28}).value();
        b.end->expect(a.id, {name, all.rows(4, 24)});

        frame_builder<proto::Rejected> frame;
        frame.envelope().getTo().setActor(is_another_actors ? 8 : 7);
        frame.attach(tensor::allocate(w.pool, data_type::float64, {3}).value());
        frame.name_place(name);
        constexpr std::size_t more = 20;
        a.end->send(b.id, std::move(frame).finish());
        for (std::size_t i = 0; i < more; ++i)
            a.end->send(b.id, numbered_frame(w.pool, i));

        BOOST_TEST_REQUIRE(
            w.wait_for([&] { return !a.heard->downs().empty() && !b.heard->downs().empty(); }));
        const std::string why = is_another_actors
                                    ? "the place of another actor than the one that it is for"
                                    : "a tensor where numbers of its type do not lie";
        BOOST_TEST((b.heard->downs() == downs{{a.id, errc::protocol}}));
        BOOST_TEST(b.heard->last_reason() == "malformed frame: " + why);
        BOOST_TEST((a.heard->downs() == downs{{b.id, errc::refused}}));
        BOOST_TEST(a.heard->last_reason() == "it gave up the connection: malformed frame: " + why);
        w.settle();
        BOOST_TEST(b.heard->frame_count() == 0u);
        BOOST_TEST(b.end->statistics().frames_received == 0u);
        BOOST_TEST(b.end->statistics().frames_malformed == 1u);
    }
}

BOOST_AUTO_TEST_SUITE_END()

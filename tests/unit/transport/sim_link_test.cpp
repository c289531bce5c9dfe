#include <boost/test/unit_test.hpp>

#include "schemas/base/random.hpp"
#include "transport/sim/sim_link.hpp"

using namespace troupe;
using sim::acknowledgement;
using sim::item;

BOOST_AUTO_TEST_SUITE(sim_links)

namespace {
item numbered(std::uint64_t i) {
    return {item::kind::data, nullptr, i};
}
} // namespace

BOOST_AUTO_TEST_CASE(a_receiver_restores_order_and_drops_copies) {
    random_stream random{7};
    std::vector<std::uint64_t> packets;
    for (std::uint64_t i = 0; i < 100; ++i)
        packets.insert(packets.end(), 1 + random.below(3), i);
    for (std::size_t i = packets.size() - 1; i > 0; --i)
        std::swap(packets[i], packets[random.below(i + 1)]);

    sim::reliable_receiver receiver;
    std::vector<std::uint64_t> seen;
    for (const auto sequence : packets)
        for (const item& i : receiver.admit(sequence, numbered(sequence)))
            seen.push_back(i.bytes);
    BOOST_TEST(seen.size() == 100u);
    BOOST_TEST(std::is_sorted(seen.begin(), seen.end()));
    BOOST_TEST(receiver.state().received == 100u);
    BOOST_TEST(receiver.state().consumed == 0u);
}

BOOST_AUTO_TEST_CASE(a_sender_keeps_items_until_they_are_consumed) {
    sim::reliable_sender sender;
    for (std::uint64_t i = 0; i < 5; ++i)
        BOOST_TEST(sender.push(numbered(i)) == i);
    BOOST_TEST(sender.acknowledged({3, 0}).empty());
    BOOST_TEST(sender.first_unreceived() == 3u);
    BOOST_TEST(sender.at(0).bytes == 0u);
    BOOST_TEST(sender.acknowledged({4, 2}).size() == 2u);
    BOOST_TEST(sender.acknowledged({3, 1}).empty()); // an old one
    BOOST_TEST(sender.first_unreceived() == 4u);
    BOOST_TEST(sender.at(2).bytes == 2u);
    BOOST_TEST(sender.acknowledged({5, 5}).size() == 3u);
    BOOST_TEST(sender.empty());
}

BOOST_AUTO_TEST_CASE(a_sender_ignores_acknowledgements_of_what_it_never_sent) {
    sim::reliable_sender sender;
    sender.push(numbered(0));
    BOOST_TEST(sender.acknowledged({9, 9}).empty());
    BOOST_TEST(sender.acknowledged({0, 1}).empty());
    BOOST_TEST(!sender.empty());
}

BOOST_AUTO_TEST_SUITE_END()

// How a replica's minibatches and updates are numbered over a run.
#include <boost/test/unit_test.hpp>

#include "actors/pipeline/shape/epoch_share.hpp"

using namespace troupe;

BOOST_AUTO_TEST_SUITE(shares_of_an_epoch)

BOOST_AUTO_TEST_CASE(replicas_that_take_turns_have_each_minibatch_once_and_agree_on_updates) {
    for (const std::uint32_t replicas : {1u, 2u, 3u, 5u})
        for (const std::uint64_t minibatches : {1u, 4u, 7u, 15u}) {
            const epoch_shape whole{minibatches, 8, 3, minibatches - 1, 1};
            std::vector<std::size_t> had(minibatches);
            for (std::uint32_t r = 0; r < replicas; ++r) {
                const epoch_share share{2, 100, whole, {r, replicas}, false};
                BOOST_TEST(share.updates() == (minibatches + replicas - 1) / replicas);
                for (std::uint64_t own = 0; own < share.shape().minibatches; ++own) {
                    const std::uint64_t minibatch = share.run_minibatch(own);
                    BOOST_TEST_REQUIRE(share.contains(minibatch));
                    ++had[minibatch - 100];
                    BOOST_TEST(share.replica_of(minibatch, replicas) == r);
                    BOOST_TEST(share.own_minibatch_of(own) == minibatch);
                    BOOST_TEST(share.shape().samples_of(own) ==
                               (minibatch - 100 + 1 == minibatches ? 3u : 8u));
                }
                for (std::uint64_t update = 0; update < share.updates(); ++update)
                    BOOST_TEST(share.minibatch_of(update) == 100 + update * replicas);
                BOOST_TEST(share.minibatch_of_last(0) == 100u);
                BOOST_TEST(share.minibatch_of_last(1) == 100u);
            }
            BOOST_TEST(std::count(had.begin(), had.end(), 1u) ==
                       static_cast<std::ptrdiff_t>(minibatches));
        }
}

BOOST_AUTO_TEST_CASE(a_replica_without_a_minibatch_for_an_update_names_it_by_the_first_of_them) {
    const epoch_share last{0, 0, {4, 8, 8, 3, 1}, {2, 3}, false};
    BOOST_TEST(last.shape().minibatches == 1u);
    BOOST_TEST(last.updates() == 2u);
    BOOST_TEST(last.own_minibatch_of(0) == 2u);
    BOOST_TEST(last.own_minibatch_of(1) == 3u);
}

BOOST_AUTO_TEST_CASE(what_is_assigned_dynamically_is_known_when_it_comes) {
    epoch_share share{0, 10, {6, 8, 5, 5, 1}, {1, 2}, true};
    BOOST_TEST(!share.is_known(0));
    BOOST_TEST(!share.has_minibatch_of(0));
    share.assign(12);
    share.assign(11); // has been passed
    share.assign(16); // is beyond the epoch
    share.assign(9);  // is of the one before
    share.assign(15);
    BOOST_TEST(share.run_minibatch(0) == 12u);
    BOOST_TEST(share.run_minibatch(1) == 15u);
    BOOST_TEST(!share.is_known(2));
    BOOST_TEST(share.shape().samples_of(0) == 8u);
    BOOST_TEST(share.shape().samples_of(1) == 5u); // the epoch's last
    share.end_after(6, 2);
    BOOST_TEST(share.updates() == 2u);
    BOOST_TEST(share.minibatch_of_last(2) == 15u);
}

BOOST_AUTO_TEST_CASE(an_epoch_that_is_cut_short_has_no_short_minibatch) {
    epoch_share share{0, 0, {6, 8, 5, 5, 1}, {1, 2}, false};
    BOOST_TEST(share.shape().samples_of(2) == 5u);
    share.end_after(4, 0);
    BOOST_TEST(share.shape().minibatches == 2u);
    BOOST_TEST(share.shape().samples_of(1) == 8u);
}

BOOST_AUTO_TEST_SUITE_END()

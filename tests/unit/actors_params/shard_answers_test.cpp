// What a cache keeps of its shards' answers, and which it takes.
#include <boost/test/unit_test.hpp>

#include "actors/params/shard_answers.hpp"
#include "schemas/params.capnp.h"

using namespace troupe;

namespace {

// Two shards, of one and of two parameters, with one tensor of state for each.
struct two_shards {
    memory_pool memory{1u << 16};
    shard_answers answers{{.shapes = {{2}, {3}, {4}},
                           .ranges = {{0, 1}, {1, 2}},
                           .state_per_parameter = 1,
                           .pulls = nullptr}};

    tensor of(std::size_t elements) {
        return tensor::allocate(memory, data_type::float32, {elements}).value();
    }
    frame_ptr pulled(const std::vector<std::size_t>& sizes) {
        frame_builder<proto::Pulled> b;
        for (const std::size_t size : sizes)
            b.attach(of(size));
        return std::move(b).finish();
    }
    void ask_for_pulls(std::uint64_t clock) {
        answers.ask({type_id_of<proto::Pulled>(), clock, 1, 42});
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(answers_of_shards, two_shards)

BOOST_AUTO_TEST_CASE(they_are_complete_when_all_have_answered_and_stand_in_the_shards_order) {
    ask_for_pulls(7);
    BOOST_TEST(answers.take(1, 7, pulled({3, 4})).ok());
    BOOST_TEST(!answers.are_complete());
    BOOST_TEST(answers.take(0, 7, pulled({2})).ok());
    BOOST_TEST(answers.are_complete());
    const auto parameters = answers.parameters();
    BOOST_REQUIRE(parameters.size() == 3u);
    for (std::size_t i = 0; i < 3; ++i)
        BOOST_TEST(parameters[i].elements() == 2 + i);
    BOOST_TEST(answers.state().empty());
    answers.end();
    BOOST_TEST(!answers.asked());
}

BOOST_AUTO_TEST_CASE(what_was_not_asked_or_has_other_tensors_is_refused) {
    BOOST_TEST(!answers.take(0, 7, pulled({2})).ok());
    ask_for_pulls(7);
    BOOST_TEST(!answers.take(0, 8, pulled({2})).ok());
    BOOST_TEST(!answers.take(0, 7, pulled({3})).ok());
    BOOST_TEST(!answers.take(0, 7, pulled({2, 2})).ok());
    BOOST_TEST(answers.take(0, 7, pulled({2})).ok());
    BOOST_TEST(!answers.take(0, 7, pulled({2})).ok());
    BOOST_TEST(answers.asked().has_value());
}

BOOST_AUTO_TEST_CASE(an_answer_is_dropped_only_while_others_are_awaited) {
    BOOST_TEST(!answers.drop(0, 7));
    ask_for_pulls(7);
    BOOST_TEST(!answers.drop(0, 7));
    BOOST_TEST(answers.take(0, 7, pulled({2})).ok());
    BOOST_TEST(!answers.drop(0, 6));
    BOOST_TEST(!answers.drop(1, 7));
    BOOST_TEST(answers.drop(0, 7));
    BOOST_TEST(answers.take(1, 7, pulled({3, 4})).ok());
    BOOST_TEST(!answers.are_complete());
    BOOST_TEST(answers.take(0, 7, pulled({2})).ok());
    // All are here: they may be decoded at this moment.
    BOOST_TEST(!answers.drop(0, 7));
    BOOST_TEST(answers.are_complete());
    answers.ask({type_id_of<proto::WorkerDoneTaken>(), 7});
    BOOST_TEST(!answers.drop(0, 7));
}

BOOST_AUTO_TEST_SUITE_END()

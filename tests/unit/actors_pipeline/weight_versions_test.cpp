// Who holds which version of a stage's weights.
#include <boost/test/unit_test.hpp>

#include "actors/pipeline/stage/weight_versions.hpp"

using namespace troupe;

namespace {

weights_ptr some(memory_pool& memory, std::uint64_t version) {
    auto w = std::make_shared<weights>();
    w->version = weight_version{version};
    w->parameters = {tensor::allocate(memory, data_type::float32, {4}).value()};
    w->state = {tensor::allocate(memory, data_type::float32, {4}).value()};
    return w;
}

} // namespace

BOOST_AUTO_TEST_SUITE(versions_of_weights)

BOOST_AUTO_TEST_CASE(an_update_is_the_only_holder_unless_a_pass_is_under_way) {
    memory_pool memory{1u << 20};
    weight_versions versions;
    versions.set(some(memory, 7));
    {
        const weights_ptr taken = versions.take();
        BOOST_TEST(!versions.latest());
        BOOST_TEST(taken->parameters[0].unique());
        versions.set(taken);
    }
    versions.hold({0, 0}, weight_version{7});
    {
        const weights_ptr taken = versions.take();
        BOOST_TEST(!taken->parameters[0].unique()); // the pass computes with it
        BOOST_TEST(taken->state[0].unique());       // which no pass reads
        versions.set(some(memory, 8));
    }
    BOOST_TEST(versions.held({0, 0})->version.value() == 7u);
    BOOST_TEST(versions.held({0, 0})->parameters[0].unique());
    BOOST_TEST(versions.use().versions == 2u);
    BOOST_TEST(versions.use().parameter_bytes == 2 * 16u);
    BOOST_TEST(versions.use().state_bytes == 16u);
    BOOST_TEST(versions.use(weight_version{9}).versions == 3u);
    versions.let_go({0, 0});
    BOOST_TEST(versions.use().versions == 1u);
}

BOOST_AUTO_TEST_CASE(a_pass_may_hold_an_older_version_that_another_one_holds) {
    memory_pool memory{1u << 20};
    weight_versions versions;
    versions.set(some(memory, 3));
    const tensor old = versions.hold({0, 0}, weight_version{3})->parameters[0];
    versions.set(some(memory, 4));
    BOOST_TEST(versions.hold({1, 0}, weight_version{3})->parameters[0].data() == old.data());
    BOOST_TEST(versions.hold({2, 0}, weight_version{4})->parameters[0].data() != old.data());
    versions.let_go({0, 0});
    BOOST_TEST(versions.held({1, 0})->version.value() == 3u);
    BOOST_TEST(versions.use().versions == 2u);
}

BOOST_AUTO_TEST_CASE(versions_are_kept_for_forward_passes_to_come) {
    memory_pool memory{1u << 20};
    weight_versions versions;
    versions.keep(1);
    versions.set(some(memory, 3));
    const tensor third = versions.take()->parameters[0];
    versions.set(some(memory, 4));
    BOOST_TEST(versions.find(weight_version{3})->parameters[0].data() == third.data());
    (void)versions.take();
    versions.set(some(memory, 5));
    BOOST_TEST(versions.use().versions == 2u);
    BOOST_TEST(versions.find(weight_version{4})->version.value() == 4u);
    versions.let_go_of_older();
    BOOST_TEST(versions.use().versions == 1u);
}

// As an exchange of weights does it: the number stays, what it names does not.
BOOST_AUTO_TEST_CASE(passes_may_hold_different_weights_of_one_number) {
    memory_pool memory{1u << 20};
    weight_versions versions;
    versions.set(some(memory, 3));
    versions.hold({0, 0}, weight_version{3});
    versions.set(some(memory, 3));
    versions.hold({1, 0}, weight_version{3});
    BOOST_TEST(versions.held({0, 0})->parameters[0].data() !=
               versions.held({1, 0})->parameters[0].data());
}

BOOST_AUTO_TEST_CASE(what_is_common_is_evaluated_until_the_next_epoch) {
    memory_pool memory{1u << 20};
    weight_versions versions;
    versions.set(some(memory, 3));
    BOOST_TEST(versions.settled() == versions.latest());
    const weights_ptr common = some(memory, 3);
    versions.settle(common);
    BOOST_TEST(versions.settled() == common);
    versions.unsettle();
    BOOST_TEST(versions.settled() == versions.latest());
}

BOOST_AUTO_TEST_SUITE_END()

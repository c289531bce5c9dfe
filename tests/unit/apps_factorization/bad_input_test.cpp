// Settings, data and messages that cannot be used are answered with a sentence.
#include <boost/test/unit_test.hpp>

#include <cmath>
#include <limits>

#include "apps/factorization/factorization.capnp.h"
#include "apps/factorization/factorization.hpp"
#include "apps/factorization/user_ratings.hpp"
#include "kernels/reference/reference.hpp"
#include "tests/unit/apps_factorization/factorization_runs.hpp"

using namespace troupe;
using namespace troupe::factorization;
using namespace troupe::test;

namespace {

std::string failure_of(const factorization_case& c, const ratings& data) {
    const auto run = run_factorization(c, data);
    return run.ok() ? "" : run.failure().message();
}

ratings some() {
    return make_ratings({.users = 20, .items = 10});
}

struct some_pieces {
    memory_pool memory{1u << 20};
    user_ratings users{{2, 4, tiles_of(std::vector{scheduled::number_range{0, 4}}, 3), true}};

    scheduled::payload piece(std::vector<std::int64_t> starts, std::vector<std::int32_t> items,
                             std::vector<float> values) {
        const std::vector<double> targets(starts.size() - 1);
        return scheduled::payload_of(memory, starts, items, values, targets).value();
    }
};

} // namespace

BOOST_AUTO_TEST_SUITE(factorization_of_bad_input)

BOOST_AUTO_TEST_CASE(asks_for_the_schedule_that_the_method_needs) {
    auto c = sgd_case(2, 1, 1);
    c.run.schedule.kind = scheduled::schedule_kind::cyclic;
    BOOST_TEST(failure_of(c, some()) ==
               "by: sgd works on blocks of items that pass from worker to worker; write schedule: "
               "{rotation: {}}, or by: coordinates");
    c = coordinates_case(2, 1, 1);
    c.run.schedule.kind = scheduled::schedule_kind::rotation;
    BOOST_TEST(failure_of(c, some()) ==
               "by: coordinates changes the items of one factor after the other; write schedule: "
               "{cyclic: {}}, or by: sgd");
}

BOOST_AUTO_TEST_CASE(refuses_data_without_ratings) {
    ratings data = some();
    for (matrix_rows* rows : {&data.learned, &data.held_out}) {
        rows->values.clear();
        rows->indices.clear();
        std::ranges::fill(rows->starts, 0);
    }
    BOOST_TEST(failure_of(sgd_case(2, 1, 1), data) ==
               "data: the data has no ratings; there is nothing to fit");
}

BOOST_AUTO_TEST_CASE(refuses_a_dense_matrix_and_scaled_columns) {
    ratings dense;
    dense.learned.columns = 3;
    dense.learned.values.assign(6, 1.0F);
    dense.learned.targets.assign(2, 0.0);
    BOOST_TEST(
        failure_of(sgd_case(2, 1, 1), dense).starts_with("data: the ratings are a dense matrix"));
    auto c = sgd_case(2, 1, 1);
    c.run.unit_norm = true;
    BOOST_TEST(failure_of(c, some()).starts_with("data.scale: ratings whose columns are divided"));
}

BOOST_AUTO_TEST_CASE(refuses_more_factors_than_a_machine_can_have) {
    capnp::MallocMessageBuilder message;
    message.initRoot<proto::FactorizationSettings>().setRank(4096);
    scheduled::program_site site;
    site.settings = message.getRoot<capnp::AnyPointer>().asReader();
    site.schedule.kind = scheduled::schedule_kind::rotation;
    site.data = {1u << 30, 10, 1000, true};
    const auto fits = check(site);
    BOOST_REQUIRE(!fits.ok());
    BOOST_TEST(fits.failure().message() ==
               "rank: the factors of all users, or of all items, are more than 1 TiB; use a rank "
               "of at most 256");
    site.data = {10, 1u << 20, 1000, true};
    site.blocks = {{0, 1u << 16}, {1u << 16, (1u << 20) - (1u << 16)}};
    BOOST_TEST(check(site).failure().message().starts_with(
        "rank: the factors of a block of 983040 items are a message of more than 1 GiB"));
    site.blocks = {{0, 1u << 16}};
    BOOST_TEST(check(site).ok());
}

BOOST_AUTO_TEST_CASE(doubts_settings_of_the_other_method) {
    capnp::MallocMessageBuilder message;
    auto settings = message.initRoot<proto::FactorizationSettings>();
    scheduled::program_site site;
    site.settings = message.getRoot<capnp::AnyPointer>().asReader();
    BOOST_TEST(factorization_program().doubts(site).empty());
    settings.setBy(proto::FactorizationMethod::COORDINATES);
    const auto doubted = factorization_program().doubts(site);
    BOOST_TEST_REQUIRE(doubted.size() == 2u);
    BOOST_TEST(doubted[0].path == "program.factorization.rate");
    BOOST_TEST(doubted[1].path == "program.factorization.decay");
}

BOOST_AUTO_TEST_CASE(says_so_when_the_factors_do_not_fit_into_memory) {
    memory_pool memory{1u << 20};
    capnp::MallocMessageBuilder message;
    message.initRoot<proto::FactorizationSettings>().setRank(1000);
    scheduled::worker_site site;
    site.settings = message.getRoot<capnp::AnyPointer>().asReader();
    site.schedule.kind = scheduled::schedule_kind::rotation;
    site.memory = &memory;
    site.data = {1000, 4, 4000, true};
    site.workers = 1;
    site.rows = {0, 1000};
    site.blocks = {{0, 2}, {2, 2}};
    auto part = factorization_program().make_worker(site);
    BOOST_REQUIRE(part.ok());
    std::vector<std::int64_t> starts;
    for (std::int64_t i = 0; i <= 1000; ++i)
        starts.push_back(i);
    const auto piece =
        scheduled::payload_of(memory, starts, std::vector<std::int32_t>(1000),
                              std::vector<float>(1000, 1.0F), std::vector<double>(1000));
    BOOST_REQUIRE((*part)->take_data(*piece).ok());
    const auto complete = (*part)->data_is_complete();
    BOOST_REQUIRE(!complete.ok());
    BOOST_TEST((complete.failure().code() == errc::exhausted));
    BOOST_TEST(complete.failure().message().starts_with(
        "the factors of 1000 users; use a smaller rank or more workers"));
}

BOOST_AUTO_TEST_CASE(refuses_ratings_that_are_no_numbers) {
    some_pieces some;
    for (const float bad : {std::numeric_limits<float>::quiet_NaN(),
                            std::numeric_limits<float>::infinity(), 2e9F, -2e9F}) {
        const auto taken = some.users.take(some.piece({0, 1}, {3}, {bad}));
        BOOST_REQUIRE(!taken.ok());
        BOOST_TEST((taken.failure().code() == errc::data));
        BOOST_TEST(taken.failure().message().starts_with("a rating is beyond 1e9; leave it out"));
    }
}

BOOST_AUTO_TEST_CASE(refuses_pieces_that_do_not_fit) {
    some_pieces some;
    BOOST_TEST(!some.users.take(some.piece({0, 2}, {2, 1}, {1, 2})).ok()); // items do not rise
    BOOST_TEST(!some.users.take(some.piece({0, 2}, {1, 1}, {1, 2})).ok()); // twice the same
    BOOST_TEST(!some.users.take(some.piece({0, 1}, {4}, {1})).ok());       // no such item
    BOOST_TEST(!some.users.complete().ok());                               // no users
    BOOST_TEST(!some.users.take(some.piece({0, 1, 2, 3}, {0, 1, 2}, {1, 2, 3})).ok());
    BOOST_TEST(some.users.take(some.piece({0, 1, 3}, {0, 1, 3}, {1, 2, 3})).ok());
    BOOST_TEST(!some.users.take(some.piece({0, 1}, {0}, {1})).ok()); // one user too many
    BOOST_TEST(some.users.complete().ok());
    BOOST_TEST(some.users.learned().ratings() == 3u);
    BOOST_TEST(some.users.moments().mean == 2, boost::test_tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(refuses_blocks_and_changes_of_another_build) {
    memory_pool memory{1u << 24};
    capnp::MallocMessageBuilder message;
    message.initRoot<proto::FactorizationSettings>().setRank(3);
    scheduled::worker_site site;
    site.settings = message.getRoot<capnp::AnyPointer>().asReader();
    site.schedule.kind = scheduled::schedule_kind::rotation;
    site.memory = &memory;
    site.data = {2, 4, 3, true};
    site.workers = 1;
    site.rows = {0, 2};
    site.blocks = {{0, 2}, {2, 2}};
    some_pieces some;
    const auto part = std::move(factorization_program().make_worker(site)).value();
    BOOST_REQUIRE(part->take_data(some.piece({0, 1, 3}, {0, 1, 3}, {1, 2, 3})).ok());
    BOOST_REQUIRE(part->data_is_complete().ok());
    const auto operations = make_reference_operations();
    compute_context context{*operations, memory};
    const auto fails = [&](scheduled::held_block block) {
        return !part->turn({}, block, context).ok();
    };
    BOOST_TEST(!fails({0, 0, part->make_block(0).value()}));
    BOOST_TEST(fails({2, 0, part->make_block(0).value()}));
    BOOST_TEST(fails({0, 0, {}}));
    auto content = part->make_block(1).value();
    content[0] = content[1];
    BOOST_TEST(fails({1, 0, content}));
    const auto changes = scheduled::payload_of(memory, std::vector<double>(3)).value();
    BOOST_TEST(!part->apply({0, changes}).ok());
    BOOST_TEST(!part->load({}).ok());
}

BOOST_AUTO_TEST_CASE(refuses_phases_of_another_order_of_coordinates) {
    memory_pool memory{1u << 24};
    capnp::MallocMessageBuilder message;
    auto settings = message.initRoot<proto::FactorizationSettings>();
    settings.setRank(1);
    settings.setBiases(false);
    settings.setBy(proto::FactorizationMethod::COORDINATES);
    scheduled::worker_site site;
    site.settings = message.getRoot<capnp::AnyPointer>().asReader();
    site.schedule.kind = scheduled::schedule_kind::cyclic;
    site.schedule.window = 0;
    site.memory = &memory;
    site.data = {2, 4, 3, true};
    site.workers = 1;
    site.rows = {0, 2};
    site.variables = {{0, 4}};
    some_pieces some;
    const auto part = std::move(factorization_program().make_worker(site)).value();
    BOOST_REQUIRE(part->take_data(some.piece({0, 1, 3}, {0, 1, 3}, {1, 2, 3})).ok());
    BOOST_REQUIRE(part->data_is_complete().ok());
    const auto operations = make_reference_operations();
    compute_context context{*operations, memory};
    // The mean, the items of the one factor, a probe.
    const auto moments = scheduled::payload_of(memory, std::vector<double>{3, 2, 2}).value();
    const auto factors = scheduled::payload_of(memory, std::vector<float>(4)).value();
    BOOST_TEST(!part->apply({0, {}}).ok());
    BOOST_REQUIRE(part->apply({0, moments}).ok());
    BOOST_TEST(part->apply({1, {}}).failure().message().starts_with(
        "a scheduler of factorization has other phases than its worker (factor 1 of set 1"));
    BOOST_TEST(!part->probe({1, true, {}}, 0, context).ok());
    BOOST_TEST(part->push({1, false, {}}, context).ok());
    BOOST_TEST(part->apply({1, factors}).ok());
    BOOST_TEST(!part->push({2, false, {}}, context).ok());
    BOOST_TEST(!part->apply({2, factors}).ok());
    BOOST_TEST(part->probe({2, true, {}}, 0, context).ok());
    BOOST_TEST(part->apply({2, {}}).ok());
}

BOOST_AUTO_TEST_SUITE_END()

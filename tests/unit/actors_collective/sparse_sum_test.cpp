// Sums of sparse payloads whose numbers are rounded: nothing is lost over time, all ranks have the same bits, and what is
// sent is as long as is said.
#include <boost/test/unit_test.hpp>

#include <cmath>
#include <cstring>

#include "kernels/codec/codecs.hpp"
#include "kernels/reference/reference.hpp"
#include "schemas/base/random.hpp"
#include "tests/support/sparse_rounds.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

using proto::SparseValues;

constexpr SparseValues rounded_forms[] = {SparseValues::F16, SparseValues::INT8,
                                          SparseValues::INT4};
constexpr sparse_algorithm with_owners[] = {sparse_algorithm::split_all_gather,
                                            sparse_algorithm::split_dense,
                                            sparse_algorithm::halving_doubling};

struct fixture {
    memory_pool pool{1ull << 28};
    std::unique_ptr<operations> ops = make_reference_operations();
    compute_context context{*ops, pool};

    tensor gradient(const tensor_shape& shape, std::uint64_t seed) {
        tensor t = tensor::allocate(pool, data_type::float32, shape).value();
        random_stream random{seed, 1};
        for (float& x : t.mutable_values<float>())
            x = static_cast<float>(random.uniform() * 2 - 1);
        return t;
    }
};

void check_same_bits(const std::vector<std::vector<tensor>>& sums) {
    for (const auto& of_rank : sums)
        for (std::size_t t = 0; t < of_rank.size(); ++t)
            BOOST_TEST(std::memcmp(of_rank[t].data(), sums[0][t].data(), sums[0][t].bytes()) == 0);
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(sparse_sums, fixture)

// Over some sums: what all have got, what ranks keep of their gradients and what owners keep of sums is what all gave.
BOOST_AUTO_TEST_CASE(what_is_applied_and_what_is_kept_at_both_ends_is_the_sum_of_all_gradients) {
    const std::vector<tensor_shape> shapes{{3}, {11, 13}, {2, 3, 7}};
    for (const SparseValues form : rounded_forms)
        for (const sparse_algorithm a : with_owners)
            for (const std::uint32_t ranks : {2u, 3u, 4u, 6u, 8u, 9u})
                for (const float ratio : {0.05f, 0.4f}) {
                    const codec_ptr how = with_error_feedback(make_top_codec(ratio, form));
                    sparse_rounds rounds{a, ranks, shapes, sparse_layout::of(*how, shapes, 1)};
                    const std::vector<tensor_shape> parameters{shapes.begin() + 1, shapes.end()};
                    std::vector<gradient_encoder> encoders;
                    for (std::uint32_t r = 0; r < ranks; ++r)
                        encoders.emplace_back(gradient_encoder::options{
                            .how = how, .shapes = parameters, .replica = r});
                    std::vector<double> given, applied;
                    for (std::uint64_t sum = 0; sum < 12; ++sum) {
                        std::vector<std::vector<tensor>> own;
                        std::size_t i = 0;
                        for (std::uint32_t r = 0; r < ranks; ++r, i = 0) {
                            if (sum > 0 && (sum + r) % 5 == 0) {
                                own.emplace_back(); // zeros
                                continue;
                            }
                            std::vector<tensor> gradients;
                            for (const tensor_shape& shape : parameters)
                                gradients.push_back(gradient(shape, 1000 * sum + 10 * r + i++));
                            std::size_t at = 0;
                            for (const tensor& g : gradients)
                                for (const float x : g.values<float>()) {
                                    given.resize(std::max(given.size(), at + 1));
                                    given[at++] += double{x};
                                }
                            own.push_back({gradient(shapes[0], r)});
                            auto payloads = encoders[r].encode(context, 0, gradients, 0).value();
                            std::ranges::move(payloads, std::back_inserter(own.back()));
                        }
                        const auto sums = rounds.next(context, own, 0.5f);
                        check_same_bits(sums);
                        applied.resize(given.size());
                        std::size_t at = 0;
                        for (std::size_t t = 1; t < shapes.size(); ++t)
                            for (const float x : sums[0][t].values<float>())
                                applied[at++] += 2 * double{x};
                    }
                    auto all = rounds.lost();
                    for (const gradient_encoder& e : encoders) {
                        std::size_t at = 0;
                        for (const auto& state : e.state())
                            for (const float x : state[0].values<float>())
                                all[at++] += double{x};
                    }
                    double worst = 0, scale = 0;
                    for (std::size_t i = 0; i < given.size(); ++i) {
                        worst = std::max(worst, std::abs(applied[i] + all[i] - given[i]));
                        scale = std::max(scale, std::abs(given[i]));
                    }
                    BOOST_TEST(worst <= 1e-6 * scale,
                               name_of(a) << " of " << ranks << " ranks is off by " << worst);
                }
}

// 512 numbers of each rank in every block: sparse sums, and full ones; the bytes of the tensors that are sent.
BOOST_AUTO_TEST_CASE(ranks_send_as_many_bytes_as_a_plan_says) {
    for (const std::uint32_t ranks : {2u, 4u, 8u})
        for (const std::size_t step : {40u, 8u})
            for (const SparseValues form :
                 {SparseValues::F32, SparseValues::F16, SparseValues::INT8, SparseValues::INT4}) {
                const std::vector<tensor_shape> shapes{{512 * ranks, step}};
                const codec_ptr how = make_top_codec(1 / static_cast<float>(step), form);
                const auto layout = sparse_layout::of(*how, shapes, 0);
                std::vector<std::vector<tensor>> own;
                for (std::uint32_t r = 0; r < ranks; ++r) { // one of each row
                    tensor g = gradient(shapes[0], r);
                    auto values = g.mutable_values<float>();
                    for (std::size_t i = 0; i < values.size(); ++i)
                        values[i] = i % step == r ? values[i] + 3 : 0;
                    own.push_back({how->encode(context, g, {}, {}).value()});
                }
                for (const sparse_algorithm a : with_owners) {
                    sparse_rounds rounds{a, ranks, shapes, layout};
                    check_same_bits(rounds.next(context, own, 1));
                    for (const std::uint64_t bytes : rounds.bytes())
                        BOOST_TEST(bytes == bytes_sent(a, ranks, layout.load),
                                   name_of(a) << " of " << ranks << ", 1 of " << step << ", form "
                                              << static_cast<int>(form));
                }
            }
}

BOOST_AUTO_TEST_CASE(what_a_dense_sum_loses_comes_with_the_next_one_though_nobody_sends_it) {
    const std::vector<tensor_shape> shapes{{2, 4}};
    const codec_ptr how = make_top_codec(0.125f, SparseValues::INT4);
    sparse_rounds rounds{sparse_algorithm::split_dense, 2, shapes,
                         sparse_layout::of(*how, shapes, 0)};
    const auto one_number = [&](std::size_t place, float value) {
        tensor g = gradient(shapes[0], 1);
        std::ranges::fill(g.mutable_values<float>(), 0.f);
        g.mutable_values<float>()[place] = value;
        return std::vector<tensor>{how->encode(context, g, {}, {}).value()};
    };
    const auto near = [](double x, double y) { return std::abs(x - y) < 1e-6; };
    // A quarter of one of seven steps up to 7 is nothing, as a sum, though not as what its rank sends.
    const auto first = rounds.next(context, {one_number(0, 7), one_number(1, 0.25f)}, 1);
    BOOST_TEST(first[1][0].values<float>()[0] == 7.f);
    BOOST_TEST(first[1][0].values<float>()[1] == 0.f);
    BOOST_TEST(near(rounds.lost()[1], 0.25));
    const auto second = rounds.next(context, {one_number(0, 0.25f), {}}, 1);
    BOOST_TEST(near(double{second[1][0].values<float>()[0]}, 0.25));
    BOOST_TEST(near(double{second[1][0].values<float>()[1]}, 0.25));
    BOOST_TEST(near(rounds.lost()[1], 0));
}

BOOST_AUTO_TEST_CASE(parts_that_no_rank_sends_are_refused) {
    const std::vector<tensor_shape> shapes{{40, 50}};
    const auto bytes = [&](std::size_t n) {
        tensor t = tensor::allocate(pool, data_type::uint8, {n}).value();
        std::ranges::fill(t.mutable_values<std::uint8_t>(), std::uint8_t{0});
        return t;
    };
    const tensor none = bytes(0);
    const tensor floats = gradient({1000}, 1), empty = gradient({0}, 1);
    for (const SparseValues form : rounded_forms) {
        const codec_ptr how = make_top_codec(0.05f, form);
        const sparse_values values{form};
        const auto plan = sparse_plan::make(sparse_algorithm::halving_doubling, 0, 2, shapes,
                                            sparse_layout::of(*how, shapes, 0));
        const reduce_transfer &adds = plan.transfers[0], &sum = plan.transfers[1];
        BOOST_TEST((adds.adds && !sum.adds));
        const auto takes = [&](const reduce_transfer& t, const std::vector<tensor>& part) {
            return plan.check(t, part).ok();
        };
        // On its way a sum is float32, with places or whole.
        BOOST_TEST(takes(adds, {empty, floats}));
        BOOST_TEST(takes(adds, {empty, bytes(8 * 50)}));
        BOOST_TEST(!takes(adds, {empty, bytes(8 * 50 + 4)}));
        // Then it is in the form.
        BOOST_TEST(!takes(sum, {empty, floats}));
        BOOST_TEST(takes(sum, {empty, bytes(values.bytes(1000))}));
        BOOST_TEST(takes(sum, {empty, bytes(values.payload_bytes(50))}));
        BOOST_TEST(takes(sum, {empty, none}));
        BOOST_TEST(!takes(sum, {empty, bytes(values.payload_bytes(50) + 1)}));
        BOOST_TEST(!takes(sum, {empty, bytes(values.payload_bytes(1000))}));
        BOOST_TEST(!takes(sum, {empty, bytes(values.bytes(1000) + 4)}));
        BOOST_TEST(!takes(sum, {empty}));
        BOOST_TEST(!takes(sum, {empty, none, empty, none}));
        BOOST_TEST(!takes(sum, {empty, {}}));

        // Places that are twice there or too large, codes that are none.
        std::vector<float> lost;
        const auto refuses = [&](const tensor& part) {
            auto one = sparse_sum::begin(context, plan, {}, lost).value();
            BOOST_REQUIRE(one.send(context).ok());
            BOOST_REQUIRE(one.accept(context, std::vector{empty, bytes(8)}).ok());
            BOOST_REQUIRE(one.send(context).ok());
            const auto taken = one.accept(context, std::vector{empty, part});
            BOOST_TEST((taken.ok() || taken.failure().code() == errc::protocol));
            return !taken.ok();
        };
        tensor two = bytes(values.payload_bytes(2));
        BOOST_TEST(refuses(two)); // 0 and 0
        two.mutable_data()[4] = std::byte{1};
        BOOST_TEST(!refuses(two));
        two.mutable_data()[5] = std::byte{4}; // 1025 of 1000
        BOOST_TEST(refuses(two));
        if (form != SparseValues::F16) {
            tensor whole = bytes(values.bytes(1000));
            BOOST_TEST(!refuses(whole));
            whole.mutable_data()[whole.bytes() - 1] = std::byte{0xff};
            BOOST_TEST(refuses(whole));
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()

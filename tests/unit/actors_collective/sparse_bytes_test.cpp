// What sparse sums send: never more than a dense all-reduce, whatever the ranks, the share and the form; and what is said of
// it is what is sent.
#include <boost/test/unit_test.hpp>

#include <cmath>
#include <map>
#include <random>

#include "actors/collective/compressed_sum.hpp"
#include "kernels/codec/codecs.hpp"

using namespace troupe;

namespace {

using proto::SparseValues;

constexpr SparseValues forms[] = {SparseValues::F32, SparseValues::F16, SparseValues::INT8,
                                  SparseValues::INT4};
constexpr sparse_algorithm with_owners[] = {sparse_algorithm::split_all_gather,
                                            sparse_algorithm::split_dense,
                                            sparse_algorithm::halving_doubling};

// Of apps/fashion_mnist/single.yaml, where a stage has all of it: 421,642 numbers; and 5.3 MB of such layers.
const std::vector<tensor_shape>& fashion_mnist() {
    static const std::vector<tensor_shape> shapes{{32, 1, 3, 3}, {32},  {64, 32, 3, 3}, {64},
                                                  {128, 3136},   {128}, {10, 128},      {10}};
    return shapes;
}
const std::vector<tensor_shape>& wider() {
    static const std::vector<tensor_shape> shapes{{32, 1, 3, 3}, {32},  {64, 32, 3, 3}, {64},
                                                  {416, 3136},   {416}, {10, 416},      {10}};
    return shapes;
}

std::uint64_t bytes_without(const std::vector<tensor_shape>& shapes, std::uint32_t ranks) {
    std::size_t elements = 0;
    for (const tensor_shape& shape : shapes)
        elements += shape.elements();
    const auto algorithm = choose(proto::AllReduceAlgorithm::AUTO, ranks, elements);
    return sizeof(float) * elements_sent_max(algorithm, ranks, elements);
}

// Rounds without a device: numbers of each segment are cut to whole ones, and what is cut is kept by no one.
struct sent_by_ranks {
    std::vector<std::uint64_t> bytes;
    std::vector<sparse_vector> sums;
};

sent_by_ranks run(sparse_algorithm a, const std::vector<sparse_vector>& own,
                  const sparse_values& how) {
    const auto ranks = static_cast<std::uint32_t>(own.size());
    sent_by_ranks out{.bytes = std::vector<std::uint64_t>(ranks), .sums = {}};
    std::vector<sparse_reduction> all;
    for (std::uint32_t r = 0; r < ranks; ++r)
        all.emplace_back(a, r, ranks, own[r], !how.are_exact());
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<sparse_vector>> under_way;
    for (bool moved = true; moved;) {
        moved = false;
        for (std::uint32_t r = 0; r < ranks; ++r) {
            if (const sparse_vector* const sum = all[r].to_round()) {
                sparse_vector whole = is_dense_in(how, sum->values.size(), sum->dimension)
                                          ? sparse_vector::dense(sum->all())
                                          : *sum;
                for (float& x : whole.values)
                    x = std::trunc(x);
                all[r].round_to(std::move(whole));
            }
            while (const reduce_transfer* const t = all[r].next_to_send()) {
                const auto part = all[r].send();
                for (const sparse_vector& segment : part)
                    out.bytes[r] += segment.bytes(sends_sum(*t) ? how : sparse_values{});
                under_way.emplace(std::pair{t->to, t->round}, part);
                moved = true;
            }
            const reduce_transfer* const t = all[r].next_to_take();
            if (t && under_way.contains({r, t->round})) {
                BOOST_REQUIRE(all[r].accept(under_way.extract({r, t->round}).mapped()).ok());
                moved = true;
            }
        }
    }
    for (const sparse_reduction& one : all) {
        BOOST_TEST(one.is_done());
        out.sums.push_back(one.sum());
    }
    return out;
}

// Every `step`-th number from `first` on.
sparse_vector every(std::size_t dimension, std::size_t step, std::size_t first, float value = 1) {
    std::vector<std::uint32_t> places;
    for (std::size_t i = first; i < dimension; i += step)
        places.push_back(static_cast<std::uint32_t>(i));
    std::vector<float> values(places.size(), value);
    return sparse_vector::make(dimension, std::move(places), std::move(values));
}

} // namespace

BOOST_AUTO_TEST_SUITE(sparse_bytes)

BOOST_AUTO_TEST_CASE(no_plan_of_sparse_sums_sends_more_than_one_without_a_codec) {
    for (const auto& shapes : {fashion_mnist(), wider()})
        for (std::uint32_t ranks = 2; ranks <= 64; ++ranks) {
            const std::uint64_t without = bytes_without(shapes, ranks);
            for (const SparseValues form : forms)
                for (const float ratio : {0.001f, 0.01f, 0.05f, 0.1f, 0.3f, 0.7f, 1.f})
                    for (const codec_ptr& how :
                         {with_error_feedback(make_top_codec(ratio, form)),
                          make_deep_gradient_codec({.ratio = ratio, .values = form}),
                          make_deep_gradient_codec(
                              {.ratio = ratio, .warmup_epochs = 3, .values = form})}) {
                        const auto sum =
                            choose_compressed_sum({.shapes = shapes, .codec = how}, ranks).value();
                        BOOST_TEST(sum.bytes <= without,
                                   how->name()
                                       << " " << ratio << " in form " << static_cast<int>(form)
                                       << " of " << ranks << " ranks: " << sum.name() << ", "
                                       << sum.bytes << " of " << without);
                        // Wherever the numbers lie, and in the warm-up, too.
                        const auto load = sparse_layout::of(*how, shapes, 0).load;
                        if (sum.sparse)
                            BOOST_TEST(bytes_sent_max(*sum.sparse, ranks, load) <= without);
                    }
        }
}

// All numbers of all ranks in one block, or spread; the choice is for what is planned.
BOOST_AUTO_TEST_CASE(whatever_lies_where_no_rank_sends_more_than_the_dense_rounds) {
    std::mt19937 random{5};
    constexpr std::size_t dimension = 4000;
    for (const std::uint32_t ranks : {2u, 3u, 4u, 5u, 7u, 8u, 13u, 16u, 31u})
        for (const std::size_t numbers : {10u, 100u, 400u, 1500u, 4000u})
            for (const bool crowded : {false, true})
                for (const SparseValues form : forms) {
                    const sparse_load load{
                        .dimension = dimension, .numbers = numbers, .values = form};
                    const auto chosen = choose_sparse(ranks, load);
                    if (!chosen)
                        continue;
                    std::vector<sparse_vector> own;
                    for (std::uint32_t r = 0; r < ranks; ++r) {
                        std::vector<std::uint32_t> places(crowded ? numbers : dimension);
                        for (std::uint32_t i = 0; i < places.size(); ++i)
                            places[i] = i;
                        std::ranges::shuffle(places, random);
                        places.resize(numbers);
                        std::ranges::sort(places);
                        own.push_back(sparse_vector::make(dimension, std::move(places),
                                                          std::vector<float>(numbers, 1.5f)));
                    }
                    const auto out = run(*chosen, own, load.values);
                    const std::size_t most = bytes_sent_max(*chosen, ranks, load);
                    // Blocks of a row differ by a number, and norms are of what a block has.
                    for (const std::uint64_t bytes : out.bytes)
                        BOOST_TEST(bytes <= most + 16 * segments_of(*chosen, ranks),
                                   name_of(*chosen)
                                       << " of " << ranks << " ranks sends " << bytes << " of "
                                       << most << ": " << numbers << " numbers in form "
                                       << static_cast<int>(form) << (crowded ? ", crowded" : ""));
                    for (const sparse_vector& sum : out.sums)
                        BOOST_TEST((sum == out.sums[0]));
                }
}

BOOST_AUTO_TEST_CASE(halving_doubling_sends_what_the_formula_says) {
    constexpr std::size_t dimension = 1 << 14, k = dimension / 64;
    for (const std::uint32_t ranks : {2u, 4u, 8u, 16u}) {
        std::vector<sparse_vector> same(ranks, every(dimension, 64, 0)), apart;
        for (std::uint32_t r = 0; r < ranks; ++r)
            apart.push_back(every(dimension, 64, r));
        const auto least = run(sparse_algorithm::halving_doubling, same, {});
        const auto most = run(sparse_algorithm::halving_doubling, apart, {});
        std::size_t rounds = 0;
        while (1u << rounds < ranks)
            ++rounds;
        for (std::uint32_t r = 0; r < ranks; ++r) {
            BOOST_TEST(least.bytes[r] == 8 * 2 * k * (ranks - 1) / ranks);
            BOOST_TEST(most.bytes[r] == 8 * (k / 2 * rounds + k * (ranks - 1)));
            BOOST_TEST(most.bytes[r] == bytes_sent(sparse_algorithm::halving_doubling, ranks,
                                                   {.dimension = dimension, .numbers = k}));
        }
    }
    // With all numbers it is the dense all-reduce of that name, for any number of ranks.
    for (std::uint32_t ranks = 2; ranks <= 17; ++ranks) {
        const std::vector<sparse_vector> full(ranks, every(1000, 1, 0));
        const auto out = run(sparse_algorithm::halving_doubling, full, {});
        BOOST_TEST(*std::ranges::max_element(out.bytes) ==
                   4 * elements_sent_max(proto::AllReduceAlgorithm::HALVING_DOUBLING, ranks, 1000));
    }
}

// 512 numbers of each rank in every block, so that norms are whole; sparse sums, and full ones.
BOOST_AUTO_TEST_CASE(rounded_sums_are_sent_once_in_their_form) {
    for (const std::uint32_t ranks : {2u, 4u, 8u})
        for (const std::size_t step : {64u, 8u})
            for (const SparseValues form : forms) {
                const std::size_t k = 512 * ranks, dimension = k * step;
                std::vector<sparse_vector> apart;
                for (std::uint32_t r = 0; r < ranks; ++r)
                    apart.push_back(every(dimension, step, r, 2.5f));
                const sparse_load load{.dimension = dimension, .numbers = k, .values = form};
                for (const sparse_algorithm a : with_owners) {
                    const auto out = run(a, apart, load.values);
                    for (std::uint32_t r = 0; r < ranks; ++r)
                        BOOST_TEST(out.bytes[r] == bytes_sent(a, ranks, load),
                                   name_of(a) << " of " << ranks << ", 1 of " << step << ", form "
                                              << static_cast<int>(form));
                    const float cut = form == SparseValues::F32 ? 2.5f : 2;
                    std::vector<float> expected(dimension);
                    for (std::size_t i = 0; i < dimension; ++i)
                        expected[i] = i % step < ranks ? cut : 0;
                    for (const sparse_vector& sum : out.sums)
                        BOOST_TEST((sum.all() == expected));
                }
            }
    // By hand: 8 ranks of 4096 numbers in 32768, all of them together.
    const sparse_load load{.dimension = 32768, .numbers = 4096, .values = SparseValues::INT4};
    BOOST_TEST(bytes_sent(sparse_algorithm::split_dense, 8, load) ==
               7u * 512 * 8 + 7 * (4096 / 2 + 4096 / 512 * 4));
    BOOST_TEST(bytes_sent(sparse_algorithm::halving_doubling, 8, load) ==
               2048u * 8 + 2048 * 8 + 2048 * 8 + 7 * (4096 / 2 + 4096 / 512 * 4));
}

BOOST_AUTO_TEST_CASE(rounded_values_go_where_a_rank_owns_a_sum_or_to_all) {
    const auto name = [](std::uint32_t ranks, float ratio, SparseValues form) {
        return choose_compressed_sum({.shapes = wider(), .codec = make_top_codec(ratio, form)},
                                     ranks)
            ->name();
    };
    BOOST_TEST(name(4, 0.01f, SparseValues::F32) == "sparse all-reduce by recursive doubling");
    BOOST_TEST(name(2, 0.01f, SparseValues::INT4) == "all-gather");
    BOOST_TEST(name(8, 0.1f, SparseValues::INT8) == "sparse all-reduce by halving doubling");
    BOOST_TEST(name(64, 0.01f, SparseValues::INT4) == "sparse all-reduce by halving doubling");
    // Full sums: as the dense all-reduce does.
    BOOST_TEST(name(16, 0.5f, SparseValues::F32) == "sparse all-reduce by halving doubling");
    // At most a share of 0.1 in the warm-up, which from 11 ranks on is more to gather than a dense sum sends.
    const codec_ptr warm = make_deep_gradient_codec({.ratio = 0.001f, .warmup_epochs = 2});
    for (std::uint32_t ranks = 11; ranks <= 64; ++ranks)
        BOOST_TEST(
            (choose_compressed_sum({.shapes = wider(), .codec = warm}, ranks)->sparse.has_value()));
}

BOOST_AUTO_TEST_SUITE_END()

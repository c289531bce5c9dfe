// Sparse sums with rounded numbers, and by halving doubling, between stages of a script, over seeds.
#include <boost/test/unit_test.hpp>

#include "actors/collective/sparse_reducer.hpp"
#include "kernels/codec/codecs.hpp"
#include "tests/sim/reducers_sim.hpp"
#include "tests/support/seeds.hpp"
#include "tests/support/sparse_rounds.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

using proto::SparseValues;

constexpr sparse_algorithm with_owners[] = {sparse_algorithm::split_all_gather,
                                            sparse_algorithm::split_dense,
                                            sparse_algorithm::halving_doubling};

reducers_sim::maker sparse_reducers(sparse_algorithm algorithm) {
    return [=](node_runtime& node, compressed_options options) {
        return node.spawn<sparse_reducer>("reducer", std::move(options), algorithm);
    };
}

// The sums of the script in one loop.
class serial_sums {
  public:
    serial_sums(const reducers_script& s, const codec_ptr& how, sparse_algorithm algorithm,
                std::uint32_t ranks)
        : script_{s}, rounds_{algorithm, ranks, s.shapes,
                              sparse_layout::of(*how, s.shapes, s.averages)} {
        for (std::uint32_t r = 0; r < ranks; ++r)
            encoders_.emplace_back(gradient_encoder::options{
                .how = how,
                .shapes = {s.shapes.begin() + static_cast<std::ptrdiff_t>(s.averages),
                           s.shapes.end()},
                .seed = s.seed,
                .replica = r,
                .replicas = ranks});
    }

    std::vector<few_numbers> next(std::uint64_t sum) {
        std::vector<std::vector<tensor>> own(encoders_.size());
        for (std::uint32_t r = 0; r < own.size(); ++r) {
            if (script_.has_nothing(r, sum))
                continue;
            own[r] = script_.gradients(pool_, r, sum);
            const auto gradients = std::span{own[r]}.subspan(script_.averages);
            auto payloads = encoders_[r].encode(context_, 0, gradients, 0).value();
            std::ranges::move(payloads, gradients.begin());
        }
        std::vector<few_numbers> sums;
        const auto all = rounds_.next(context_, own, script_.scale);
        for (const tensor& t : all[0])
            sums.emplace_back(t.values<float>().begin(), t.values<float>().end());
        return sums;
    }
    const std::vector<std::uint64_t>& bytes() const { return rounds_.bytes(); }

  private:
    const reducers_script script_;
    memory_pool pool_{1u << 26};
    const std::unique_ptr<operations> ops_ = make_reference_operations();
    compute_context context_{*ops_, pool_};
    sparse_rounds rounds_;
    std::vector<gradient_encoder> encoders_;
};

} // namespace

BOOST_AUTO_TEST_SUITE(sparse_values_over_seeds)

BOOST_AUTO_TEST_CASE(sums_in_every_form_have_the_same_bits_on_all_ranks_and_are_those_of_one_loop,
                     *seeded) {
    const auto codec_of = [](std::uint64_t seed) {
        const auto form = static_cast<SparseValues>(seed / 3 % 4);
        const float ratio = seed / 12 % 2 == 0 ? 0.05f : 0.4f;
        return seed / 24 % 3 == 0
                   ? make_deep_gradient_codec({.ratio = ratio, .clip_norm = 1, .values = form})
                   : with_error_feedback(make_top_codec(ratio, form));
    };
    const seed_range seeds{500};
    for (const std::uint64_t seed : seeds) {
        const auto ranks = static_cast<std::uint32_t>(2 + seed / 5 % 8);
        const codec_ptr how = codec_of(seed);
        const sparse_algorithm algorithm = with_owners[seed % 3];
        const reducers_script s{
            .shapes = {{2}, {6, 7}, {5}, {3, 2, 4}}, .averages = 1, .seed = seed};
        const reducers_sim run{s, how, ranks, bad_weather, sparse_reducers(algorithm)};
        BOOST_TEST(run.all_ranks_have_the_same_bits());
        serial_sums serial{s, how, algorithm, ranks};
        for (std::uint64_t sum = 0; sum < s.sums; ++sum) {
            const auto expected = serial.next(sum);
            for (std::size_t t = 0; t < s.shapes.size(); ++t)
                BOOST_TEST(run.records[0].sums[sum][t] == expected[t],
                           boost::test_tools::per_element());
        }
    }
}

// What the loop sends is tied to formulas in tests/unit/actors_collective/sparse_sum_test.cpp.
BOOST_AUTO_TEST_CASE(ranks_send_the_bytes_of_the_loop) {
    memory_pool pool{1u << 20};
    const auto words_of = [&](std::size_t tensors) {
        frame_builder<proto::ReduceChunk> empty;
        for (std::size_t t = 0; t < tensors; ++t)
            empty.attach(tensor::allocate(pool, data_type::uint8, {0}).value());
        return std::move(empty).finish()->bytes();
    };
    for (const SparseValues form :
         {SparseValues::F32, SparseValues::F16, SparseValues::INT8, SparseValues::INT4})
        for (const sparse_algorithm algorithm : with_owners)
            for (std::uint32_t ranks = 2; ranks <= 9; ++ranks) {
                const codec_ptr how = with_error_feedback(make_top_codec(0.05f, form));
                const reducers_script s{.shapes = {{40, 50}}, .sums = 1};
                const reducers_sim run{s, how, ranks, {}, sparse_reducers(algorithm)};
                serial_sums serial{s, how, algorithm, ranks};
                serial.next(0);
                for (std::uint32_t r = 0; r < ranks; ++r) {
                    std::uint64_t words = 0;
                    for (const reduce_transfer& t : list_transfers(algorithm, r, ranks))
                        words += t.to == nobody ? 0 : words_of(2 * t.sends.count);
                    BOOST_TEST(run.sent_by(r).bytes == serial.bytes()[r] + words);
                }
            }
}

BOOST_AUTO_TEST_SUITE_END()

// All-reduce in 16 bits between stages of a script, over a thousand seeds.
#include <boost/test/unit_test.hpp>

#include <cmath>

#include "actors/collective/reducer.hpp"
#include "kernels/codec/codecs.hpp"
#include "tests/sim/reducers_sim.hpp"
#include "tests/support/seeds.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

reducers_sim::maker reducers_in_half(proto::AllReduceAlgorithm algorithm) {
    return [=](node_runtime& node, compressed_options o) {
        return node.spawn<reducer>("reducer",
                                   reducer_options{algorithm, o.compute, std::move(o.shapes),
                                                   o.averages, part_numbers{o.codec->half()}});
    };
}

// How far a number may be from what it is rounded to, as a share of it.
double roundoff(half_format format) {
    return format == half_format::bf16 ? 0x1p-8 : 0x1p-11;
}

// What the ranks give, decoded, and its sums in twice as many bits.
class given_numbers {
  public:
    struct total {
        std::vector<double> sum, magnitude; // of the magnitudes the sum
    };

    given_numbers(const reducers_script& s, const codec_ptr& how, std::uint32_t ranks)
        : script_{s}, how_{how} {
        for (std::uint32_t r = 0; r < ranks; ++r)
            encoders_.emplace_back(gradient_encoder::options{
                .how = how,
                .shapes = {s.shapes.begin() + static_cast<std::ptrdiff_t>(s.averages),
                           s.shapes.end()},
                .seed = s.seed,
                .replica = r,
                .replicas = ranks});
    }

    // Of each tensor. Called for one sum after the other.
    std::vector<total> next(std::uint64_t sum) {
        std::vector<total> totals;
        for (const tensor_shape& shape : script_.shapes)
            totals.push_back(
                {std::vector<double>(shape.elements()), std::vector<double>(shape.elements())});
        for (std::uint32_t r = 0; r < encoders_.size(); ++r) {
            if (script_.has_nothing(r, sum))
                continue;
            const auto own = script_.gradients(pool_, r, sum);
            const auto payloads =
                encoders_[r]
                    .encode(context_, 0, std::span{own}.subspan(script_.averages), 0)
                    .value();
            for (std::size_t t = 0; t < own.size(); ++t)
                add(totals[t], t < script_.averages ? own[t]
                                                    : decoded(context_, *how_, script_.shapes[t],
                                                              payloads[t - script_.averages])
                                                          .value());
        }
        return totals;
    }

    bool is_half(float x) {
        tensor one = tensor::allocate(pool_, data_type::float32, {1}).value();
        one.mutable_values<float>()[0] = x;
        const tensor payload =
            make_half_codec(*how_->half())->encode(context_, one, {}, {}).value();
        return decoded(context_, *how_, {1}, payload).value().values<float>()[0] == x;
    }

  private:
    void add(total& to, const tensor& more) {
        for (std::size_t i = 0; i < more.elements(); ++i) {
            const double x = script_.scale * more.values<float>()[i];
            to.sum[i] += x;
            to.magnitude[i] += std::abs(x);
        }
    }

    const reducers_script script_;
    const codec_ptr how_;
    memory_pool pool_{1u << 26};
    const std::unique_ptr<operations> ops_ = make_reference_operations();
    compute_context context_{*ops_, pool_};
    std::vector<gradient_encoder> encoders_; // by rank
};

} // namespace

BOOST_AUTO_TEST_SUITE(sums_in_half_over_seeds)

BOOST_AUTO_TEST_CASE(all_ranks_have_the_same_16_bits_as_near_to_the_sum_as_so_many_roundings_allow,
                     *seeded) {
    const auto algorithms = list_algorithms();
    for (const std::uint64_t seed : seed_range{1000}) {
        const auto ranks = static_cast<std::uint32_t>(3 + seed % 7);
        const auto format = seed % 2 == 0 ? half_format::bf16 : half_format::f16;
        const codec_ptr how = with_error_feedback(make_half_codec(format));
        const reducers_script s{
            .shapes = {{2}, {6, 7}, {5}, {3, 2, 4}}, .averages = 1, .seed = seed};
        const reducers_sim run{s, how, ranks, bad_weather,
                               reducers_in_half(algorithms[seed / 7 % algorithms.size()])};
        BOOST_TEST(run.all_ranks_have_the_same_bits());
        given_numbers given{s, how, ranks};
        for (std::uint64_t sum = 0; sum < s.sums; ++sum) {
            const auto totals = given.next(sum);
            for (std::size_t t = 0; t < s.shapes.size(); ++t)
                for (std::size_t i = 0; i < totals[t].sum.size(); ++i) {
                    const float x = run.records[0].sums[sum][t][i];
                    const double share = t < s.averages ? 0x1p-22 : roundoff(format);
                    BOOST_TEST(std::abs(static_cast<double>(x) - totals[t].sum[i]) <=
                               ranks * share * totals[t].magnitude[i] + 1e-6);
                    BOOST_TEST((t < s.averages || given.is_half(x)));
                }
        }
    }
}

BOOST_AUTO_TEST_CASE(ranks_take_two_bytes_for_each_number_of_the_rounds_and_four_for_averages) {
    memory_pool pool{1u << 20};
    frame_builder<proto::ReduceChunk> empty;
    empty.attach(tensor::allocate(pool, data_type::float32, {0}).value());
    const frame_ptr words = std::move(empty).finish();
    const codec_ptr how = with_error_feedback(make_half_codec(half_format::bf16));
    for (const proto::AllReduceAlgorithm algorithm : list_algorithms())
        for (std::uint32_t ranks = 2; ranks <= 9; ++ranks) {
            const reducers_script s{.shapes = {{30}, {40, 50}}, .averages = 1, .sums = 1};
            const reducers_sim run{s, how, ranks, {}, reducers_in_half(algorithm)};
            const std::size_t segments = segments_of(algorithm, ranks);
            for (std::uint32_t r = 0; r < ranks; ++r) {
                std::uint64_t bytes = 0;
                for (const reduce_transfer& t : list_transfers(algorithm, r, ranks))
                    for (std::size_t k = t.receives.first; k < t.receives.first + t.receives.count;
                         ++k)
                        bytes += 4 * elements_of(k, segments, 30).count +
                                 2 * elements_of(k, segments, 40 * 50).count;
                const auto taken = run.taken_by(r);
                BOOST_TEST(taken.bytes - taken.messages * words->bytes() == bytes);
            }
        }
}

BOOST_AUTO_TEST_SUITE_END()

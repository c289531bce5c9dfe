// All-reduce by blocks between stages of a script, over a thousand seeds.
#include <boost/test/unit_test.hpp>

#include <cmath>

#include "actors/collective/block_reducer.hpp"
#include "kernels/codec/codecs.hpp"
#include "tests/sim/reducers_sim.hpp"
#include "tests/support/seeds.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

actor_address block_reducer_at(node_runtime& node, compressed_options options) {
    return node.spawn<block_reducer>("reducer", std::move(options));
}

// Buckets that are several to a tensor, and one.
std::vector<codec_ptr> codecs_with_blocks() {
    return {
        make_quantized_codec("int8", {.levels = 127, .bucket = 8}),
        make_quantized_codec("qsgd", {.levels = 5, .bucket = 5, .norm = bucket_norm::euclidean}),
        make_quantized_codec("tern_grad", {.levels = 1, .clip = 2.5f}),
        with_error_feedback(make_sign_codec()), with_error_feedback(make_threshold_codec(0.4f))};
}

// All ranks in one loop: whole payloads, summed one rank after the other, and the sums encoded by their owners.
class serial_blocks {
  public:
    serial_blocks(const reducers_script& s, const codec_ptr& how, std::uint32_t ranks)
        : script_{s}, how_{how}, layout_{block_layout::make(
                                     how, std::span{s.shapes}.subspan(s.averages), ranks)} {
        for (std::uint32_t r = 0; r < ranks; ++r) {
            const auto first = s.shapes.begin() + static_cast<std::ptrdiff_t>(s.averages);
            stages_.push_back(encoder(how, {first, s.shapes.end()}, r));
            std::vector<tensor_shape> own;
            for (const owned_block& b : layout_.owned[r])
                own.push_back(b.shape);
            owners_.push_back(encoder(layout_.sums, own, ranks + r));
        }
    }

    // Called for one sum after the other: by tensor.
    std::vector<few_numbers> next(std::uint64_t sum) {
        std::vector<few_numbers> totals;
        for (const tensor_shape& shape : script_.shapes)
            totals.emplace_back(shape.elements());
        for (std::uint32_t r = 0; r < stages_.size(); ++r)
            if (!script_.has_nothing(r, sum))
                add(totals, r, sum);
        for (std::uint32_t r = 0; r < owners_.size(); ++r)
            encode_own(totals, r);
        return totals;
    }

    // What all ranks and all owners have not sent yet of a tensor.
    std::vector<double> kept(std::size_t t) const {
        std::vector<double> sum(script_.shapes[t].elements());
        const std::size_t number = t - script_.averages;
        for (const gradient_encoder& e : stages_)
            for (const tensor& state : states_of(e, number))
                for (std::size_t i = 0; i < sum.size(); ++i)
                    sum[i] += double{state.values<float>()[i]};
        for (std::size_t r = 0; r < owners_.size(); ++r)
            for (std::size_t b = 0; b < layout_.owned[r].size(); ++b) {
                const owned_block& block = layout_.owned[r][b];
                if (block.tensor != number)
                    continue;
                for (const tensor& state : states_of(owners_[r], b))
                    for (std::size_t i = 0; i < block.elements.count; ++i)
                        sum[block.elements.first + i] += double{state.values<float>()[i]};
            }
        return sum;
    }

  private:
    gradient_encoder encoder(const codec_ptr& how, std::vector<tensor_shape> shapes,
                             std::uint32_t replica) const {
        return gradient_encoder{
            {.how = how, .shapes = std::move(shapes), .seed = script_.seed, .replica = replica}};
    }
    static std::span<const tensor> states_of(const gradient_encoder& e, std::size_t number) {
        return e.state().empty() ? std::span<const tensor>{} : e.state()[number];
    }
    void add(std::vector<few_numbers>& totals, std::uint32_t rank, std::uint64_t sum) {
        const auto own = script_.gradients(pool_, rank, sum);
        const auto payloads =
            stages_[rank].encode(context_, 0, std::span{own}.subspan(script_.averages), 0).value();
        for (std::size_t t = 0; t < own.size(); ++t) {
            const tensor numbers =
                t < script_.averages
                    ? own[t]
                    : decoded(context_, *how_, script_.shapes[t], payloads[t - script_.averages])
                          .value();
            for (std::size_t i = 0; i < totals[t].size(); ++i)
                totals[t][i] += numbers.values<float>()[i];
        }
    }
    void encode_own(std::vector<few_numbers>& totals, std::uint32_t rank) {
        std::vector<tensor> sums;
        for (const owned_block& b : layout_.owned[rank]) {
            tensor t = tensor::allocate(pool_, data_type::float32, b.shape).value();
            const auto from = totals[script_.averages + b.tensor].begin() +
                              static_cast<std::ptrdiff_t>(b.elements.first);
            std::copy_n(from, t.elements(), t.mutable_values<float>().begin());
            sums.push_back(std::move(t));
        }
        if (sums.empty())
            return;
        const auto payloads = owners_[rank].encode(context_, 0, sums, 0).value();
        for (std::size_t b = 0; b < sums.size(); ++b) {
            const owned_block& block = layout_.owned[rank][b];
            const tensor d = decoded(context_, *layout_.sums, block.shape, payloads[b]).value();
            std::ranges::copy(d.values<float>(),
                              totals[script_.averages + block.tensor].begin() +
                                  static_cast<std::ptrdiff_t>(block.elements.first));
        }
    }

    const reducers_script script_;
    const codec_ptr how_;
    memory_pool pool_{1u << 26};
    const std::unique_ptr<operations> ops_ = make_reference_operations();
    compute_context context_{*ops_, pool_};
    const block_layout layout_;
    std::vector<gradient_encoder> stages_, owners_; // by rank
};

} // namespace

BOOST_AUTO_TEST_SUITE(sums_by_blocks_over_seeds)

BOOST_AUTO_TEST_CASE(sums_are_those_of_one_loop_bit_for_bit_and_nothing_is_lost, *seeded) {
    const auto codecs = codecs_with_blocks();
    const seed_range seeds{1000};
    for (const std::uint64_t seed : seeds) {
        const auto ranks = static_cast<std::uint32_t>(2 + seed % 8);
        const codec_ptr& how = codecs[seed / 8 % codecs.size()];
        const reducers_script s{
            .shapes = {{2}, {6, 7}, {5}, {3, 2, 4}}, .averages = 1, .seed = seed, .sums = 4};
        const reducers_sim run{s, how, ranks, bad_weather, block_reducer_at};
        BOOST_TEST(run.all_ranks_have_the_same_bits());
        serial_blocks serial{s, how, ranks};
        memory_pool pool{1u << 22};
        std::vector<std::vector<double>> given, applied;
        for (const tensor_shape& shape : s.shapes) {
            given.emplace_back(shape.elements());
            applied.emplace_back(shape.elements());
        }
        for (std::uint64_t sum = 0; sum < s.sums; ++sum) {
            const auto expected = serial.next(sum);
            for (std::uint32_t r = 0; r < ranks; ++r)
                for (std::size_t t = 0; t < s.shapes.size() && !s.has_nothing(r, sum); ++t) {
                    const tensor own = s.gradients(pool, r, sum)[t];
                    for (std::size_t i = 0; i < given[t].size(); ++i)
                        given[t][i] += double{own.values<float>()[i]};
                }
            for (std::size_t t = 0; t < s.shapes.size(); ++t)
                for (std::size_t i = 0; i < given[t].size(); ++i) {
                    const float x = run.records[0].sums[sum][t][i];
                    applied[t][i] += double{x} / double{s.scale};
                    if (t < s.averages) // in the order of another algorithm
                        BOOST_TEST(std::abs(x - s.scale * expected[t][i]) < 1e-5f);
                    else
                        BOOST_TEST(x == s.scale * expected[t][i]);
                }
        }
        // What has been applied, what all have kept and what owners have kept are all gradients.
        if (how->name() == "one_bit" || how->name() == "threshold")
            for (std::size_t t = s.averages; t < s.shapes.size(); ++t) {
                const auto kept = serial.kept(t);
                for (std::size_t i = 0; i < given[t].size(); ++i)
                    BOOST_TEST(std::abs(applied[t][i] + kept[i] - given[t][i]) < 1e-4);
            }
    }
}

BOOST_AUTO_TEST_CASE(ranks_send_the_bytes_that_are_planned) {
    memory_pool pool{1u << 20};
    frame_builder<proto::ReduceChunk> empty;
    empty.attach(tensor::allocate(pool, data_type::uint8, {0}).value());
    const frame_ptr words = std::move(empty).finish();
    for (const codec_ptr& how : codecs_with_blocks())
        for (std::uint32_t ranks = 2; ranks <= 9; ++ranks) {
            const reducers_script s{.shapes = {{40, 50}}, .sums = 1};
            const reducers_sim run{s, how, ranks, {}, block_reducer_at};
            const auto layout = block_layout::make(how, s.shapes, ranks);
            for (std::uint32_t r = 0; r < ranks; ++r) {
                const auto sent = run.sent_by(r);
                BOOST_TEST(sent.messages == 2 * (ranks - 1));
                const auto bytes = sent.bytes - sent.messages * words->bytes();
                BOOST_TEST(bytes <= layout.bytes_sent(r));
                BOOST_TEST((how->name() == "threshold" || bytes == layout.bytes_sent(r)));
            }
        }
}

BOOST_AUTO_TEST_SUITE_END()

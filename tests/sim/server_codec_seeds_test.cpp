// Compressed pushes over a thousand networks that delay, drop, duplicate and reorder: what the shards have applied and what
// the workers still keep is what was given, and each push is encoded once.
#include <boost/test/unit_test.hpp>

#include <map>

#include "kernels/codec/codecs.hpp"
#include "tests/sim/scripted_workers.hpp"
#include "tests/support/seeds.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

// A codec that tells a test what each worker has encoded and keeps.
class watched_codec final : public codec {
  public:
    explicit watched_codec(codec_ptr inner) : inner_{std::move(inner)} {}

    struct kept {
        std::uint64_t encoded = 0;
        std::vector<float> left;
    };
    mutable std::map<std::pair<std::uint32_t, std::uint32_t>, kept> of; // worker, tensor

    std::string_view name() const noexcept override { return inner_->name(); }
    result<std::vector<tensor>> first_state(memory_pool& memory, const tensor_shape& shape,
                                            const encode_place& at) const override {
        return inner_->first_state(memory, shape, at);
    }
    result<tensor> encode(compute_context& context, const tensor& gradient, std::span<tensor> state,
                          const encode_place& at) const override {
        auto payload = inner_->encode(context, gradient, state, at);
        kept& entry = of[{at.replica, at.tensor}];
        BOOST_TEST(at.step == entry.encoded++);
        entry.left.assign(state[0].values<float>().begin(), state[0].values<float>().end());
        return payload;
    }
    std::uint64_t payload_bytes(const tensor_shape& shape) const override {
        return inner_->payload_bytes(shape);
    }
    result<void> check(const tensor_shape& shape, const tensor& payload) const override {
        return inner_->check(shape, payload);
    }
    result<void> decode(compute_context& context, const tensor& payload, float factor,
                        const tensor* addend, tensor& output) const override {
        return inner_->decode(context, payload, factor, addend, output);
    }

  private:
    codec_ptr inner_;
};

// Numbers of a quarter, and halves of 1, are exact in all but the means of signs.
struct lossy {
    codec_ptr how;
    float tolerance;
};
lossy codec_of(std::uint64_t seed) {
    switch (seed % 4) {
    case 0:
        return {make_threshold_codec(0.25f), 0};
    case 1:
        return {make_top_codec(0.01f), 0};
    case 2:
        return {make_half_codec(half_format::bf16), 0};
    default:
        return {make_sign_codec(), 1e-4f};
    }
}

void check_nothing_is_lost(const played_server& run, const watched_codec& codec, float tolerance) {
    const std::size_t workers = run.logs.size();
    for (std::uint32_t shard = 0; shard < run.logs[0].last.size(); ++shard) {
        std::vector<float> found = run.logs[0].last[shard]; // less than nothing
        for (float& x : found)
            x = -x;
        for (const auto& [who, kept] : codec.of)
            for (std::size_t i = 0; who.second == shard && i < found.size(); ++i)
                found[i] += kept.left[i];
        std::vector<float> given(found.size());
        for (std::uint32_t e = 0; e < epochs_of_workers; ++e)
            for (std::size_t w = 0; w < workers; ++w)
                for (std::uint64_t c = 0; c < run.logs[w].pushes[e]; ++c)
                    given[element_of(workers, e, w, c)] = 1;
        float worst = 0;
        for (std::size_t i = 0; i < given.size(); ++i)
            worst = std::max(worst, std::abs(found[i] - given[i]));
        BOOST_TEST(worst <= tolerance, "shard " << shard << " is off by " << worst);
    }
}

} // namespace

BOOST_AUTO_TEST_SUITE(compressed_pushes_over_many_seeds)

BOOST_AUTO_TEST_CASE(what_is_applied_and_what_is_left_is_what_was_given_and_nothing_twice,
                     *seeded) {
    const seed_range seeds{1000};
    std::uint64_t left_over = 0;
    for (const std::uint64_t seed : seeds) {
        const auto staleness = static_cast<std::uint32_t>(seed / 4 % 3);
        const consistency rules[] = {{.staleness = staleness}, {}, {.bound = 1}};
        const std::size_t rule = seed / 12 % 3;
        const lossy lost = codec_of(seed);
        const auto codec = std::make_shared<watched_codec>(with_error_feedback(lost.how));
        const played_server run{rules[rule],
                                seed,
                                wild,
                                random_shares(seed, rule == 0 && staleness == 0),
                                {.codec = codec, .unanswered = rule == 1 ? 50u : 0u}};
        BOOST_REQUIRE(run.ended);
        check_nothing_is_lost(run, *codec, lost.tolerance);
        for (std::uint32_t w = 0; w < run.logs.size(); ++w) {
            const std::uint64_t pushes = run.logs[w].pushes[0] + run.logs[w].pushes[1];
            for (std::uint32_t shard = 0; pushes > 0 && shard < 2; ++shard)
                BOOST_TEST((codec->of.at({w, shard}).encoded == pushes));
        }
        for (const auto& [who, kept] : codec->of)
            left_over += std::ranges::count_if(kept.left, [](float x) { return x != 0; }) > 0;
    }
    if (!seeds.are_few()) // else it would say little
        BOOST_TEST(left_over > seeds.size());
}

BOOST_AUTO_TEST_SUITE_END()

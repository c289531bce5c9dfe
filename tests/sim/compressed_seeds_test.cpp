// All-reduce of compressed gradients between stages of a script, over a thousand seeds.
#include <boost/test/unit_test.hpp>

#include <bit>
#include <cmath>
#include <map>

#include "actors/collective/low_rank_reducer.hpp"
#include "actors/collective/sparse_reducer.hpp"
#include "kernels/codec/codecs.hpp"
#include "tests/sim/reducers_sim.hpp"
#include "tests/support/seeds.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

constexpr sparse_algorithm sparse_algorithms[] = {sparse_algorithm::recursive_doubling,
                                                  sparse_algorithm::split_all_gather,
                                                  sparse_algorithm::split_dense};

reducers_sim::maker sparse_reducers(sparse_algorithm algorithm) {
    return [=](node_runtime& node, compressed_options options) {
        return node.spawn<sparse_reducer>("reducer", std::move(options), algorithm);
    };
}

// Numbers by rank, summed one after the other in the order in which the algorithm says.
few_numbers serial_sum(sparse_algorithm algorithm, std::vector<few_numbers> of) {
    const std::size_t ranks = of.size(), elements = of[0].size();
    const auto add = [&](few_numbers& to, const few_numbers& more) {
        for (std::size_t i = 0; i < elements; ++i)
            to[i] += more[i];
    };
    if (algorithm == sparse_algorithm::recursive_doubling) {
        const std::size_t power = std::bit_floor(ranks), pairs = ranks - power;
        std::vector<few_numbers> places;
        for (std::size_t r = 0; r < ranks; ++r)
            if (r < 2 * pairs && r % 2 == 1)
                add(places.back(), of[r]);
            else
                places.push_back(of[r]);
        for (std::size_t away = 1; away < power; away *= 2)
            for (std::size_t p = 0; p < power; p += 2 * away)
                add(places[p], places[p + away]);
        return places[0];
    }
    few_numbers sum(elements);
    for (std::size_t s = 0; s < ranks; ++s) {
        const index_range block = elements_of(s, ranks, elements);
        for (std::size_t i = block.first; i < block.first + block.count; ++i) {
            sum[i] = of[s][i];
            for (std::size_t away = 1; away < ranks; ++away)
                sum[i] += of[(s + ranks - away) % ranks][i];
        }
    }
    return sum;
}

// What every rank sends in every sum, decoded: by sum and rank the numbers of the dense row and of the sparse one.
class expected_parts {
  public:
    expected_parts(const reducers_script& s, const codec_ptr& how, std::uint32_t ranks)
        : layout_{sparse_layout::of(*how, s.shapes, s.averages)}, parts_(s.sums) {
        for (std::uint32_t r = 0; r < ranks; ++r) {
            gradient_encoder encoder{
                {.how = how,
                 .shapes = {s.shapes.begin() + static_cast<std::ptrdiff_t>(s.averages),
                            s.shapes.end()},
                 .seed = s.seed,
                 .replica = r,
                 .replicas = ranks}};
            for (std::uint64_t sum = 0; sum < s.sums; ++sum)
                parts_[sum].push_back(rows_of(s, *how, encoder, r, sum));
        }
    }

    std::array<few_numbers, 2> sums(sparse_algorithm algorithm, std::uint64_t sum) const {
        std::array<few_numbers, 2> rows;
        for (std::size_t row = 0; row < 2; ++row) {
            std::vector<few_numbers> of;
            for (const auto& part : parts_[sum])
                of.push_back(part[row]);
            rows[row] = serial_sum(algorithm, std::move(of));
        }
        return rows;
    }
    const sparse_layout& layout() const { return layout_; }

  private:
    std::array<few_numbers, 2> rows_of(const reducers_script& s, const codec& how,
                                       gradient_encoder& encoder, std::uint32_t rank,
                                       std::uint64_t sum) {
        std::array<few_numbers, 2> rows{few_numbers(layout_.load.dense),
                                        few_numbers(layout_.load.dimension)};
        if (s.has_nothing(rank, sum))
            return rows;
        const auto own = s.gradients(pool_, rank, sum);
        const auto payloads = encoder.encode(context_, 0, std::span{own}.subspan(s.averages), 0);
        std::size_t begins[] = {0, 0};
        for (std::size_t t = 0; t < own.size(); ++t) {
            const tensor numbers =
                t < s.averages
                    ? own[t]
                    : decoded(context_, how, s.shapes[t], payloads.value()[t - s.averages]).value();
            std::size_t& begin = begins[layout_.is_sparse[t]];
            std::ranges::copy(numbers.values<float>(), rows[layout_.is_sparse[t]].begin() +
                                                           static_cast<std::ptrdiff_t>(begin));
            begin += numbers.elements();
        }
        return rows;
    }

    memory_pool pool_{1u << 26};
    const std::unique_ptr<operations> ops_ = make_reference_operations();
    compute_context context_{*ops_, pool_};
    sparse_layout layout_;
    std::vector<std::vector<std::array<few_numbers, 2>>> parts_;
};

void check_sums(const reducers_sim& run, const reducers_script& s, const codec_ptr& how,
                sparse_algorithm algorithm) {
    const expected_parts parts{s, how, static_cast<std::uint32_t>(run.records.size())};
    BOOST_TEST(run.all_ranks_have_the_same_bits());
    for (std::uint64_t sum = 0; sum < s.sums; ++sum) {
        const auto rows = parts.sums(algorithm, sum);
        std::size_t begins[] = {0, 0};
        for (std::size_t t = 0; t < s.shapes.size(); ++t) {
            const bool row = parts.layout().is_sparse[t];
            for (const float x : run.records[0].sums[sum][t])
                BOOST_TEST(x == s.scale * rows[row][begins[row]++]);
        }
    }
}

// The same rounds without actors, of one tensor that is sparse: what each rank takes.
std::vector<reducers_sim::traffic> taken_in_one_loop(const reducers_script& s, const codec_ptr& how,
                                                     sparse_algorithm algorithm,
                                                     std::uint32_t ranks) {
    memory_pool pool{1u << 24};
    const auto ops = make_reference_operations();
    compute_context context{*ops, pool};
    std::vector<sparse_reduction> all;
    for (std::uint32_t r = 0; r < ranks; ++r) {
        const auto own = s.gradients(pool, r, 0);
        gradient_encoder encoder{{.how = how, .shapes = s.shapes, .seed = s.seed, .replica = r}};
        const tensor payload = encoder.encode(context, 0, own, 0).value()[0];
        const std::size_t count = payload.bytes() / 8;
        std::vector<std::uint32_t> indices(count);
        std::memcpy(indices.data(), payload.data(), 4 * count);
        all.emplace_back(algorithm, r, ranks,
                         sparse_vector::make(s.shapes[0].elements(), std::move(indices),
                                             few_numbers(count, 1.0f)));
    }
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<sparse_vector>>
        under_way; // to, round
    std::vector<reducers_sim::traffic> taken(ranks);
    for (bool moved = true; moved;) {
        moved = false;
        for (std::uint32_t r = 0; r < ranks; ++r) {
            while (const reduce_transfer* const t = all[r].next_to_send()) {
                under_way.emplace(std::pair{t->to, t->round}, all[r].send());
                moved = true;
            }
            const reduce_transfer* const t = all[r].next_to_take();
            if (!t || !under_way.contains({r, t->round}))
                continue;
            const auto part = under_way.extract({r, t->round}).mapped();
            ++taken[r].messages;
            for (const sparse_vector& segment : part)
                taken[r].bytes += segment.bytes();
            BOOST_REQUIRE(all[r].accept(part).ok());
            moved = true;
        }
    }
    return taken;
}

actor_address low_rank_reducer_at(node_runtime& node, compressed_options options) {
    return node.spawn<low_rank_reducer>("reducer", std::move(options));
}

// All ranks with factors in one loop, summed one rank after the other.
class serial_factors {
  public:
    serial_factors(const reducers_script& s, const codec_ptr& how, std::uint32_t ranks)
        : script_{s}, how_{how}, state_(ranks) {
        for (auto& of_rank : state_)
            for (std::size_t t = 0; t < s.shapes.size(); ++t)
                of_rank.push_back(
                    how->first_state(
                           pool_, s.shapes[t],
                           {.seed = s.seed, .tensor = static_cast<std::uint32_t>(t - s.averages)})
                        .value());
    }

    std::vector<few_numbers> next(std::uint64_t sum) {
        std::vector<few_numbers> sums;
        for (std::size_t t = 0; t < script_.shapes.size(); ++t) {
            const bool is_matrix =
                t >= script_.averages && how_->low_rank()->shapes_of(script_.shapes[t]);
            const tensor total = is_matrix ? product(t, sum) : whole(t, sum);
            sums.emplace_back(total.values<float>().begin(), total.values<float>().end());
        }
        return sums;
    }

  private:
    // The scaled sum of what some ranks have.
    template <class Part>
    tensor total_of(const tensor_shape& shape, std::uint64_t sum, Part part) {
        tensor total = tensor::allocate(pool_, data_type::float32, shape).value();
        std::ranges::fill(total.mutable_values<float>(), 0.f);
        for (std::uint32_t r = 0; r < state_.size(); ++r) {
            if (script_.has_nothing(r, sum))
                continue;
            const tensor more = part(r);
            for (std::size_t i = 0; i < total.elements(); ++i)
                total.mutable_values<float>()[i] += script_.scale * more.values<float>()[i];
        }
        return total;
    }
    tensor whole(std::size_t t, std::uint64_t sum) {
        return total_of(script_.shapes[t], sum,
                        [&](std::uint32_t r) { return script_.gradients(pool_, r, sum)[t]; });
    }
    tensor product(std::size_t t, std::uint64_t sum) {
        const low_rank_factors& f = *how_->low_rank();
        const auto shapes = *f.shapes_of(script_.shapes[t]);
        const tensor left = total_of(shapes.left, sum, [&](std::uint32_t r) {
            return f.left(context_, script_.gradients(pool_, r, sum)[t], state_[r][t]).value();
        });
        const tensor basis = f.basis(context_, left).value();
        const tensor right = total_of(shapes.right, sum, [&](std::uint32_t r) {
            return f.right(context_, basis, state_[r][t]).value();
        });
        tensor output = tensor::allocate(pool_, data_type::float32, script_.shapes[t]).value();
        for (auto& of_rank : state_)
            BOOST_REQUIRE(f.product(context_, basis, right, of_rank[t], output).ok());
        return output;
    }

    const reducers_script script_;
    const codec_ptr how_;
    memory_pool pool_{1u << 26};
    const std::unique_ptr<operations> ops_ = make_reference_operations();
    compute_context context_{*ops_, pool_};
    std::vector<std::vector<std::vector<tensor>>> state_; // by rank, by tensor
};

} // namespace

BOOST_AUTO_TEST_SUITE(compressed_sums_over_seeds)

BOOST_AUTO_TEST_CASE(a_sparse_sum_is_the_serial_one_in_the_order_of_its_rounds_on_all_ranks,
                     *seeded) {
    const std::vector<codec_ptr> codecs{
        with_error_feedback(make_top_codec(0.05f)), with_error_feedback(make_top_codec(0.3f)),
        with_error_feedback(make_top_codec(1)),
        make_deep_gradient_codec({.ratio = 0.1f, .clip_norm = 1, .warmup_epochs = 1})};
    for (const std::uint64_t seed : seed_range{1000}) {
        const auto ranks = static_cast<std::uint32_t>(2 + seed % 8);
        const codec_ptr& how = codecs[seed / 8 % codecs.size()];
        const sparse_algorithm algorithm = sparse_algorithms[seed % 3];
        const reducers_script s{
            .shapes = {{2}, {6, 7}, {5}, {3, 2, 4}}, .averages = 1, .seed = seed};
        const reducers_sim run{s, how, ranks, bad_weather, sparse_reducers(algorithm)};
        check_sums(run, s, how, algorithm);
    }
}

BOOST_AUTO_TEST_CASE(summed_factors_make_the_serial_product_on_all_ranks, *seeded) {
    for (const std::uint64_t seed : seed_range{1000}) {
        const auto ranks = static_cast<std::uint32_t>(2 + seed % 8);
        const codec_ptr how = make_low_rank_codec(1 + seed % 2);
        const reducers_script s{
            .shapes = {{2}, {6, 7}, {5}, {3, 2, 4}, {2, 2}}, .averages = 1, .seed = seed};
        const reducers_sim run{s, how, ranks, bad_weather, low_rank_reducer_at};
        BOOST_TEST(run.all_ranks_have_the_same_bits());
        serial_factors serial{s, how, ranks};
        for (std::uint64_t sum = 0; sum < s.sums; ++sum) {
            const auto expected = serial.next(sum);
            for (std::size_t t = 0; t < s.shapes.size(); ++t)
                for (std::size_t i = 0; i < expected[t].size(); ++i)
                    BOOST_TEST(std::abs(run.records[0].sums[sum][t][i] - expected[t][i]) < 1e-3f);
        }
    }
}

// Each of two sums takes as much as one of a reducer.
BOOST_AUTO_TEST_CASE(ranks_take_the_bytes_of_both_factors_sums) {
    memory_pool pool{1u << 20};
    frame_builder<proto::ReduceChunk> empty;
    empty.attach(tensor::allocate(pool, data_type::float32, {0}).value());
    const frame_ptr words = std::move(empty).finish();
    for (std::uint32_t ranks = 2; ranks <= 9; ++ranks) {
        const reducers_script s{.shapes = {{40, 50}, {30}}, .sums = 1};
        const reducers_sim run{s, make_low_rank_codec(2), ranks, {}, low_rank_reducer_at};
        const auto algorithm = choose(proto::AllReduceAlgorithm::AUTO, ranks, 2 * 40 + 30);
        const std::size_t segments = segments_of(algorithm, ranks);
        for (std::uint32_t r = 0; r < ranks; ++r) {
            std::uint64_t bytes = 0;
            for (const reduce_transfer& t : list_transfers(algorithm, r, ranks))
                for (const std::size_t elements : {2 * 40 + 30, 2 * 50})
                    for (std::size_t k = 0; k < t.receives.count; ++k)
                        bytes += 4 * elements_of(t.receives.first + k, segments, elements).count;
            const auto taken = run.taken_by(r);
            BOOST_TEST(taken.bytes - taken.messages * words->bytes() == bytes);
        }
    }
}

// What the rounds say is tied to formulas in tests/unit/actors_collective/sparse_reduce_test.cpp. The row of what is sent
// as it is has nothing here.
BOOST_AUTO_TEST_CASE(ranks_take_the_bytes_that_the_rounds_say) {
    const codec_ptr how = with_error_feedback(make_top_codec(0.05f));
    memory_pool pool{1u << 20};
    frame_builder<proto::ReduceChunk> empty;
    for (int t = 0; t < 2; ++t)
        empty.attach(tensor::allocate(pool, data_type::uint8, {0}).value());
    const frame_ptr words = std::move(empty).finish();
    for (const sparse_algorithm algorithm : sparse_algorithms)
        for (std::uint32_t ranks = 2; ranks <= 9; ++ranks) {
            const reducers_script s{.shapes = {{40, 50}}, .sums = 1};
            const reducers_sim run{s, how, ranks, {}, sparse_reducers(algorithm)};
            const auto said = taken_in_one_loop(s, how, algorithm, ranks);
            for (std::uint32_t r = 0; r < ranks; ++r) {
                const auto taken = run.taken_by(r);
                BOOST_TEST(taken.messages == said[r].messages);
                BOOST_TEST(taken.bytes == said[r].bytes + said[r].messages * words->bytes());
            }
        }
}

BOOST_AUTO_TEST_SUITE_END()

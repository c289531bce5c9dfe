// The numbers of all ranks of an all-reduce, handed from one to the other in one loop.
#include <boost/test/unit_test.hpp>

#include <cstring>
#include <map>
#include <random>

#include "actors/collective/reduction.hpp"

using namespace troupe;
using algorithm = proto::AllReduceAlgorithm;

namespace {

struct setting {
    algorithm by;
    rank_nodes ranks;
    std::vector<tensor_shape> shapes;
    std::size_t message_elements = 16;
    float scale = 1;
    bool with_zeros = false; // the last rank has none of its own
    std::uint32_t order = 1; // of who goes on first
    part_numbers numbers{};
    std::size_t averages = 0; // float32 whatever the numbers are
    bool are_integers = false;
    bool uses_places = false; // parts are received where the reduction says
};

struct world {
    std::vector<reduction_plan> plans;
    std::vector<std::vector<std::vector<float>>> inputs; // by rank and tensor
    std::vector<std::vector<std::vector<float>>> sums;
    std::size_t placed = 0;        // parts that were received where the reduction said
    std::vector<std::size_t> sent; // elements, by rank
};

std::vector<float> flat(const std::vector<std::vector<float>>& tensors) {
    std::vector<float> all;
    for (const auto& t : tensors)
        all.insert(all.end(), t.begin(), t.end());
    return all;
}

// As a stage submits it: a tensor, or a row of numbers of 16 bits.
tensor as_given(const part_numbers& numbers, memory_pool& memory, const tensor& t) {
    if (!numbers.is_half())
        return t;
    tensor row = numbers.new_row(memory, t.elements()).value();
    numbers.write(t.values<float>().data(), row.mutable_data(), t.elements());
    return row;
}

// Any rank and slice may go on whenever it can.
world sum_up(const setting& s) {
    world w;
    memory_pool memory{1u << 26};
    const std::uint32_t ranks = s.ranks.ranks();
    std::mt19937 random{s.order}, values{7};
    std::vector<reduction> all;
    w.sent.resize(ranks);
    for (std::uint32_t r = 0; r < ranks; ++r)
        w.plans.push_back(reduction_plan::make(s.shapes, s.by, r, s.ranks, s.message_elements,
                                               s.averages, s.numbers));
    for (std::uint32_t r = 0; r < ranks; ++r) {
        reduction& one = all.emplace_back(w.plans[r], memory, s.scale);
        auto& own = w.inputs.emplace_back();
        std::vector<tensor> given;
        for (const tensor_shape& shape : s.shapes) {
            tensor t = tensor::allocate(memory, data_type::float32, shape).value();
            for (float& x : t.mutable_values<float>())
                x = s.with_zeros && r + 1 == ranks ? 0.0f
                    : s.are_integers
                        ? static_cast<float>(std::uniform_int_distribution{-9, 9}(values))
                        : std::uniform_real_distribution<float>{-1, 1}(values);
            own.emplace_back(t.values<float>().begin(), t.values<float>().end());
            if (given.size() >= s.averages)
                t = as_given(s.numbers, memory, t);
            given.push_back(std::move(t));
        }
        if (s.with_zeros && r + 1 == ranks)
            BOOST_REQUIRE(one.submit_zeros().ok());
        else
            one.submit(0, std::move(given));
    }
    std::map<std::tuple<std::uint32_t, std::size_t, std::uint32_t>, tensor> under_way;
    std::vector<std::pair<std::uint32_t, std::size_t>> places;
    for (std::uint32_t r = 0; r < ranks; ++r)
        for (std::size_t slice = 0; slice < w.plans[r].slices.size(); ++slice)
            places.emplace_back(r, slice);
    for (bool moved = true; moved;) {
        moved = false;
        std::ranges::shuffle(places, random);
        for (const auto& [r, slice] : places) {
            const reduce_transfer* const t = all[r].next(slice);
            if (!t)
                continue;
            if (!all[r].has_sent(slice)) {
                moved = true;
                if (const tensor part = all[r].part_to_send(slice).value()) {
                    w.sent[r] += part.bytes() / w.plans[r].numbers_of(slice).bytes(1);
                    BOOST_TEST(under_way.emplace(std::tuple{t->to, slice, t->round}, part).second);
                }
            }
            if (w.plans[r].elements_of(slice, t->receives).count > 0) {
                const auto part = under_way.extract({r, slice, t->round});
                if (part.empty())
                    continue;
                tensor place = s.uses_places ? all[r].place_of(slice, *t).value() : tensor{};
                if (place) {
                    BOOST_REQUIRE(place.bytes() == part.mapped().bytes());
                    std::memcpy(place.mutable_data(), part.mapped().data(), place.bytes());
                    ++w.placed;
                }
                BOOST_REQUIRE(all[r].accept(slice, place ? place : part.mapped()).ok());
            }
            moved = true;
            all[r].step(slice);
        }
    }
    BOOST_TEST(under_way.empty());
    for (std::uint32_t r = 0; r < ranks; ++r) {
        auto& of_rank = w.sums.emplace_back();
        const auto made = std::move(all[r]).sums().value();
        for (std::size_t i = 0; i < made.size(); ++i) {
            BOOST_TEST((made[i].shape() == s.shapes[i]));
            of_rank.emplace_back(made[i].values<float>().begin(), made[i].values<float>().end());
        }
    }
    return w;
}

const std::vector<std::vector<tensor_shape>> some_shapes = {
    {{1}},
    {{5}},
    {{3, 3}, {2}, {1}, {7}},
    {{1}, {100, 10}, {10}, {33, 5}, {2}},
};

} // namespace

BOOST_AUTO_TEST_SUITE(reductions)

BOOST_AUTO_TEST_CASE(all_ranks_end_with_the_same_bits_which_are_the_serial_sum) {
    for (const algorithm a : list_algorithms())
        for (std::uint32_t ranks = 1; ranks <= 9; ++ranks)
            for (const auto& shapes : some_shapes) {
                BOOST_TEST_CONTEXT(name_of(a) << " of " << ranks) {
                    const float scale = 1.0f / static_cast<float>(ranks);
                    const world w = sum_up({a, ranks, shapes, 16, scale, false, ranks});
                    for (std::uint32_t r = 1; r < ranks; ++r)
                        BOOST_TEST((w.sums[r] == w.sums[0]));
                    const auto sums = flat(w.sums[0]);
                    for (std::size_t e = 0; e < sums.size(); ++e) {
                        double serial = 0;
                        for (const auto& inputs : w.inputs)
                            serial += static_cast<double>(flat(inputs)[e]);
                        BOOST_TEST(std::abs(serial * static_cast<double>(scale) -
                                            static_cast<double>(sums[e])) < 1e-6);
                    }
                }
            }
}

BOOST_AUTO_TEST_CASE(the_bytes_sent_are_those_of_the_formula_however_slices_are_cut) {
    const std::vector<tensor_shape> shapes = {{48, 35}, {120, 105}}; // a multiple of 2 to 8 ranks
    for (const algorithm a : list_algorithms())
        for (std::uint32_t ranks = 2; ranks <= 8; ++ranks)
            for (const std::size_t message : {1u, 16u, 1000u, 1u << 20}) {
                const world w = sum_up({a, ranks, shapes, message});
                BOOST_TEST(std::ranges::max(w.sent) ==
                           elements_sent_max(a, ranks, w.plans[0].elements()));
            }
    for (std::uint32_t ranks = 2; ranks <= 8; ++ranks)
        for (const std::size_t sent : sum_up({algorithm::RING, ranks, shapes}).sent)
            BOOST_TEST(sent == 2 * (ranks - 1) * (48 * 35 + 120 * 105u) / ranks);
}

BOOST_AUTO_TEST_CASE(ranks_on_the_same_nodes_sum_the_same) {
    const rank_nodes nodes{{0, 0, 1, 2, 1, 0, 2}};
    for (const algorithm a : list_algorithms()) {
        const world w = sum_up({a, nodes, some_shapes[3]});
        for (const auto& sums : w.sums)
            BOOST_TEST((sums == w.sums[0]));
    }
}

BOOST_AUTO_TEST_CASE(no_order_of_messages_changes_a_bit) {
    for (const algorithm a : list_algorithms())
        for (const bool zeros : {false, true}) {
            const setting s{a, 5, some_shapes[3], 16, 0.5f, zeros};
            const world first = sum_up(s);
            for (std::uint32_t order = 2; order < 40; ++order) {
                setting other = s;
                other.order = order;
                const world again = sum_up(other);
                BOOST_TEST((again.sums == first.sums));
            }
        }
}

BOOST_AUTO_TEST_CASE(what_is_received_in_its_place_gives_the_same_bits) {
    for (const algorithm a : list_algorithms())
        for (std::uint32_t ranks = 2; ranks <= 6; ++ranks)
            for (const auto& shapes : some_shapes) {
                setting s{a, ranks, shapes, 16, 0.3f};
                const world without = sum_up(s);
                s.uses_places = true;
                const world with = sum_up(s);
                BOOST_TEST((with.sums == without.sums));
                BOOST_TEST(without.placed == 0u);
                if (shapes.size() == 1 &&
                    a == algorithm::RING) // each segment, at all ranks but one
                    BOOST_TEST(with.placed == (ranks - 1) * std::min<std::size_t>(
                                                                ranks, with.plans[0].elements()));
                s.numbers = part_numbers{half_format::bf16}; // which are not what the results hold
                BOOST_TEST(sum_up(s).placed == 0u);
            }
}

// Integers that stay below 2^8 are such numbers, and so are all their sums.
BOOST_AUTO_TEST_CASE(in_16_bits_sums_are_the_serial_ones_where_nothing_is_rounded) {
    for (const half_format format : {half_format::bf16, half_format::f16})
        for (const algorithm a : list_algorithms())
            for (std::uint32_t ranks = 2; ranks <= 9; ++ranks)
                for (const auto& shapes : some_shapes)
                    BOOST_TEST_CONTEXT(name_of(a) << " of " << ranks) {
                        setting s{a, ranks, shapes, 16, 0.5f, ranks % 2 == 0, ranks};
                        s.numbers = part_numbers{format};
                        s.averages = shapes.size() > 2 ? 1 : 0;
                        s.are_integers = true;
                        const world w = sum_up(s);
                        std::vector<float> serial(w.plans[0].elements());
                        for (const auto& inputs : w.inputs)
                            std::ranges::transform(serial, flat(inputs), serial.begin(),
                                                   std::plus{});
                        for (float& x : serial)
                            x *= s.scale;
                        for (const auto& sums : w.sums)
                            BOOST_TEST((flat(sums) == serial));
                    }
}

BOOST_AUTO_TEST_CASE(in_16_bits_no_order_of_messages_changes_a_bit_on_any_rank) {
    for (const algorithm a : list_algorithms()) {
        setting s{a, 5, some_shapes[3], 16, 0.3f};
        s.numbers = part_numbers{half_format::bf16};
        s.averages = 1;
        const world first = sum_up(s);
        for (const auto& sums : first.sums)
            BOOST_TEST((sums == first.sums[0]));
        for (s.order = 2; s.order < 20; ++s.order)
            BOOST_TEST((sum_up(s).sums == first.sums));
    }
}

BOOST_AUTO_TEST_CASE(what_lies_in_one_tensor_is_sent_as_it_is) {
    memory_pool memory{1u << 20};
    const auto plan = reduction_plan::make({{64}, {8}}, algorithm::RING, 0, 2);
    reduction one{plan, memory, 1};
    tensor large = tensor::allocate(memory, data_type::float32, {64}).value();
    tensor small = tensor::allocate(memory, data_type::float32, {8}).value();
    std::ranges::fill(large.mutable_values<float>(), 1.0f);
    std::ranges::fill(small.mutable_values<float>(), 2.0f);
    one.submit(0, {large, small});
    BOOST_TEST(one.part_to_send(0).value().data() == large.data());
    BOOST_REQUIRE(one.accept(0, tensor::allocate(memory, data_type::float32, {36}).value()).ok());
    one.step(0);
    const tensor second = one.part_to_send(0).value(); // ends in the other tensor
    BOOST_TEST(second.elements() == 36u);
}

BOOST_AUTO_TEST_SUITE_END()

#include <algorithm>
#include <cmath>
#include <numeric>
#include <sstream>

#include "schemas/base/random.hpp"
#include "tests/conformance/case_tools.hpp"

namespace troupe::test {

namespace {

constexpr std::size_t ants = 4;

struct tours_case : operation_case {
    std::size_t cities, candidates;
    double power = 1;
    bool both_ways = true;

    // Places of cities, and what nearness and trails are made of.
    std::vector<tensor_shape> input_shapes() const override {
        return {{cities, 2}, {cities, candidates}};
    }
    tensor_shape output_shape() const override { return {ants, cities}; }
    double forward_flops() const override {
        return static_cast<double>(ants * cities * candidates);
    }
    double backward_flops() const override { return 0; }
    bool has_no_gpu_form() const override { return true; }

  protected:
    tours_case(std::size_t cities, std::size_t candidates)
        : cities{cities}, candidates{candidates} {}

    // What both operations read and change.
    struct table {
        tensor places, near, nearness, trails, weights;

        trail_operands operands(const tours_case& of) {
            return {near, nearness, trails, weights, of.power, of.both_ways};
        }
        std::vector<tensor> outputs(compute_context& context, const tensor& tours) const {
            return {as_floats(context, tours), as_floats(context, trails),
                    as_floats(context, weights)};
        }
    };
    table made_table(compute_context& context, const std::vector<tensor>& inputs) const {
        table t{poisoned(context, {cities, 2}, data_type::float64),
                poisoned(context, {cities, candidates}, data_type::int32),
                poisoned(context, {cities, candidates}, data_type::float64),
                poisoned(context, {cities, candidates}, data_type::float64),
                poisoned(context, {cities, candidates}, data_type::float64)};
        std::ranges::copy(inputs[0].values<float>(), t.places.mutable_values<double>().begin());
        for (std::size_t c = 0; c < cities; ++c)
            put_nearest(t.places.values<double>(), c,
                        t.near.mutable_values<std::int32_t>().subspan(c * candidates, candidates));
        const auto made_of = inputs[1].values<float>();
        for (std::size_t e = 0; e < made_of.size(); ++e) {
            t.nearness.mutable_values<double>()[e] = std::abs(double{made_of[e]});
            t.trails.mutable_values<double>()[e] = 0.1 + static_cast<double>(e % 7);
            t.weights.mutable_values<double>()[e] =
                trail_power(t.trails.values<double>()[e], power) * t.nearness.values<double>()[e];
        }
        return t;
    }

  private:
    static tensor as_floats(compute_context& context, const tensor& numbers) {
        tensor floats = poisoned(context, {std::max<std::size_t>(1, numbers.elements())});
        const auto to = floats.mutable_values<float>();
        std::ranges::fill(to, 0.f);
        for (std::size_t i = 0; i < numbers.elements(); ++i)
            to[i] = numbers.type() == data_type::int32
                        ? static_cast<float>(numbers.values<std::int32_t>()[i])
                        : static_cast<float>(numbers.values<double>()[i]);
        return floats;
    }
    void put_nearest(std::span<const double> places, std::size_t from,
                     std::span<std::int32_t> near) const {
        std::vector<std::int32_t> others(cities);
        std::iota(others.begin(), others.end(), 0);
        std::erase(others, static_cast<std::int32_t>(from));
        std::ranges::sort(others, {}, [&](std::int32_t to) {
            const auto t = static_cast<std::size_t>(to);
            return std::hypot(places[2 * from] - places[2 * t],
                              places[2 * from + 1] - places[2 * t + 1]);
        });
        std::copy_n(others.begin(), near.size(), near.begin());
    }
};

struct construct_case final : tours_case {
    city_choice choice;
    double greed;
    double taken_share;
    bool by_lengths;

    construct_case(std::size_t cities, std::size_t candidates, city_choice choice, double greed = 0,
                   double taken_share = 0, bool by_lengths = false)
        : tours_case{cities, candidates}, choice{choice}, greed{greed}, taken_share{taken_share},
          by_lengths{by_lengths} {
        both_ways = !by_lengths;
        power = taken_share > 0 ? 2 : 1;
    }

    std::string name() const override {
        std::ostringstream text;
        text << "construct_tours " << cities << " cities, " << candidates << " candidates, "
             << (choice == city_choice::exact ? "exact" : "independent");
        if (greed > 0)
            text << ", greed " << greed;
        if (taken_share > 0)
            text << ", taken up " << taken_share;
        if (by_lengths)
            text << ", by lengths";
        return text.str();
    }

    prepared_case prepare(compute_context& context, const std::vector<tensor>& inputs,
                          const tensor&) const override {
        struct state {
            table on;
            tensor lengths, tours;
        };
        auto s = std::make_shared<state>(state{
            made_table(context, inputs), poisoned(context, {cities, cities}, data_type::int32),
            poisoned(context, {ants, cities}, data_type::int32)});
        random_stream random{5};
        for (std::int32_t& length : s->lengths.mutable_values<std::int32_t>())
            length = static_cast<std::int32_t>(random.below(20)); // many are the same
        auto& ops = context.ops;
        return {[=, this, &ops] {
                    return ops.run(construct_tours{.choice = choice,
                                                   .seed = 3,
                                                   .first_ant = 17,
                                                   .greed = greed,
                                                   .taken = {taken_share, 0.25},
                                                   .on = s->on.operands(*this),
                                                   .places = by_lengths ? nullptr : &s->on.places,
                                                   .lengths = by_lengths ? &s->lengths : nullptr,
                                                   .tours = s->tours});
                },
                nullptr, [=, &context] { return s->on.outputs(context, s->tours); }, nullptr};
    }
};

struct update_case final : tours_case {
    bool laid_alone;

    update_case(std::size_t cities, std::size_t candidates, double power, bool both_ways,
                bool laid_alone = false)
        : tours_case{cities, candidates}, laid_alone{laid_alone} {
        this->power = power;
        this->both_ways = both_ways;
    }

    std::string name() const override {
        std::ostringstream text;
        text << "update_trails " << cities << " cities, " << candidates << " candidates, power "
             << power << (both_ways ? ", both ways" : ", one way")
             << (laid_alone ? ", on tours alone" : "");
        return text.str();
    }

    prepared_case prepare(compute_context& context, const std::vector<tensor>& inputs,
                          const tensor&) const override {
        struct state {
            table on;
            tensor amounts, tours;
        };
        auto s = std::make_shared<state>(
            state{made_table(context, inputs), poisoned(context, {ants}, data_type::float64),
                  poisoned(context, {ants, cities}, data_type::int32)});
        random_stream random{6};
        for (std::size_t i = 0; i < ants; ++i) {
            s->amounts.mutable_values<double>()[i] = random.uniform();
            const auto tour = s->tours.mutable_values<std::int32_t>().subspan(i * cities, cities);
            std::iota(tour.begin(), tour.end(), 0);
            for (std::size_t c = cities; c > 1; --c)
                std::swap(tour[c - 1], tour[random.below(c)]);
        }
        auto& ops = context.ops;
        return {[=, this, &ops] {
                    return ops.run(update_trails{.kept = 0.8,
                                                 .evaporates_laid_alone = laid_alone,
                                                 .low = 0.5,
                                                 .high = 4.5,
                                                 .tours = s->tours,
                                                 .amounts = s->amounts,
                                                 .on = s->on.operands(*this)});
                },
                nullptr, [=, &context] { return s->on.outputs(context, s->tours); }, nullptr};
    }
};

} // namespace

void add_tours_cases(cases& to) {
    for (const auto choice : {city_choice::exact, city_choice::independent}) {
        add<construct_case>(to, 3, 2, choice);
        add<construct_case>(to, 67, 10, choice);
        add<construct_case>(to, 67, 1, choice); // the nearest one, mostly
        add<construct_case>(to, 53, 7, choice, 0.5, 0.1);
        add<construct_case>(to, 41, 5, choice, 0.0, 0.0, true);
    }
    add<construct_case>(to, 29, 20, city_choice::exact, 1.0);
    for (const bool both_ways : {true, false})
        for (const double power : {0.0, 1.0, 3.0, 1.5})
            add<update_case>(to, 47, 9, power, both_ways);
    add<update_case>(to, 47, 9, 1.0, true, true);
    add<update_case>(to, 3, 2, 1.0, true);
}

} // namespace troupe::test

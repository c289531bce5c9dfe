// Every back end gives what the reference gives, gradients are derivatives, and the same operands give the same bits.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "kernels/reference/reference.hpp"
#include "tests/conformance/case_runs.hpp"
#include "tests/unit/kernels/backends.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

void check_bit_equal(const outcome& a, const outcome& b, const std::string& what) {
    for (std::size_t i = 0; i < a.outputs.size(); ++i)
        BOOST_TEST(bit_equal(a.outputs[i], b.outputs[i]), what << ": output " << i << " differs");
    for (std::size_t i = 0; i < a.gradients.size(); ++i)
        BOOST_TEST(bit_equal(a.gradients[i], b.gradients[i]),
                   what << ": gradient " << i << " differs");
}

bool is_refused(const operations& ops, const operation_case& row) {
    return row.has_no_gpu_form() && ops.name() == "cuda";
}

// The same elements where oneDNN and the compiler would rather not have them: 4 bytes behind a cache line.
tensor misaligned(memory_pool& pool, const tensor& t) {
    buffer_ref storage = pool.allocate(t.bytes() + 4).value();
    std::copy_n(t.data(), t.bytes(), storage->data() + 4);
    return tensor{t.type(), t.shape(), storage, 4};
}

// Memory of a pool with as much again behind each piece, and a line more, that is to stay as it is.
class watched_memory final : public memory_source {
  public:
    std::byte* take(std::size_t bytes) override {
        auto& piece = pieces_.emplace_back(
            static_cast<std::byte*>(std::aligned_alloc(line, 2 * bytes + line)), bytes);
        std::fill_n(piece.first + bytes, bytes + line, untouched);
        return piece.first;
    }
    void give_back(std::byte* memory, std::size_t) override {
        std::erase_if(pieces_, [&](const auto& piece) { return piece.first == memory; });
        std::free(memory);
    }
    bool is_whole() const {
        return std::ranges::all_of(pieces_, [](const auto& piece) {
            const auto [first, bytes] = piece;
            return std::all_of(first + bytes, first + 2 * bytes + line,
                               [](std::byte b) { return b == untouched; });
        });
    }

  private:
    static constexpr std::size_t line = 64;
    static constexpr std::byte untouched{0x5a};
    std::vector<std::pair<std::byte*, std::size_t>> pieces_;
};

} // namespace

BOOST_AUTO_TEST_SUITE(operations_conformance)

BOOST_AUTO_TEST_CASE(every_back_end_gives_what_the_reference_gives) {
    operand_pool pool{1ull << 30};
    const auto reference = make_reference_operations();
    compute_context oracle{*reference, pool};
    for (const auto& row : operation_cases()) {
        const auto inputs = inputs_of(pool, *row);
        const tensor gradient = random_tensor(pool, row->output_shape(), 9);
        const outcome expected = run(oracle, *row, inputs, gradient);
        for (const auto& backend : backends()) {
            const auto ops = backend.make(pool);
            compute_context context{*ops, pool};
            if (is_refused(*ops, *row))
                continue;
            const outcome given = run(context, *row, inputs, gradient);
            check_close(given.outputs, expected.outputs, row->tolerance(),
                        backend.name + ", " + row->name() + ": output");
            check_close(given.gradients, expected.gradients, row->tolerance(),
                        backend.name + ", " + row->name() + ": gradient");
        }
    }
}

// At 0, of a function that is computed in float32. Where there are no kinks a wider step, and four points for it, keep what
// is rounded small beside what changes.
double slope(const std::function<double(float)>& f, bool kinks) {
    if (kinks) {
        constexpr float h = 8e-3f; // less than half of what spaced_tensor leaves
        return (f(h) - f(-h)) / (2 * double{h});
    }
    constexpr float h = 3e-2f;
    return (8 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12 * double{h});
}

BOOST_AUTO_TEST_CASE(gradients_match_finite_differences) {
    operand_pool pool{1ull << 30};
    for (const auto& backend : backends()) {
        const auto ops = backend.make(pool);
        compute_context context{*ops, pool};
        for (const auto& row : operation_cases()) {
            // Kinks inside a chain cannot be kept away from; fused operations are compared with their parts instead.
            const bool fused = row->has_kinks() && row->input_shapes().size() > 1;
            if (fused || row->is_rounded() || row->backward_flops() == 0 ||
                row->forward_flops() > 1e6)
                continue;
            auto inputs = inputs_of(pool, *row);
            const tensor gradient = random_tensor(pool, row->output_shape(), 9);
            const auto analytic = run(context, *row, inputs, gradient).gradients;
            const auto objective = [&] {
                const tensor output = run(context, *row, inputs, gradient).outputs.front();
                double sum = 0;
                for (std::size_t i = 0; i < output.elements(); ++i)
                    sum += double{output.values<float>()[i]} * double{gradient.values<float>()[i]};
                return sum;
            };
            random_stream random{4};
            for (std::size_t i = 0; i < inputs.size(); ++i)
                for (int probe = 0; probe < 4; ++probe) {
                    const std::size_t e = random.below(inputs[i].elements());
                    float& x = inputs[i].mutable_values<float>()[e];
                    const float kept = x;
                    const auto at = [&](float offset) {
                        x = kept + offset;
                        return objective();
                    };
                    const double numeric = slope(at, row->has_kinks());
                    x = kept;
                    const double given = double{analytic[i].values<float>()[e]};
                    BOOST_TEST(std::abs(numeric - given) <= 2e-3 * std::max(1.0, std::abs(numeric)),
                               backend.name << ", " << row->name() << ": gradient " << i << "[" << e
                                            << "] is " << given << ", numerically " << numeric);
                }
        }
    }
}

// Half precision has no such numbers; each factor's scale keeps them.
BOOST_AUTO_TEST_CASE(in_f16_numbers_of_any_size_are_multiplied_as_exactly_as_others) {
    constexpr float large = 0x1p40f, small = 0x1p-60f;
    std::size_t tried = 0;
    operand_pool pool{1ull << 30};
    const auto scaled = [&](const tensor& t, float by) {
        tensor made = tensor::allocate(pool, data_type::float32, t.shape()).value();
        std::ranges::transform(t.values<float>(), made.mutable_values<float>().begin(),
                               [&](float x) { return x * by; });
        return made;
    };
    for (const auto& backend : backends()) {
        const auto ops = backend.make(pool);
        compute_context context{*ops, pool};
        for (const auto& row : operation_cases()) {
            const std::string name = row->name();
            if (!name.ends_with(", f16") ||
                !(name.starts_with("linear") || name.starts_with("conv2d")))
                continue;
            ++tried;
            auto inputs = inputs_of(pool, *row); // numbers, weight and perhaps bias
            const tensor gradient = random_tensor(pool, row->output_shape(), 9);
            const outcome expected = run(context, *row, inputs, gradient);
            for (std::size_t i = 0; i < inputs.size(); ++i)
                if (i != 1)
                    inputs[i] = scaled(inputs[i], large);
            const outcome given = run(context, *row, inputs, scaled(gradient, small));
            outcome as_large{{scaled(expected.outputs[0], large)}, {}};
            for (std::size_t i = 0; i < inputs.size(); ++i)
                as_large.gradients.push_back(
                    scaled(expected.gradients[i], i == 1 ? small * large : small));
            check_bit_equal(as_large, given, backend.name + (", " + name));
        }
    }
    BOOST_TEST((tried > 0 || std::getenv("TROUPE_CASES") != nullptr), "no case is in f16");
}

BOOST_AUTO_TEST_CASE(results_depend_neither_on_addresses_nor_on_the_thread_nor_on_earlier_calls) {
    operand_pool pool{1ull << 30};
    for (const auto& backend : backends()) {
        const auto ops = backend.make(pool);
        compute_context context{*ops, pool};
        for (const auto& row : operation_cases()) {
            if (is_refused(*ops, *row))
                continue;
            const auto inputs = inputs_of(pool, *row);
            const tensor gradient = random_tensor(pool, row->output_shape(), 9);
            const outcome first = run(context, *row, inputs, gradient);

            std::vector<tensor> moved;
            for (const auto& input : inputs)
                moved.push_back(misaligned(pool, input));
            const outcome elsewhere = run(context, *row, moved, misaligned(pool, gradient));
            check_bit_equal(first, elsewhere, backend.name + " elsewhere, " + row->name());

            const auto fresh = backend.make(pool);
            compute_context fresh_context{*fresh, pool};
            outcome in_thread;
            std::thread{[&] { in_thread = run(fresh_context, *row, inputs, gradient); }}.join();
            check_bit_equal(first, in_thread, backend.name + " in another thread, " + row->name());
        }
    }
}

BOOST_AUTO_TEST_CASE(no_operation_writes_behind_the_memory_that_it_asks_for) {
    operand_pool operands{1ull << 30};
    for (const auto& backend : backends())
        for (const auto& row : operation_cases()) {
            auto source = std::make_unique<watched_memory>();
            const watched_memory& memory = *source;
            memory_pool pool{1ull << 30, std::move(source), memory_kind::host};
            const auto ops = backend.make(pool);
            if (ops->name() != "cpu")
                continue;
            compute_context context{*ops, pool};
            run(context, *row, inputs_of(operands, *row),
                random_tensor(operands, row->output_shape(), 9));
            BOOST_TEST(memory.is_whole(), row->name());
        }
}

BOOST_AUTO_TEST_CASE(what_gpus_have_no_form_of_is_refused_in_a_line) {
    operand_pool pool{1ull << 30};
    for (const auto& backend : backends()) {
        const auto ops = backend.make(pool);
        compute_context context{*ops, pool};
        for (const auto& row : operation_cases()) {
            if (!is_refused(*ops, *row))
                continue;
            const auto done = row->prepare(context, inputs_of(pool, *row),
                                           random_tensor(pool, row->output_shape(), 9))
                                  .forward();
            BOOST_REQUIRE(!done);
            BOOST_TEST((done.failure().code() == errc::usage));
            BOOST_TEST(done.failure().message() ==
                       row->name().substr(0, row->name().find(' ')) +
                           ": GPUs have no form of this operation; give its work to processor "
                           "cores, as with --devices cpu:1");
        }
    }
}

BOOST_AUTO_TEST_CASE(operands_that_do_not_fit_are_refused_with_their_shapes) {
    operand_pool pool{1 << 20};
    for (const auto& backend : backends()) {
        const auto ops = backend.make(pool);
        const tensor input = random_tensor(pool, {2, 3}, 1);
        const tensor weight = random_tensor(pool, {5, 3}, 2);
        const tensor bias = random_tensor(pool, {4}, 3);
        tensor output = random_tensor(pool, {2, 5}, 4);
        const auto refused = ops->run(linear_forward{input, weight, &bias, output});
        BOOST_REQUIRE(!refused);
        BOOST_TEST(refused.failure().message() ==
                   "linear_forward: bias is float32 [4], expected float32 [5]");
        // relu's backward pass takes its output.
        for (const auto activation : {std::optional<pointwise>{}, std::optional{pointwise::relu}})
            BOOST_TEST(!ops->run(linear_forward{.input = input,
                                                .weight = weight,
                                                .bias = nullptr,
                                                .output = output,
                                                .activation = activation,
                                                .pre_activation = &output})
                            .ok());
        const tensor images = random_tensor(pool, {1, 3, 4, 4}, 1);
        const tensor kernel = random_tensor(pool, {2, 4, 3, 3}, 1);
        tensor convolved = random_tensor(pool, {1, 2, 2, 2}, 1);
        BOOST_TEST(!ops->run(conv2d_forward{{}, images, kernel, &bias, convolved}).ok());
        BOOST_TEST(
            !ops->run(conv2d_forward{{.input_block = 2}, images, kernel, &bias, convolved}).ok());
        BOOST_TEST(!ops->run(pointwise_forward{pointwise::relu, images, output}).ok());
        BOOST_TEST(!ops->run(pointwise_forward{pointwise::relu, tensor{}, output}).ok());
        const auto adam = [&](std::span<const tensor> state, std::span<tensor> new_state) {
            return ops->run(adam_update{{},
                                        {.learning_rate = 1,
                                         .step = 1,
                                         .gradient = bias,
                                         .weight = bias,
                                         .state = state,
                                         .new_weight = new_state[0],
                                         .new_state = new_state}});
        };
        const std::vector<tensor> moments{bias, output};
        std::vector<tensor> new_moments{random_tensor(pool, {4}, 5), random_tensor(pool, {4}, 6)};
        BOOST_TEST(adam(moments, new_moments).failure().message() ==
                   "adam_update: exp_avg_sq is float32 [2, 5], expected float32 [4]");
        BOOST_TEST(adam(std::span{moments}.first(1), new_moments).failure().message() ==
                   "adam_update: keeps 2 tensors beside the weight, not 1 and 2 new ones");
    }
}

BOOST_AUTO_TEST_SUITE_END()

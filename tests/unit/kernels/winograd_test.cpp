// Winograd's loops of every instruction set beside what is exact, and which convolutions go by them. That whole operations
// give what the reference gives is checked with the others, by rows of tests/conformance/images_cases.cpp.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <utility>
#include <vector>

#include "kernels/cpu/instruction_set.hpp"
#include "kernels/cpu/loops.hpp"
#include "kernels/cpu/winograd_runner.hpp"
#include "tests/unit/kernels/exact_floats.hpp"

using namespace troupe;
using namespace troupe::cpu;
using test::difference, test::guarded_floats;

namespace {

struct table {
    const winograd_loops& loops;
    std::vector<std::size_t> blocks; // of images, that it takes
};

// Those that this machine can run.
std::vector<table> all_tables() {
    std::vector<table> all{{winograd_loops_baseline, {8, 16}}};
#if defined(__x86_64__)
    if (widest_instruction_set() >= instruction_set::avx2)
        all.push_back({winograd_loops_avx2, {8, 16}});
    if (widest_instruction_set() >= instruction_set::avx512)
        all.push_back({winograd_loops_avx512, {16}});
#endif
    return all;
}

std::size_t out_height(const winograd_task& t) {
    return t.height + 2 * t.padding - 2;
}
std::size_t out_width(const winograd_task& t) {
    return t.width + 2 * t.padding - 2;
}

// Where a pixel is in images in blocks of channels.
std::size_t place(const winograd_task& t, std::size_t channels, std::size_t pixels, std::size_t s,
                  std::size_t c, std::size_t pixel) {
    return ((s * channels + c / t.block * t.block) * pixels) + pixel * t.block + c % t.block;
}

struct results {
    guarded_floats output, to_input, to_weight, to_bias;
    friend bool operator==(const results&, const results&) = default;
};

struct operands {
    guarded_floats input, weight, bias, to_output;

    operands(const winograd_task& t, random_stream& random)
        : input{t.samples * t.in * t.height * t.width, random}, weight{t.in * t.out * 9, random},
          bias{t.out, random}, to_output{t.samples * t.out * out_height(t) * out_width(t), random} {
    }
};

results computed(const winograd_loops& loops, const winograd_task& t, const operands& o) {
    const winograd_task back{t.samples,     t.block,      t.out,        t.in,
                             out_height(t), out_width(t), 2 - t.padding};
    results r{guarded_floats{o.to_output.size(), -1}, guarded_floats{o.input.size(), -1},
              guarded_floats{o.weight.size(), -1}, guarded_floats{t.out}};
    guarded_floats packed{loops.weight_floats(t)}, sums{loops.weight_floats(t)};
    guarded_floats space{std::max(loops.workspace_floats(t), loops.workspace_floats(back))};
    loops.pack(t, o.weight.data(), packed.data());
    loops.convolve(t, o.input.data(), packed.data(), o.bias.data(), r.output.data(), space.data());
    loops.pack_backward(t, o.weight.data(), packed.data());
    loops.convolve(back, o.to_output.data(), packed.data(), nullptr, r.to_input.data(),
                   space.data());
    loops.add_weight_gradient(t, o.input.data(), o.to_output.data(), sums.data(), r.to_bias.data(),
                              space.data());
    loops.unpack_weight_gradient(t, sums.data(), r.to_weight.data());
    for (const auto* all :
         {&packed, &sums, &space, &r.output, &r.to_input, &r.to_weight, &r.to_bias})
        BOOST_TEST(all->is_whole());
    return r;
}

// The sums of a convolution in doubles.
struct exact_convolution {
    std::vector<double> output, to_input, to_weight, to_bias;

    exact_convolution(const winograd_task& t, const operands& o)
        : output(o.to_output.size()), to_input(o.input.size()), to_weight(o.weight.size()),
          to_bias(t.out) {
        for (std::size_t s = 0; s < t.samples; ++s)
            for (std::size_t c = 0; c < t.out; ++c)
                for (std::size_t y = 0; y < out_height(t); ++y)
                    for (std::size_t x = 0; x < out_width(t); ++x)
                        add_pixel(t, o, s, c, y, x);
    }

  private:
    void add_pixel(const winograd_task& t, const operands& o, std::size_t s, std::size_t c,
                   std::size_t y, std::size_t x) {
        const std::size_t to =
            place(t, t.out, out_height(t) * out_width(t), s, c, y * out_width(t) + x);
        const double gradient = double{o.to_output[to]};
        double sum = double{o.bias[c]};
        for (std::size_t k = 0; k < 9; ++k) {
            const std::size_t row = y + k / 3 - t.padding, column = x + k % 3 - t.padding;
            if (row >= t.height || column >= t.width)
                continue;
            for (std::size_t i = 0; i < t.in; ++i) {
                const std::size_t from =
                    place(t, t.in, t.height * t.width, s, i, row * t.width + column);
                const std::size_t w = (c * t.in + i) * 9 + k;
                sum += double{o.input[from]} * double{o.weight[w]};
                to_input[from] += gradient * double{o.weight[w]};
                to_weight[w] += gradient * double{o.input[from]};
            }
        }
        output[to] = sum;
        to_bias[c] += gradient;
    }
};

// Tiles that end with the image and that do not, more tiles than are transformed at a time, and vectors left over.
std::vector<winograd_task> tasks(std::size_t block) {
    return {{1, block, block, block, 4, 4, 1},        {3, block, 2 * block, 3 * block, 7, 5, 1},
            {2, block, 3 * block, block, 6, 9, 0},    {1, block, block, 2 * block, 1, 2, 2},
            {2, block, 5 * block, 48, 13, 13, 2},     {1, block, 16, 32, 55, 54, 1},
            {5, block, 3 * block, 3 * block, 3, 3, 1}};
}

convolution_shape shape(std::size_t in, std::size_t size, std::size_t out, std::size_t kernel = 3,
                        std::size_t stride = 1, std::size_t padding = 1) {
    conv2d_settings settings;
    settings.stride = stride;
    settings.padding = padding;
    return {2, in, size, size, out, kernel, kernel, true, settings};
}

} // namespace

BOOST_AUTO_TEST_CASE(every_instruction_set_convolves_and_gives_gradients_near_the_exact_ones) {
    random_stream random{1};
    for (const table& set : all_tables())
        for (const std::size_t block : set.blocks)
            for (const winograd_task& t : tasks(block)) {
                BOOST_TEST_CONTEXT("block " << block << ", " << t.in << " to " << t.out << ", "
                                            << t.height << " x " << t.width) {
                    const operands o{t, random};
                    const results found = computed(set.loops, t, o);
                    const exact_convolution exact{t, o};
                    BOOST_TEST(difference(found.output, exact.output) < 5e-6);
                    BOOST_TEST(difference(found.to_input, exact.to_input) < 5e-6);
                    BOOST_TEST(difference(found.to_weight, exact.to_weight) < 5e-6);
                    BOOST_TEST(difference(found.to_bias, exact.to_bias) < 5e-6);
                    BOOST_TEST((computed(set.loops, t, o) == found), "the same bits again");
                }
            }
}

BOOST_AUTO_TEST_CASE(samples_one_after_another_give_the_bits_that_they_give_together) {
    random_stream random{2};
    for (const table& set : all_tables()) {
        const std::size_t block = set.blocks.front();
        const winograd_task t{3, block, 2 * block, 2 * block, 9, 9, 1};
        winograd_task one = t;
        one.samples = 1;
        const operands o{t, random};
        const results together = computed(set.loops, t, o);
        guarded_floats packed{set.loops.weight_floats(t)}, sums{set.loops.weight_floats(t)};
        guarded_floats space{set.loops.workspace_floats(t)}, output{o.to_output.size()};
        guarded_floats to_bias{t.out}, to_weight{o.weight.size(), -1};
        set.loops.pack(t, o.weight.data(), packed.data());
        for (std::size_t s = 0; s < t.samples; ++s) {
            const float* images = o.input.data() + s * t.in * t.height * t.width;
            const std::size_t to = s * t.out * out_height(t) * out_width(t);
            set.loops.convolve(one, images, packed.data(), o.bias.data(), output.data() + to,
                               space.data());
            set.loops.add_weight_gradient(one, images, o.to_output.data() + to, sums.data(),
                                          to_bias.data(), space.data());
        }
        set.loops.unpack_weight_gradient(t, sums.data(), to_weight.data());
        BOOST_TEST((output == together.output));
        BOOST_TEST((to_weight == together.to_weight));
        BOOST_TEST((to_bias == together.to_bias));
    }
}

BOOST_AUTO_TEST_CASE(slices_of_channels_give_the_bits_that_all_give_together) {
    random_stream random{3};
    for (const table& set : all_tables()) {
        const std::size_t block = set.blocks.front();
        const winograd_task t{2, block, 3 * block, 3 * block, 9, 6, 1};
        const std::size_t in_pixels = t.height * t.width, out_pixels = out_height(t) * out_width(t);
        const operands o{t, random};
        const results together = computed(set.loops, t, o);
        results found{guarded_floats{o.to_output.size()}, guarded_floats{o.input.size()},
                      guarded_floats{o.weight.size()}, guarded_floats{t.out}};
        // Two slices of one and of two blocks have the space of all.
        for (const std::size_t first : {std::size_t{0}, block}) {
            const std::size_t count = first == 0 ? block : 2 * block;
            winograd_task some_out = t, some_in = t;
            some_out.out_all = std::exchange(some_out.out, count);
            some_in.in_all = std::exchange(some_in.in, count);
            const winograd_task back{t.samples,    t.block,       t.out, count, out_height(t),
                                     out_width(t), 2 - t.padding, 0,     t.in};
            guarded_floats packed{set.loops.weight_floats(t)}, sums{set.loops.weight_floats(t)};
            guarded_floats bias{t.out}, space{2 * set.loops.workspace_floats(t)};
            set.loops.pack(some_out, o.weight.data() + first * t.in * 9, packed.data());
            set.loops.convolve(some_out, o.input.data(), packed.data(), o.bias.data() + first,
                               found.output.data() + first * out_pixels, space.data());
            set.loops.pack_backward(some_in, o.weight.data() + first * 9, packed.data());
            set.loops.convolve(back, o.to_output.data(), packed.data(), nullptr,
                               found.to_input.data() + first * in_pixels, space.data());
            set.loops.add_weight_gradient(some_in, o.input.data() + first * in_pixels,
                                          o.to_output.data(), sums.data(), bias.data(),
                                          space.data());
            set.loops.unpack_weight_gradient(some_in, sums.data(),
                                             found.to_weight.data() + first * 9);
            found.to_bias = bias;
        }
        BOOST_TEST((found == together));
    }
}

// More weights than are transformed at a time, of more samples than are convolved at a time, in blocks and row-major.
BOOST_AUTO_TEST_CASE(slices_of_channels_and_parts_of_a_batch_give_the_bits_that_all_give_together) {
    random_stream random{4};
    for (const table& set : all_tables()) {
        memory_pool pool{1 << 28};
        const std::size_t block = set.blocks.front();
        const winograd_task t{3, block, 32, 2064, 24, 24, 1};
        const operands o{t, random};
        const results together = computed(set.loops, t, o);
        winograd_runner runner{pool, block, set.loops, loops_baseline, bf16_loops_baseline};
        const auto tensor_of = [&](const tensor_shape& shape, const guarded_floats* values) {
            tensor made = tensor::allocate(pool, data_type::float32, shape).value();
            if (values == nullptr)
                std::ranges::fill(made.mutable_values<float>(), -1.f);
            else
                std::copy_n(values->data(), values->size(), made.mutable_values<float>().data());
            return made;
        };
        const auto converted = [&](const tensor& from, std::size_t channels, bool separates) {
            tensor to = tensor_of(from.shape(), nullptr);
            (separates ? loops_baseline.separate : loops_baseline.interleave)(
                from.values<float>().data(), to.mutable_values<float>().data(),
                t.samples * channels / block, block, t.height * t.width);
            return to;
        };
        const auto same = [](const tensor& found, const guarded_floats& expected) {
            return std::equal(found.values<float>().begin(), found.values<float>().end(),
                              expected.data());
        };
        const tensor weight = tensor_of({t.out, t.in, 3, 3}, &o.weight);
        const tensor bias = tensor_of({t.out}, &o.bias);
        const tensor images = tensor_of({t.samples, t.in, t.height, t.width}, &o.input);
        const tensor to_output = tensor_of({t.samples, t.out, t.height, t.width}, &o.to_output);
        for (const bool blocked : {true, false}) {
            convolution_shape all = shape(t.in, t.height, t.out);
            all.samples = t.samples;
            all.settings.input_block = all.settings.output_block = blocked ? block : 1;
            BOOST_TEST(samples_at_a_time(all) < t.samples);
            const tensor input = blocked ? images : converted(images, t.in, true);
            const tensor gradient = blocked ? to_output : converted(to_output, t.out, true);
            tensor output = tensor_of(to_output.shape(), nullptr);
            tensor to_input = tensor_of(images.shape(), nullptr);
            tensor to_weight = tensor_of(weight.shape(), nullptr);
            tensor to_bias = tensor_of(bias.shape(), nullptr);
            const std::uint64_t held = pool.statistics().bytes_in_use;
            runner.run(forward_convolution{all, input, weight, &bias, output});
            runner.run(
                backward_convolution{all, input, weight, gradient, &to_input, to_weight, &to_bias});
            // Of the sums and transformed weights of half of the channels; of all of them they would take 19 MB.
            const std::size_t rest = sizeof(float) * set.loops.workspace_floats(t);
            if (blocked)
                BOOST_TEST(pool.statistics().bytes_in_use_peak - held < rest + 12'000'000);
            BOOST_TEST(same(blocked ? output : converted(output, t.out, false), together.output));
            BOOST_TEST(
                same(blocked ? to_input : converted(to_input, t.in, false), together.to_input));
            BOOST_TEST(same(to_weight, together.to_weight));
            BOOST_TEST(same(to_bias, together.to_bias));
        }
    }
}

BOOST_AUTO_TEST_CASE(winograd_suits_three_by_three_kernels_at_stride_one_with_enough_channels) {
    memory_pool pool{1 << 20};
    const winograd_runner narrow{pool, 8, winograd_loops_avx2, loops_baseline, bf16_loops_baseline};
    const winograd_runner wide{pool, 16, winograd_loops_avx512, loops_baseline,
                               bf16_loops_baseline};
    for (const winograd_runner* runner : {&narrow, &wide}) {
        BOOST_TEST(runner->suits(shape(32, 14, 64)));
        BOOST_TEST(runner->suits(shape(64, 4, 80, 3, 1, 2)));
        BOOST_TEST(runner->suits(shape(32, 13, 16, 3, 1, 0)));
        BOOST_TEST(!runner->suits(shape(1, 28, 32))); // channels not in blocks
        BOOST_TEST(!runner->suits(shape(32, 5, 64))); // most of the tiles would lie outside
        BOOST_TEST(!runner->suits(shape(32, 14, 64, 5)));
        BOOST_TEST(!runner->suits(shape(32, 14, 64, 3, 2)));
        BOOST_TEST(!runner->suits(shape(32, 14, 64, 3, 1, 3)));
        BOOST_TEST(runner->suits(shape(512, 4, 512))); // more than a cache holds, slice after slice
        BOOST_TEST(runner->suits(shape(1024, 7, 1024)));
        convolution_shape grouped = shape(32, 14, 64);
        grouped.settings.groups = 2;
        BOOST_TEST(!runner->suits(grouped));
    }
    // Direct convolutions of few channels are faster with AVX-512 than with AVX2.
    BOOST_TEST(narrow.suits(shape(16, 14, 16)));
    BOOST_TEST(!wide.suits(shape(16, 14, 16)));
    BOOST_TEST(narrow.suits(shape(24, 14, 40)));
    BOOST_TEST(!wide.suits(shape(24, 14, 40)));
}

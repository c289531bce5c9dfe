// The loops for few channels of every instruction set beside what is exact, and which convolutions go by them. That whole
// operations give what the reference gives is checked with the others, by rows of tests/conformance/images_cases.cpp.
#include <boost/test/unit_test.hpp>

#include <vector>

#include "kernels/cpu/few_channels_runner.hpp"
#include "kernels/cpu/instruction_set.hpp"
#include "kernels/cpu/loops.hpp"
#include "tests/unit/kernels/exact_floats.hpp"
#include "tests/unit/kernels/models.hpp"

using namespace troupe;
using namespace troupe::cpu;
using test::difference, test::guarded_floats;

namespace {

struct table {
    const few_channels_loops& loops;
    std::vector<std::size_t> blocks; // of gradients, that it takes
};

// Those that this machine can run.
std::vector<table> all_tables() {
    std::vector<table> all{{few_channels_loops_baseline, {8, 16}}};
#if defined(__x86_64__)
    if (widest_instruction_set() >= instruction_set::avx2)
        all.push_back({few_channels_loops_avx2, {8, 16}});
    if (widest_instruction_set() >= instruction_set::avx512)
        all.push_back({few_channels_loops_avx512, {16}});
#endif
    return all;
}

struct window {
    std::size_t height, width, stride, padding;
};

few_channels_task task(std::size_t samples, std::size_t block, std::size_t in, std::size_t out,
                       std::size_t height, std::size_t width, const window& w) {
    return {.samples = samples,
            .block = block,
            .in = in,
            .out = out,
            .height = height,
            .width = width,
            .out_height = windows_along(height, w.height, w.stride, w.padding),
            .out_width = windows_along(width, w.width, w.stride, w.padding),
            .kernel_height = w.height,
            .kernel_width = w.width,
            .stride = w.stride,
            .padding = w.padding};
}

std::vector<few_channels_task> tasks(std::size_t block) {
    return {task(1, block, 1, block, 3, 3, {3, 3, 1, 0}),
            task(3, block, 1, 2 * block, 28, 28, {3, 3, 1, 1}),
            task(2, block, 3, 3 * block, 9, 7, {3, 3, 1, 1}),
            task(2, block, 3, 5 * block, 17, 14, {11, 11, 4, 5}),
            task(1, block, 2, block, 5, 8, {1, 2, 3, 0}),
            task(4, block, 7, 2 * block, 6, 5, {5, 3, 2, 4})};
}

struct sums {
    guarded_floats to_weight, to_bias;
    friend bool operator==(const sums&, const sums&) = default;
};

// So many samples at a time.
sums computed(const few_channels_loops& loops, const few_channels_task& t, std::size_t at_a_time,
              const guarded_floats& images, const guarded_floats& to_output) {
    few_channels_task part = t;
    part.samples = at_a_time;
    guarded_floats all{loops.sums_floats(t)}, space{loops.workspace_floats(t), -1};
    for (std::size_t s = 0; s < t.samples; s += at_a_time)
        loops.add(part, images.data() + s * t.in * t.height * t.width,
                  to_output.data() + s * t.out * t.out_height * t.out_width, all.data(),
                  space.data());
    sums r{guarded_floats{t.out * t.in * t.kernel_height * t.kernel_width, -1},
           guarded_floats{t.out, -1}};
    loops.unpack(t, all.data(), r.to_weight.data(), r.to_bias.data());
    for (const auto* floats : {&all, &space, &r.to_weight, &r.to_bias})
        BOOST_TEST(floats->is_whole());
    return r;
}

struct exact_sums {
    std::vector<double> to_weight, to_bias;

    exact_sums(const few_channels_task& t, const guarded_floats& images,
               const guarded_floats& to_output)
        : to_weight(t.out * t.in * t.kernel_height * t.kernel_width), to_bias(t.out) {
        const std::size_t pixels = t.out_height * t.out_width;
        for (std::size_t s = 0; s < t.samples; ++s)
            for (std::size_t o = 0; o < t.out; ++o)
                for (std::size_t pixel = 0; pixel < pixels; ++pixel) {
                    const std::size_t place = (s * t.out + o / t.block * t.block) * pixels +
                                              pixel * t.block + o % t.block;
                    to_bias[o] += double{to_output[place]};
                    add(t, images, s, o, pixel, double{to_output[place]});
                }
    }

  private:
    void add(const few_channels_task& t, const guarded_floats& images, std::size_t s, std::size_t o,
             std::size_t pixel, double gradient) {
        const std::size_t y = pixel / t.out_width * t.stride - t.padding;
        const std::size_t x = pixel % t.out_width * t.stride - t.padding;
        std::size_t w = o * t.in * t.kernel_height * t.kernel_width;
        for (std::size_t i = 0; i < t.in; ++i)
            for (std::size_t r = 0; r < t.kernel_height; ++r)
                for (std::size_t c = 0; c < t.kernel_width; ++c, ++w)
                    if (y + r < t.height && x + c < t.width)
                        to_weight[w] +=
                            gradient *
                            double{images[((s * t.in + i) * t.height + y + r) * t.width + x + c]};
    }
};

guarded_floats convolved(const few_channels_loops& loops, const few_channels_task& t,
                         const guarded_floats& images, const guarded_floats& weight,
                         const guarded_floats& bias) {
    guarded_floats packed{loops.packed_floats(t)}, space{loops.workspace_floats(t), -1};
    guarded_floats output{t.samples * t.out * t.out_height * t.out_width, -1};
    loops.pack(t, weight.data(), packed.data());
    loops.convolve(t, images.data(), packed.data(), bias.data(), output.data(), space.data());
    for (const auto* floats : {&packed, &space, &output})
        BOOST_TEST(floats->is_whole());
    return output;
}

// One number of the output, in double precision.
double exact_output(const few_channels_task& t, const guarded_floats& images,
                    const guarded_floats& weight, std::size_t s, std::size_t o, std::size_t pixel) {
    const std::size_t y = pixel / t.out_width * t.stride - t.padding;
    const std::size_t x = pixel % t.out_width * t.stride - t.padding;
    std::size_t w = o * t.in * t.kernel_height * t.kernel_width;
    double sum = 0;
    for (std::size_t i = 0; i < t.in; ++i)
        for (std::size_t r = 0; r < t.kernel_height; ++r)
            for (std::size_t c = 0; c < t.kernel_width; ++c, ++w)
                if (y + r < t.height && x + c < t.width)
                    sum += double{weight[w]} *
                           double{images[((s * t.in + i) * t.height + y + r) * t.width + x + c]};
    return sum;
}

} // namespace

BOOST_AUTO_TEST_CASE(every_instruction_set_convolves_few_channels_near_the_exact_outputs) {
    random_stream random{2};
    for (const table& set : all_tables())
        for (const std::size_t block : set.blocks)
            for (const few_channels_task& t : tasks(block)) {
                BOOST_TEST_CONTEXT("block " << block << ", " << t.in << " to " << t.out << ", "
                                            << t.kernel_height << " x " << t.kernel_width) {
                    const guarded_floats images{t.samples * t.in * t.height * t.width, random};
                    const guarded_floats weight{t.out * t.in * t.kernel_height * t.kernel_width,
                                                random};
                    const guarded_floats bias{t.out, random};
                    const std::size_t pixels = t.out_height * t.out_width;
                    std::vector<double> exact(t.samples * t.out * pixels);
                    for (std::size_t s = 0; s < t.samples; ++s)
                        for (std::size_t o = 0; o < t.out; ++o)
                            for (std::size_t pixel = 0; pixel < pixels; ++pixel)
                                exact[(s * t.out + o / t.block * t.block) * pixels +
                                      pixel * t.block + o % t.block] =
                                    double{bias[o]} + exact_output(t, images, weight, s, o, pixel);
                    BOOST_TEST(difference(convolved(set.loops, t, images, weight, bias), exact) <
                               2e-6);
                }
            }
}

BOOST_AUTO_TEST_CASE(every_instruction_set_sums_gradients_of_few_channels_near_the_exact_ones) {
    random_stream random{1};
    for (const table& set : all_tables())
        for (const std::size_t block : set.blocks)
            for (const few_channels_task& t : tasks(block)) {
                BOOST_TEST_CONTEXT("block " << block << ", " << t.in << " to " << t.out << ", "
                                            << t.kernel_height << " x " << t.kernel_width) {
                    const guarded_floats images{t.samples * t.in * t.height * t.width, random};
                    const guarded_floats to_output{t.samples * t.out * t.out_height * t.out_width,
                                                   random};
                    const sums found = computed(set.loops, t, t.samples, images, to_output);
                    const exact_sums exact{t, images, to_output};
                    BOOST_TEST(difference(found.to_weight, exact.to_weight) < 2e-6);
                    BOOST_TEST(difference(found.to_bias, exact.to_bias) < 2e-6);
                    BOOST_TEST((computed(set.loops, t, 1, images, to_output) == found),
                               "the same bits again, however many samples at a time");
                }
            }
}

BOOST_AUTO_TEST_CASE(few_channels_suit_where_onednn_is_slower_and_nobody_wants_their_gradient) {
    memory_pool pool{1 << 20};
    const few_channels_runner narrow{pool, 8, few_channels_loops_avx2, loops_baseline,
                                     bf16_loops_baseline};
    const few_channels_runner wide{pool, 16, few_channels_loops_avx512, loops_baseline,
                                   bf16_loops_baseline};
    tensor any = test::random_tensor(pool, {1}, 1);
    const auto suits = [&](const few_channels_runner& runner, std::size_t in, std::size_t out,
                           std::size_t groups = 1, tensor* input_gradient = nullptr) {
        conv2d_settings settings;
        settings.groups = groups;
        return runner.suits(backward_convolution{
            {2, in, 9, 9, out, 3, 3, true, settings}, any, any, any, input_gradient, any, &any});
    };
    BOOST_TEST(suits(narrow, 1, 32));
    BOOST_TEST(suits(narrow, 7, 24));
    BOOST_TEST(!suits(narrow, 8, 24)); // in a block of channels
    BOOST_TEST(!suits(narrow, 3, 10)); // the output not
    BOOST_TEST(!suits(narrow, 6, 16, 2));
    BOOST_TEST(!suits(narrow, 3, 32, 1, &any));
    BOOST_TEST(!suits(wide, 1, 32)); // oneDNN is as fast with AVX-512
    const auto suits_forward = [&](const few_channels_runner& runner, std::size_t kernel) {
        return runner.suits(
            forward_convolution{{2, 3, 30, 30, 32, kernel, kernel, true, {}}, any, any, &any, any});
    };
    BOOST_TEST(suits_forward(narrow, 11));
    BOOST_TEST(!suits_forward(narrow, 7)); // oneDNN's direct convolution is as fast
    BOOST_TEST(!suits_forward(wide, 11));
}

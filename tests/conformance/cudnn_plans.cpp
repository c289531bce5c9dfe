// What cuDNN itself says of the convolutions and of the attention that it is asked for, on a machine without a GPU: that it
// takes them on GPUs of compute capability 9.0 and 8.0, by an engine that will do. Skipped (77) where there is no cuDNN, or
// none that plans for a GPU that is not there; attention where it is older than the first that is asked for it.
//
// Attention is compiled, and handed to a driver: libcuda.so.1 is that of tests/emulated_cuda/loading_driver.cpp.
#include <dlfcn.h>

#include <iostream>
#include <string>

#include "kernels/cuda/cudnn_attention.hpp"
#include "kernels/cuda/cudnn_convolution.hpp"

using namespace troupe::cuda;

namespace {

constexpr int skipped = 77;

struct gpu {
    const char* name;
    int capability, multiprocessors, shared_bytes_max, l2_bytes;
};
constexpr std::array<gpu, 2> gpus{{{"NVIDIA H100 80GB HBM3", 900, 132, 232448, 52428800},
                                   {"NVIDIA A100-SXM4-80GB", 800, 108, 166912, 41943040}}};

// As cuDNN 9.26 writes it.
std::string properties_of(const gpu& g) {
    std::string text = R"({"maxGridSize":[2147483647,65535,65535],"maxBlockSize":[1024,1024,64])";
    const auto add = [&](const char* name, std::int64_t value) {
        text += std::string{",\""} + name + "\":" + std::to_string(value);
    };
    add("regsPerBlock", 65536);
    add("multiProcessorCount", g.multiprocessors);
    add("smCountOrigin", 0);
    add("warpSize", 32);
    add("maxSharedMemoryPerBlock", 49152);
    add("maxSharedMemoryPerBlockOptin", g.shared_bytes_max);
    add("reservedSharedMemoryPerBlock", 1024);
    add("oversizedSharedMemoryPerBlock", 0);
    add("maxRegistersPerSM", 65536);
    add("maxCtasPerSM", 32);
    add("maxThreadsPerBlock", 1024);
    add("maxThreadsPerSM", 2048);
    add("pciDeviceId", 0);
    add("isTccDriver", 0);
    add("supportCoopLaunch", 1);
    add("totalGlobalMem", std::int64_t{80} << 30);
    add("smClockRateKHz", 1410000);
    add("memClockRateKHz", 1593000);
    add("l2CacheSize", g.l2_bytes);
    add("cudaDeviceId", 0);
    add("deviceVer", g.capability);
    add("driverVer", 13000);
    return text + ",\"deviceName\":\"" + g.name + "\"}";
}

struct row {
    std::int64_t samples, in, size, out, kernel, stride = 1, padding = 0, groups = 1;
};
// Of ResNet, AlexNet, LeNet, VGG and GoogLeNet; depthwise; and odd sizes.
constexpr row rows[] = {
    {32, 3, 224, 64, 7, 2, 3},      {32, 64, 56, 64, 1},
    {32, 64, 56, 64, 3, 1, 1},      {32, 64, 56, 256, 1},
    {32, 256, 56, 512, 1, 2},       {32, 128, 56, 128, 3, 2, 1},
    {32, 512, 7, 512, 3, 1, 1},     {32, 2048, 7, 512, 1},
    {128, 3, 224, 64, 11, 4, 2},    {128, 96, 27, 256, 5, 1, 2},
    {128, 96, 27, 256, 5, 1, 2, 2}, {64, 1, 28, 6, 5, 1, 2},
    {64, 64, 224, 64, 3, 1, 1},     {32, 480, 14, 192, 1},
    {32, 16, 28, 32, 5, 1, 2},      {8, 32, 14, 32, 3, 1, 1, 32},
    {2, 3, 7, 5, 3, 2, 1},          {1, 1, 1, 1, 1},
};

conv_shape shape_of(const row& r, conv_direction direction, bool may_round) {
    const std::int64_t windows = (r.size + 2 * r.padding - r.kernel) / r.stride + 1;
    return {direction,
            {{{r.samples, r.in, r.size, r.size},
              {r.out, r.in / r.groups, r.kernel, r.kernel},
              {r.samples, r.out, windows, windows}}},
            r.stride,
            r.padding,
            may_round};
}

// Of a GPT, an encoder, a decoder that looks at it, and odd sizes.
constexpr attention_shape attentions[] = {
    {.samples = 8, .heads = 12, .queries = 1024, .keys = 1024, .width = 64, .causal = true},
    {.samples = 32, .heads = 12, .queries = 128, .keys = 128, .width = 64, .has_lengths = true},
    {.samples = 32, .heads = 8, .queries = 50, .keys = 37, .width = 64, .has_lengths = true},
    {.samples = 2,
     .heads = 3,
     .queries = 70,
     .keys = 70,
     .width = 16,
     .causal = true,
     .has_lengths = true},
    {.samples = 2, .heads = 2, .queries = 130, .keys = 5, .width = 128},
    {.samples = 1, .heads = 1, .queries = 2, .keys = 2, .width = 48, .causal = true},
};

std::string named(const attention_shape& a) {
    return "attention " + std::to_string(a.samples) + "x" + std::to_string(a.heads) + "x" +
           std::to_string(a.queries) + "x" + std::to_string(a.keys) + ", width " +
           std::to_string(a.width) + (a.causal ? ", causal" : "") +
           (a.has_lengths ? ", with lengths" : "") + (a.is_backward ? ", backward" : "");
}

std::string named(const conv_shape& c) {
    const auto by = [](const std::array<std::int64_t, 4>& sizes) {
        std::string text;
        for (const std::int64_t size : sizes)
            text += (text.empty() ? "" : "x") + std::to_string(size);
        return text;
    };
    return "convolution " + by(c.tensors[conv_images]) + " by " + by(c.tensors[conv_weight]) +
           ", stride " + std::to_string(c.stride) + ", direction " +
           std::to_string(static_cast<int>(c.direction)) + (c.may_round ? ", rounded to TF32" : "");
}

// Attention is compiled when it is planned.
bool compiles() {
    const bool has_compiler = dlopen("libnvrtc.so.13", RTLD_LAZY) != nullptr ||
                              dlopen("libnvrtc.so.12", RTLD_LAZY) != nullptr;
    if (!has_compiler)
        std::cout << "skipped: attention, as there is no NVRTC\n";
    return has_compiler;
}

} // namespace

int main() {
    const dnn::functions* const cudnn = dnn::library();
    if (cudnn == nullptr || cudnn->cudnnGetVersion() < 90800) {
        std::cout << "skipped: there is no cuDNN 9.8 or later" << std::endl;
        return skipped;
    }
    int plans = 0, failed = 0;
    for (const gpu& g : gpus) {
        cudnn_descriptors owner{*cudnn};
        dnn::cudnnBackendDescriptor_t properties = nullptr;
        const std::string text = properties_of(g);
        if (owner.add(dnn::CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, properties) !=
                dnn::CUDNN_STATUS_SUCCESS ||
            cudnn->cudnnBackendSetAttribute(
                properties, dnn::CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, dnn::CUDNN_TYPE_CHAR,
                static_cast<std::int64_t>(text.size()) + 1,
                text.c_str()) != dnn::CUDNN_STATUS_SUCCESS ||
            cudnn->cudnnBackendFinalize(properties) != dnn::CUDNN_STATUS_SUCCESS) {
            std::cout << "skipped: this cuDNN describes GPUs in another way" << std::endl;
            return skipped;
        }
        const auto plan = [&](const auto& shape) {
            ++plans;
            if (cudnn_plan::make(*cudnn, {.properties = properties}, graph_of(*cudnn, shape),
                                 rules_of(shape)))
                return;
            ++failed;
            std::cout << g.name << " does not take " << named(shape) << '\n';
        };
        for (const row& r : rows)
            for (const auto direction :
                 {conv_direction::forward, conv_direction::to_input, conv_direction::to_weight})
                for (const bool may_round : {false, true})
                    plan(shape_of(r, direction, may_round));
        if (cudnn->cudnnGetVersion() < first_version_for_attention || !compiles())
            continue;
        for (attention_shape shape : attentions)
            for (const bool is_backward : {false, true}) {
                shape.is_backward = is_backward;
                shape.query_rows = (shape.queries + 15) / 16 * 16;
                shape.key_rows = (shape.keys + 15) / 16 * 16;
                attention_shape asked = shape;
                asked.has_lengths = shape.has_lengths || (is_backward && !shape.causal);
                plan(asked);
            }
    }
    std::cout << "cuDNN " << cudnn->cudnnGetVersion() << " takes " << plans - failed << " of "
              << plans << " convolutions and attentions" << std::endl;
    return failed == 0 ? 0 : 1;
}

// cuDNN on the emulated GPU, as a library that is found at run time: convolutions as graphs of one operation, and attention
// as graphs of several, checked for what NVIDIA's documentation asks of them, and computed by loops.
//
// It has engines that nobody should take: what they give is no number. Of the others one rounds to TF32 and one does not;
// of strides of 2 they come only as a fallback. It takes no stride of 3, and finds out about kernels of 1 only when it
// should run; batches of 40 samples fail. Of attention it takes no heads of 48 columns, and finds out about 5 keys only when
// it should run.
#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <optional>
#include <utility>

#include "tests/emulated_cuda/cudnn_descriptors.hpp"

namespace emulated {

namespace {

struct engine_kind {
    std::vector<int> notes;
    bool is_compiled_at_run_time = false;
    std::int64_t workspace_bytes = 0;
    bool is_refused = false;
    enum { of_no_use, rounded, exact } numbers = of_no_use;
};
const std::vector<engine_kind> engines{
    {{CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC}},
    {{}, true},
    {{CUDNN_NUMERICAL_NOTE_TENSOR_CORE, CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS}},
    {{CUDNN_NUMERICAL_NOTE_WINOGRAD, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4}},
    {{CUDNN_NUMERICAL_NOTE_FFT}},
    {{1000}}, // of a version to come
    {{}, false, std::int64_t{1} << 40},
    {{}, false, 0, true},
    {{CUDNN_NUMERICAL_NOTE_TENSOR_CORE}, false, 100, false, engine_kind::rounded},
    {{CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP}, false, 0, false, engine_kind::exact},
};

// One that has no room for the gradients of the scores adds up those of queries in any order.
const std::vector<engine_kind> attention_engines{
    {{CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC}, true},
    {{1000}, true},
    {{CUDNN_NUMERICAL_NOTE_TENSOR_CORE}, true, 256},
    {{CUDNN_NUMERICAL_NOTE_TENSOR_CORE}, true, std::int64_t{1} << 40},
    {{CUDNN_NUMERICAL_NOTE_TENSOR_CORE}, true, -1, false, engine_kind::rounded},
};

std::atomic<unsigned> runs{0};

std::size_t bytes_of(cudnnBackendAttributeType_t type) {
    return type == CUDNN_TYPE_HANDLE || type == CUDNN_TYPE_INT64 || type == CUDNN_TYPE_VOID_PTR ||
                   type == CUDNN_TYPE_BACKEND_DESCRIPTOR || type == CUDNN_TYPE_DOUBLE
               ? 8
           : type == CUDNN_TYPE_BOOLEAN ? 1
                                        : 4;
}

struct shape {
    std::int64_t name; // its unique id
    std::int64_t n, c, h, w;

    std::int64_t at(std::int64_t i, std::int64_t j, std::int64_t y, std::int64_t x) const {
        return ((i * c + j) * h + y) * w + x;
    }
    std::int64_t elements() const { return n * c * h * w; }
};

struct convolution {
    int result; // 0, 1 or 2: of weight, images and windows
    shape weight, images, windows;
    std::int64_t stride, padding;
};

shape shape_of(const cudnn_descriptor& tensor) {
    const auto sizes = all<std::int64_t>(tensor, CUDNN_ATTR_TENSOR_DIMENSIONS);
    const auto strides = all<std::int64_t>(tensor, CUDNN_ATTR_TENSOR_STRIDES);
    TROUPE_CHECK(sizes.size() == 4 && strides.size() == 4 && strides[3] == 1 &&
                     strides[2] == sizes[3] && strides[1] == sizes[2] * strides[2] &&
                     strides[0] == sizes[1] * strides[1] &&
                     one<int>(tensor, CUDNN_ATTR_TENSOR_DATA_TYPE) == CUDNN_DATA_FLOAT &&
                     one<std::int64_t>(tensor, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT) == 16,
                 "tensors are row-major float32");
    return {one<std::int64_t>(tensor, CUDNN_ATTR_TENSOR_UNIQUE_ID), sizes[0], sizes[1], sizes[2],
            sizes[3]};
}

// An operation's attributes follow one another: alpha, beta, the convolution, and the tensors, weights first.
convolution convolution_of(const cudnn_descriptor& op) {
    const auto [first, result] =
        op.type == CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR
            ? std::pair<int, int>{CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, 2}
        : op.type == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR
            ? std::pair<int, int>{CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA, 1}
            : std::pair<int, int>{CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA, 0};
    TROUPE_CHECK(one<float>(op, first) == 1 && one<float>(op, first + 1) == 0,
                 "the result replaces what was there");
    const auto& how = part(op, first + 2, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    const auto both = [&](int name) {
        const auto values = all<std::int64_t>(how, name);
        TROUPE_CHECK(values.size() == 2 && values[0] == values[1], "height and width are alike");
        return values[0];
    };
    const auto tensor = [&](int which) {
        return shape_of(part(op, first + 3 + which, CUDNN_BACKEND_TENSOR_DESCRIPTOR));
    };
    const convolution c{.result = result,
                        .weight = tensor(0),
                        .images = tensor(1),
                        .windows = tensor(2),
                        .stride = both(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES),
                        .padding = both(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS)};
    TROUPE_CHECK(both(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS) == c.padding &&
                     both(CUDNN_ATTR_CONVOLUTION_DILATIONS) == 1 &&
                     one<std::int64_t>(how, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS) == 2 &&
                     one<int>(how, CUDNN_ATTR_CONVOLUTION_COMP_TYPE) == CUDNN_DATA_FLOAT &&
                     one<int>(how, CUDNN_ATTR_CONVOLUTION_CONV_MODE) == CUDNN_CROSS_CORRELATION,
                 "it is a convolution as it is meant");
    const auto windows_along = [&](std::int64_t size, std::int64_t kernel) {
        return (size + 2 * c.padding - kernel) / c.stride + 1;
    };
    TROUPE_CHECK(c.images.c % c.weight.c == 0 && c.weight.n % (c.images.c / c.weight.c) == 0 &&
                     c.windows.n == c.images.n && c.windows.c == c.weight.n &&
                     c.windows.h == windows_along(c.images.h, c.weight.h) &&
                     c.windows.w == windows_along(c.images.w, c.weight.w),
                 "the shapes fit");
    return c;
}

// A graph is of one convolution, or attention.
std::optional<convolution> convolution_in(const cudnn_descriptor& graph) {
    const auto operations = all<cudnnBackendDescriptor_t>(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS);
    return operations.size() == 1 ? std::optional{convolution_of(seen(operations[0]))}
                                  : std::nullopt;
}

// What is asked of heuristics, and what an engine and its settings are of.
const cudnn_descriptor& planned(const cudnn_descriptor& d) {
    return part(d, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
}

std::vector<std::size_t> offered(const cudnn_descriptor& heuristics) {
    const bool is_fallback =
        one<int>(heuristics, CUDNN_ATTR_ENGINEHEUR_MODE) == CUDNN_HEUR_MODE_FALLBACK;
    const auto& graph = planned(heuristics);
    std::vector<std::size_t> numbers;
    if (const auto c = convolution_in(graph)) {
        for (std::size_t e = 0; e < engines.size() && c->stride != 3; ++e)
            if (is_fallback || c->stride != 2 || engines[e].numbers == engine_kind::of_no_use)
                numbers.push_back(e);
        return numbers;
    }
    const attention_graph attention{graph}; // on the way forward there is nothing to add up
    for (std::size_t e = 0; e < attention_engines.size() && attention.width() != 48; ++e)
        if (e != 2 || attention.is_backward())
            numbers.push_back(e);
    return numbers;
}

const engine_kind& engine_of(const cudnn_descriptor& d) {
    return convolution_in(planned(d)) ? engines[d.engine] : attention_engines[d.engine];
}

std::int64_t workspace_of(const cudnn_descriptor& config) {
    const std::int64_t bytes = engine_of(config).workspace_bytes;
    if (bytes >= 0)
        return bytes;
    std::int64_t scores = 2;
    for (const std::int64_t size : attention_graph{planned(config)}.scores())
        scores *= size;
    return scores;
}

float rounded_to_tf32(float x) {
    return std::bit_cast<float>((std::bit_cast<std::uint32_t>(x) + 0x1000u) & ~0x1fffu);
}

// `memory` as in convolution::result.
void compute(const convolution& c, decltype(engine_kind::numbers) numbers,
             const std::array<float*, 3>& memory) {
    const std::array<const shape*, 3> shapes{&c.weight, &c.images, &c.windows};
    std::vector<double> sums(static_cast<std::size_t>(shapes[c.result]->elements()));
    const auto number = [&](int of, std::int64_t at) {
        const float x = memory[of][at];
        return double{numbers == engine_kind::rounded ? rounded_to_tf32(x) : x};
    };
    const int a = c.result == 0 ? 1 : 0, b = c.result == 2 ? 1 : 2;
    const std::int64_t outs_of_group = c.weight.n / (c.images.c / c.weight.c);
    for (std::int64_t n = 0; n < c.windows.n; ++n)
        for (std::int64_t o = 0; o < c.windows.c; ++o)
            for (std::int64_t y = 0; y < c.windows.h; ++y)
                for (std::int64_t x = 0; x < c.windows.w; ++x)
                    for (std::int64_t i = 0; i < c.weight.c; ++i)
                        for (std::int64_t r = 0; r < c.weight.h; ++r)
                            for (std::int64_t s = 0; s < c.weight.w; ++s) {
                                const std::int64_t row = y * c.stride + r - c.padding,
                                                   column = x * c.stride + s - c.padding;
                                if (row < 0 || row >= c.images.h || column < 0 ||
                                    column >= c.images.w)
                                    continue;
                                const std::array<std::int64_t, 3> at{
                                    c.weight.at(o, i, r, s),
                                    c.images.at(n, o / outs_of_group * c.weight.c + i, row, column),
                                    c.windows.at(n, o, y, x)};
                                sums[static_cast<std::size_t>(at[c.result])] +=
                                    number(a, at[a]) * number(b, at[b]);
                            }
    for (std::size_t i = 0; i < sums.size(); ++i)
        memory[c.result][i] = numbers == engine_kind::of_no_use
                                  ? std::numeric_limits<float>::quiet_NaN()
                                  : static_cast<float>(sums[i]);
}

cudnnStatus_t give(std::int64_t room, std::int64_t* count, void* values, const auto& from) {
    *count = static_cast<std::int64_t>(from.size());
    std::copy_n(from.data(), std::min(static_cast<std::size_t>(room), from.size()),
                static_cast<std::remove_cvref_t<decltype(from[0])>*>(values));
    return CUDNN_STATUS_SUCCESS;
}

} // namespace

} // namespace emulated

using namespace emulated;

extern "C" {

unsigned emulated_cudnn_runs() {
    return runs;
}

std::size_t cudnnGetVersion() {
    return 92600;
}
const char* cudnnGetErrorString(cudnnStatus_t status) {
    return status == CUDNN_STATUS_EXECUTION_FAILED ? "CUDNN_STATUS_EXECUTION_FAILED"
                                                   : "another CUDNN_STATUS";
}
void cudnnGetLastErrorString(char* text, std::size_t bytes) {
    std::strncpy(text, "no batches of 40", bytes);
}
cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
    *handle = new cudaStream_t{nullptr};
    return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
    delete static_cast<cudaStream_t*>(handle);
    return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
    *static_cast<cudaStream_t*>(handle) = stream;
    return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                           cudnnBackendDescriptor_t* made) {
    auto* const fresh = new cudnn_descriptor{type};
    std::lock_guard guard{descriptors_lock};
    living.insert(fresh);
    *made = fresh;
    return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t d) {
    auto& known = seen(d);
    std::lock_guard guard{descriptors_lock};
    living.erase(&known);
    delete &known;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t of,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, std::int64_t count,
                                       const void* values) {
    auto& d = seen(of);
    TROUPE_CHECK(!d.is_final && count > 0, "attributes are set before a descriptor is finished");
    auto& kept = d.attributes[name];
    kept.resize(static_cast<std::size_t>(count) * bytes_of(type));
    std::memcpy(kept.data(), values, kept.size());
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t of) {
    auto& d = seen(of);
    switch (d.type) {
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
        convolution_of(d);
        break;
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
        one<cudnnHandle_t>(d, CUDNN_ATTR_OPERATIONGRAPH_HANDLE);
        if (!convolution_in(d))
            attention_graph{d};
        break;
    case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
        offered(d);
        break;
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR: {
        one<cudnnHandle_t>(d, CUDNN_ATTR_EXECUTION_PLAN_HANDLE);
        const auto& config =
            part(d, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
        d.engine = config.engine;
        if (engine_of(config).is_refused)
            return CUDNN_STATUS_NOT_SUPPORTED;
        break;
    }
    default:;
    }
    d.is_final = true;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t of,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t, std::int64_t room,
                                       std::int64_t* count, void* values) {
    auto& d = seen(of);
    if (!d.is_final)
        return CUDNN_STATUS_BAD_PARAM;
    const auto fill = [&](std::size_t at, std::size_t engine) {
        auto& to = seen(static_cast<cudnnBackendDescriptor_t*>(values)[at]);
        to.attributes[CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH] =
            d.attributes.at(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
        to.engine = engine;
        to.is_final = true;
    };
    switch (name) {
    case CUDNN_ATTR_ENGINEHEUR_RESULTS: {
        const auto numbers = offered(d);
        *count = static_cast<std::int64_t>(numbers.size());
        for (std::size_t i = 0; i < std::min(numbers.size(), static_cast<std::size_t>(room)); ++i)
            fill(i, numbers[i]);
        return CUDNN_STATUS_SUCCESS;
    }
    case CUDNN_ATTR_ENGINECFG_ENGINE:
        *count = 1;
        fill(0, d.engine);
        return CUDNN_STATUS_SUCCESS;
    case CUDNN_ATTR_ENGINE_NUMERICAL_NOTE:
        return give(room, count, values, engine_of(d).notes);
    case CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE:
        return give(room, count, values,
                    std::vector<int>(engine_of(d).is_compiled_at_run_time ? 1 : 0,
                                     CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION));
    case CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE:
        return give(room, count, values,
                    std::array{workspace_of(part(d, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG,
                                                 CUDNN_BACKEND_ENGINECFG_DESCRIPTOR))});
    default:
        return CUDNN_STATUS_BAD_PARAM;
    }
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t of,
                                  cudnnBackendDescriptor_t operands) {
    const auto &plan = seen(of), &pack = seen(operands);
    TROUPE_CHECK(plan.is_final && pack.is_final, "plan and operands are finished");
    const auto& config =
        seen(one<cudnnBackendDescriptor_t>(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG));
    const auto& graph = planned(config);
    const auto names = all<std::int64_t>(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
    const auto places = all<void*>(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
    addresses given;
    for (std::size_t i = 0; i < names.size(); ++i)
        given[names[i]] = places[i];
    const auto& engine = engine_of(config);
    std::function<void()> computed;
    if (const auto c = convolution_in(graph)) {
        std::array<float*, 3> memory{};
        for (std::size_t t = 0; t < 3; ++t)
            memory[t] = static_cast<float*>(
                given[std::array{c->weight.name, c->images.name, c->windows.name}[t]]);
        for (const float* place : memory)
            TROUPE_CHECK(place != nullptr && reinterpret_cast<std::uintptr_t>(place) % 16 == 0,
                         "operands lie as cuDNN was promised");
        if (c->weight.h == 1)
            return CUDNN_STATUS_NOT_SUPPORTED;
        if (c->images.n == 40)
            return CUDNN_STATUS_EXECUTION_FAILED;
        computed = [c, memory, numbers = engine.numbers] { compute(*c, numbers, memory); };
    } else {
        const attention_graph attention{graph};
        if (attention.scores()[3] == 5)
            return CUDNN_STATUS_NOT_SUPPORTED;
        computed = attention.work(given, engine.numbers != engine_kind::of_no_use);
    }
    ++runs;
    const auto work = [computed, bytes = workspace_of(config),
                       workspace = one<void*>(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE)] {
        std::memset(workspace, 0xff, static_cast<std::size_t>(bytes));
        computed();
    };
    return submit(*static_cast<cudaStream_t*>(handle), work) == cudaSuccess
               ? CUDNN_STATUS_SUCCESS
               : CUDNN_STATUS_EXECUTION_FAILED;
}

} // extern "C"

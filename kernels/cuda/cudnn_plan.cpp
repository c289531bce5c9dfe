#include "kernels/cuda/cudnn_plan.hpp"

#include <algorithm>
#include <span>

namespace troupe::cuda {

using namespace dnn;

namespace {

// Tensors have their place in conv_tensor as identifier, counted from 1.
constexpr std::int64_t identifier(std::size_t tensor) noexcept {
    return static_cast<std::int64_t>(tensor) + 1;
}

// Attributes of descriptors; after the first failure nothing more is done.
class assembly {
  public:
    assembly(const functions& cudnn, cudnn_descriptors& owner) : cudnn_{cudnn}, owner_{owner} {}

    bool succeeded() const noexcept { return status_ == CUDNN_STATUS_SUCCESS; }

    cudnnBackendDescriptor_t add(cudnnBackendDescriptorType_t type) {
        cudnnBackendDescriptor_t made = nullptr;
        then([&] { return owner_.add(type, made); });
        return made;
    }
    template <class T>
    void set(cudnnBackendDescriptor_t of, cudnnBackendAttributeName_t name,
             cudnnBackendAttributeType_t type, std::span<const T> values) {
        then([&] {
            return cudnn_.cudnnBackendSetAttribute(
                of, name, type, static_cast<std::int64_t>(values.size()), values.data());
        });
    }
    template <class T>
    void set(cudnnBackendDescriptor_t of, cudnnBackendAttributeName_t name,
             cudnnBackendAttributeType_t type, const T& value) {
        set(of, name, type, std::span<const T>{&value, 1});
    }
    // At most `room` values.
    template <class T>
    std::vector<T> get(cudnnBackendDescriptor_t of, cudnnBackendAttributeName_t name,
                       cudnnBackendAttributeType_t type, std::size_t room) {
        std::vector<T> values(room);
        get_into(of, name, type, values);
        return values;
    }
    // `values` shrinks to those that there are. Of descriptors they are filled in.
    template <class T>
    void get_into(cudnnBackendDescriptor_t of, cudnnBackendAttributeName_t name,
                  cudnnBackendAttributeType_t type, std::vector<T>& values) {
        std::int64_t there = 0;
        then([&] {
            return cudnn_.cudnnBackendGetAttribute(
                of, name, type, static_cast<std::int64_t>(values.size()), &there, values.data());
        });
        if (succeeded())
            values.resize(std::min(values.size(), static_cast<std::size_t>(there)));
        else
            values.clear();
    }
    // How many there are.
    std::size_t count(cudnnBackendDescriptor_t of, cudnnBackendAttributeName_t name,
                      cudnnBackendAttributeType_t type) {
        std::int64_t there = 0;
        then([&] { return cudnn_.cudnnBackendGetAttribute(of, name, type, 0, &there, nullptr); });
        return succeeded() ? static_cast<std::size_t>(there) : 0;
    }
    void finish(cudnnBackendDescriptor_t d) {
        then([&] { return cudnn_.cudnnBackendFinalize(d); });
    }

  private:
    template <class Call>
    void then(Call call) {
        if (succeeded())
            status_ = call();
    }

    const functions& cudnn_;
    cudnn_descriptors& owner_;
    cudnnStatus_t status_ = CUDNN_STATUS_SUCCESS;
};

// The attributes of an operation, by direction.
struct operation_attributes {
    cudnnBackendDescriptorType_t type;
    cudnnBackendAttributeName_t alpha, beta, convolution;
    std::array<cudnnBackendAttributeName_t, conv_tensors> tensors; // as conv_tensor
};
constexpr std::array<operation_attributes, 3> operations{{
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
     {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y}},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
     {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY}},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
     {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY}},
}};

cudnnBackendDescriptor_t add_tensor(assembly& to, std::size_t which,
                                    const std::array<std::int64_t, 4>& shape) {
    const std::array<std::int64_t, 4> strides{shape[1] * shape[2] * shape[3], shape[2] * shape[3],
                                              shape[3], 1};
    const auto made = to.add(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    to.set(made, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, identifier(which));
    to.set(made, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
    to.set(made, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, std::int64_t{cudnn_alignment});
    to.set(made, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64,
           std::span<const std::int64_t>{shape});
    to.set(made, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64,
           std::span<const std::int64_t>{strides});
    to.finish(made);
    return made;
}

cudnnBackendDescriptor_t add_convolution(assembly& to, const conv_shape& shape) {
    const std::array<std::int64_t, 2> ones{1, 1}, strides{shape.stride, shape.stride},
        paddings{shape.padding, shape.padding};
    const auto made = to.add(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    const auto set_both = [&](cudnnBackendAttributeName_t name,
                              const std::array<std::int64_t, 2>& both) {
        to.set(made, name, CUDNN_TYPE_INT64, std::span<const std::int64_t>{both});
    };
    to.set(made, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, std::int64_t{2});
    to.set(made, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
    to.set(made, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE,
           CUDNN_CROSS_CORRELATION);
    set_both(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, paddings);
    set_both(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, paddings);
    set_both(CUDNN_ATTR_CONVOLUTION_DILATIONS, ones);
    set_both(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, strides);
    to.finish(made);
    return made;
}

// The operation, alone.
cudnnBackendDescriptor_t add_graph(assembly& to, const conv_shape& shape, cudnnHandle_t handle) {
    const auto& names = operations[static_cast<std::size_t>(shape.direction)];
    const auto operation = to.add(names.type);
    to.set(operation, names.alpha, CUDNN_TYPE_FLOAT, 1.f);
    to.set(operation, names.beta, CUDNN_TYPE_FLOAT, 0.f);
    to.set(operation, names.convolution, CUDNN_TYPE_BACKEND_DESCRIPTOR, add_convolution(to, shape));
    for (std::size_t t = 0; t < conv_tensors; ++t)
        to.set(operation, names.tensors[t], CUDNN_TYPE_BACKEND_DESCRIPTOR,
               add_tensor(to, t, shape.tensors[t]));
    to.finish(operation);
    const auto graph = to.add(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    if (handle != nullptr)
        to.set(graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, handle);
    to.set(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, operation);
    to.finish(graph);
    return graph;
}

// The engines with their settings, the fastest first.
std::vector<cudnnBackendDescriptor_t> add_engines(assembly& to, cudnnBackendDescriptor_t graph,
                                                  cudnnBackendHeurMode_t mode,
                                                  const conv_target& target) {
    const auto heuristics = to.add(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    to.set(heuristics, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR, graph);
    to.set(heuristics, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode);
    if (target.handle == nullptr)
        to.set(heuristics, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, CUDNN_TYPE_BACKEND_DESCRIPTOR,
               target.properties);
    to.finish(heuristics);
    std::vector<cudnnBackendDescriptor_t> all(
        to.count(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR));
    for (auto& engine : all)
        engine = to.add(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    if (!all.empty())
        to.get_into(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, all);
    return all;
}

// Notes that are not known here are of newer versions, and refused: what they mean is not known either.
bool will_do(assembly& look, cudnnBackendDescriptor_t config, bool may_round) {
    constexpr std::size_t notes_max = 32;
    std::vector<cudnnBackendDescriptor_t> engine{look.add(CUDNN_BACKEND_ENGINE_DESCRIPTOR)};
    look.get_into(config, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, engine);
    if (engine.empty())
        return false;
    const auto numbers = look.get<cudnnBackendNumericalNote_t>(
        engine[0], CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE, notes_max);
    const auto behaviour = look.get<cudnnBackendBehaviorNote_t>(
        engine[0], CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE, notes_max);
    return look.succeeded() &&
           std::ranges::all_of(numbers,
                               [&](cudnnBackendNumericalNote_t note) {
                                   return note == CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP ||
                                          (note == CUDNN_NUMERICAL_NOTE_TENSOR_CORE && may_round);
                               }) &&
           std::ranges::find(behaviour, CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION) == behaviour.end();
}

} // namespace

cudnn_descriptors::~cudnn_descriptors() {
    for (auto at = all_.rbegin(); at != all_.rend(); ++at)
        cudnn_->cudnnBackendDestroyDescriptor(*at);
}

cudnnStatus_t cudnn_descriptors::add(cudnnBackendDescriptorType_t type,
                                     cudnnBackendDescriptor_t& made) {
    const auto status = cudnn_->cudnnBackendCreateDescriptor(type, &made);
    if (status == CUDNN_STATUS_SUCCESS)
        all_.push_back(made);
    return status;
}

void cudnn_descriptors::take(cudnn_descriptors& from, cudnnBackendDescriptor_t taken) {
    std::erase(from.all_, taken);
    all_.push_back(taken);
}

std::size_t workspace_bytes_max(const conv_shape& shape) noexcept {
    std::size_t bytes = 32u << 20;
    for (const auto& [a, b, c, d] : shape.tensors)
        bytes += static_cast<std::size_t>(a * b * c * d) * sizeof(float);
    return bytes;
}

std::optional<cudnn_plan> cudnn_plan::make(const functions& cudnn, const conv_target& target,
                                           const conv_shape& shape) {
    cudnn_plan made{cudnn_descriptors{cudnn}};
    assembly parts{cudnn, made.parts_};
    const auto graph = add_graph(parts, shape, target.handle);
    if (!parts.succeeded())
        return std::nullopt;
    for (const auto mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
        cudnn_descriptors candidates{cudnn};
        assembly asked{cudnn, candidates};
        for (const auto engine : add_engines(asked, graph, mode, target)) {
            cudnn_descriptors attempt{cudnn};
            assembly with{cudnn, attempt};
            if (!will_do(with, engine, shape.may_round))
                continue;
            const auto plan = with.add(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
            if (target.handle != nullptr)
                with.set(plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, target.handle);
            else
                with.set(plan, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                         target.properties);
            with.set(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                     engine);
            with.finish(plan);
            const auto bytes = with.get<std::int64_t>(
                plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1);
            if (bytes.empty() || bytes[0] < 0 ||
                static_cast<std::size_t>(bytes[0]) > workspace_bytes_max(shape))
                continue;
            made.parts_.take(candidates, engine);
            made.parts_.take(attempt, plan);
            made.plan_ = plan;
            made.workspace_bytes_ = static_cast<std::size_t>(bytes[0]);
            return made;
        }
    }
    return std::nullopt;
}

cudnnStatus_t cudnn_plan::run(const functions& cudnn, cudnnHandle_t handle,
                              const std::array<void*, conv_tensors>& operands,
                              void* workspace) const {
    constexpr std::array<std::int64_t, conv_tensors> identifiers{identifier(0), identifier(1),
                                                                 identifier(2)};
    cudnn_descriptors owner{cudnn};
    cudnnBackendDescriptor_t pack = nullptr;
    auto status = owner.add(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, pack);
    const auto set = [&](cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                         std::int64_t count, const void* values) {
        if (status == CUDNN_STATUS_SUCCESS)
            status = cudnn.cudnnBackendSetAttribute(pack, name, type, count, values);
    };
    set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, conv_tensors, identifiers.data());
    set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, conv_tensors, operands.data());
    set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace);
    if (status == CUDNN_STATUS_SUCCESS)
        status = cudnn.cudnnBackendFinalize(pack);
    return status == CUDNN_STATUS_SUCCESS ? cudnn.cudnnBackendExecute(handle, plan_, pack) : status;
}

} // namespace troupe::cuda

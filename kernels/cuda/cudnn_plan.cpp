#include "kernels/cuda/cudnn_plan.hpp"

#include <algorithm>

namespace troupe::cuda {

using namespace dnn;

namespace {

cudnnBackendDescriptor_t add_graph(cudnn_assembly& to,
                                   std::span<const cudnnBackendDescriptor_t> operations,
                                   cudnnHandle_t handle) {
    const auto graph = to.add(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    if (handle != nullptr)
        to.set(graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, handle);
    to.set(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, operations);
    to.finish(graph);
    return graph;
}

// The engines with their settings, the fastest first.
std::vector<cudnnBackendDescriptor_t> add_engines(cudnn_assembly& to,
                                                  cudnnBackendDescriptor_t graph,
                                                  cudnnBackendHeurMode_t mode,
                                                  const cudnn_target& target) {
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
bool will_do(cudnn_assembly& look, cudnnBackendDescriptor_t config, const engine_rules& rules) {
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
                                          (note == CUDNN_NUMERICAL_NOTE_TENSOR_CORE &&
                                           rules.may_round);
                               }) &&
           (rules.may_compile ||
            std::ranges::find(behaviour, CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION) ==
                behaviour.end());
}

} // namespace

std::optional<cudnn_plan> cudnn_plan::make(const functions& cudnn, const cudnn_target& target,
                                           cudnn_graph of, const engine_rules& rules) {
    if (of.operations.empty() || rules.workspace_min > rules.workspace_max)
        return std::nullopt;
    cudnn_plan made{std::move(of.parts)};
    cudnn_assembly parts{cudnn, made.parts_};
    const auto graph = add_graph(parts, of.operations, target.handle);
    if (!parts.succeeded())
        return std::nullopt;
    for (const auto mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
        cudnn_descriptors candidates{cudnn};
        cudnn_assembly asked{cudnn, candidates};
        for (const auto engine : add_engines(asked, graph, mode, target)) {
            cudnn_descriptors attempt{cudnn};
            cudnn_assembly with{cudnn, attempt};
            if (!will_do(with, engine, rules))
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
            if (bytes.empty() || bytes[0] < 0)
                continue;
            const auto workspace_bytes = static_cast<std::size_t>(bytes[0]);
            if (workspace_bytes < rules.workspace_min || workspace_bytes > rules.workspace_max)
                continue;
            made.parts_.take(candidates, engine);
            made.parts_.take(attempt, plan);
            made.plan_ = plan;
            made.workspace_bytes_ = workspace_bytes;
            return made;
        }
    }
    return std::nullopt;
}

cudnnStatus_t cudnn_plan::run(const functions& cudnn, cudnnHandle_t handle,
                              std::span<void* const> operands, void* workspace) const {
    std::vector<std::int64_t> identifiers;
    std::vector<void*> places;
    for (std::size_t i = 0; i < operands.size(); ++i)
        if (operands[i] != nullptr) {
            identifiers.push_back(identifier_of(i));
            places.push_back(operands[i]);
        }
    cudnn_descriptors owner{cudnn};
    cudnnBackendDescriptor_t pack = nullptr;
    auto status = owner.add(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, pack);
    const auto set = [&](cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                         const auto& values) {
        if (status == CUDNN_STATUS_SUCCESS)
            status = cudnn.cudnnBackendSetAttribute(
                pack, name, type, static_cast<std::int64_t>(std::size(values)), std::data(values));
    };
    set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, identifiers);
    set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, places);
    set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, std::span{&workspace, 1});
    if (status == CUDNN_STATUS_SUCCESS)
        status = cudnn.cudnnBackendFinalize(pack);
    return status == CUDNN_STATUS_SUCCESS ? cudnn.cudnnBackendExecute(handle, plan_, pack) : status;
}

} // namespace troupe::cuda

#include "kernels/cuda/cudnn.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <string>

#include "kernels/cuda/cudnn_convolution.hpp"
#include "kernels/cuda/execution.hpp"
#include "kernels/cuda/half_numbers.hpp"
#include "kernels/cuda/status.hpp"

namespace troupe::cuda {

namespace {

// By conv_tensor; constness is that of the direction.
struct conv_operands {
    std::array<const tensor*, conv_tensors> all;
    tensor& result;
};

bool is_aligned_for_cudnn(const void* memory) noexcept {
    return reinterpret_cast<std::uintptr_t>(memory) % cudnn_alignment == 0;
}

// Indices of tensors are of 32 bits in many an engine.
bool is_taken(const conv2d_settings& settings, const conv_operands& o) {
    constexpr std::size_t elements_max = std::numeric_limits<std::int32_t>::max();
    return settings.input_block == 1 && settings.output_block == 1 &&
           std::max(settings.stride, settings.padding) <= elements_max &&
           std::ranges::all_of(o.all,
                               [](const tensor* t) { return t->elements() <= elements_max; });
}

conv_shape shape_of(conv_direction direction, const conv2d_settings& settings,
                    const conv_operands& o) {
    conv_shape shape{.direction = direction,
                     .tensors = {},
                     .stride = static_cast<std::int64_t>(settings.stride),
                     .padding = static_cast<std::int64_t>(settings.padding),
                     .may_round = settings.products != precision::float32};
    for (std::size_t t = 0; t < conv_tensors; ++t)
        for (std::size_t i = 0; i < 4; ++i)
            shape.tensors[t][i] = static_cast<std::int64_t>(o.all[t]->shape()[i]);
    return shape;
}

errc code_of(dnn::cudnnStatus_t status) {
    switch (status) {
    case dnn::CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED:
    case dnn::CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED:
        return errc::exhausted;
    default:
        return dnn::category_of(status) == dnn::CUDNN_STATUS_BAD_PARAM ? errc::usage : errc::lost;
    }
}

} // namespace

// The library with a handle, and plans by shape.
class cudnn::state {
  public:
    state() = default;
    ~state() {
        convolutions_.clear();
        attentions_.clear();
        if (handle_ != nullptr)
            cudnn_->cudnnDestroy(handle_);
    }
    state(const state&) = delete;
    state& operator=(const state&) = delete;

    // A factor as it is handed over: aligned, and rounded where it should be. `kept` holds what is made.
    struct factor_copy {
        buffer_ref kept;
        void* lies = nullptr; // null until it is first needed
    };

    // `gradient`: of an operation with several directions, the output's gradient, which is made once for all of them.
    result<bool> put_in(conv_direction direction, const conv2d_settings& settings,
                        const conv_operands& o, execution& run, factor_copy* gradient = nullptr) {
        if (cudnn_ == nullptr || !is_taken(settings, o))
            return false;
        known_plan& known = plan_of(convolutions_, shape_of(direction, settings, o));
        if (!known.is_taken())
            return false;
        const conv_tensor result_at = result_of(direction);
        std::array<factor_copy, conv_tensors> kept;
        std::array<void*, conv_tensors> lies{};
        for (std::size_t t = 0; t < conv_tensors; ++t) {
            factor_copy& copy = t == conv_windows && gradient != nullptr ? *gradient : kept[t];
            if (auto done = t == result_at ? place_for(o.result, copy, run)
                                           : take_factor(*o.all[t], settings.products, copy, run);
                !done)
                return done.failure();
            lies[t] = copy.lies;
        }
        auto taken = put_in(known, lies, run, {o.all[0], o.all[1], o.all[2]});
        if (!taken || !*taken || lies[result_at] == o.result.data())
            return taken;
        const auto copied =
            checked(cudaMemcpyAsync(o.result.mutable_data(), lies[result_at], o.result.bytes(),
                                    cudaMemcpyDefault, run.stream()));
        return copied ? result<bool>{true} : copied.failure();
    }

    bool takes(const attention_shape& shape) {
        return cudnn_ != nullptr && cudnn_->cudnnGetVersion() >= first_version_for_attention &&
               plan_of(attentions_, shape).is_taken();
    }
    result<bool> attend(const attention_shape& shape, const attention_places& places,
                        execution& run, std::initializer_list<const tensor*> of) {
        return put_in(attentions_.at(shape), places, run, of);
    }

  private:
    struct known_plan {
        std::optional<cudnn_plan> plan;
        bool is_declined = false; // when it should run; earlier runs may still need the plan

        bool is_taken() const { return plan && !is_declined; }
    };
    template <class Shape>
    using plans = std::map<Shape, known_plan>;

    // The first opens a handle.
    template <class Shape>
    known_plan& plan_of(plans<Shape>& all, const Shape& shape) {
        const auto [at, is_new] = all.try_emplace(shape);
        known_plan& known = at->second;
        if (!is_new)
            return known;
        if (handle_ == nullptr && cudnn_->cudnnCreate(&handle_) != dnn::CUDNN_STATUS_SUCCESS) {
            handle_ = nullptr;
            cudnn_ = nullptr; // a GPU or a driver that it is not made for
        } else if (auto made = cudnn_plan::make(*cudnn_, {.handle = handle_},
                                                graph_of(*cudnn_, shape), rules_of(shape))) {
            known.plan.emplace(std::move(*made));
        }
        return known;
    }

    result<bool> put_in(known_plan& known, std::span<void* const> places, execution& run,
                        std::initializer_list<const tensor*> of) {
        auto workspace = run.scratch(known.plan->workspace_bytes());
        if (!workspace)
            return workspace.failure();
        auto status = cudnn_->cudnnSetStream(handle_, run.stream());
        const char* call = "cudnnSetStream";
        if (status == dnn::CUDNN_STATUS_SUCCESS) {
            call = "cudnnBackendExecute";
            status = known.plan->run(*cudnn_, handle_, places, (*workspace)->data());
        }
        if (dnn::category_of(status) == dnn::CUDNN_STATUS_NOT_SUPPORTED)
            known.is_declined = true; // nor will it be taken the next time
        else if (status != dnn::CUDNN_STATUS_SUCCESS)
            return failed(code_of(status), named(call, status), of);
        return known.is_taken();
    }

    static result<void> take_factor(const tensor& t, precision products, factor_copy& copy,
                                    execution& run) {
        if (copy.lies != nullptr)
            return {};
        const bool is_rounded = rounds(products);
        if (!is_rounded && is_aligned_for_cudnn(t.data())) {
            copy.lies = const_cast<std::byte*>(t.data()); // only read
            return {};
        }
        if (auto done = take_room(t, copy, run); !done)
            return done;
        return checked(
            is_rounded
                ? round_factor(products, reinterpret_cast<const float*>(t.data()),
                               static_cast<float*>(copy.lies), t.elements(), run.stream())
                : cudaMemcpyAsync(copy.lies, t.data(), t.bytes(), cudaMemcpyDefault, run.stream()),
            {&t});
    }

    static result<void> place_for(tensor& t, factor_copy& copy, execution& run) {
        if (!is_aligned_for_cudnn(t.data()))
            return take_room(t, copy, run);
        copy.lies = t.mutable_data();
        return {};
    }

    static result<void> take_room(const tensor& t, factor_copy& copy, execution& run) {
        auto made = run.scratch(t.bytes());
        if (!made)
            return made.failure();
        copy.kept = std::move(*made);
        copy.lies = copy.kept->data();
        return {};
    }

    std::string named(const char* call, dnn::cudnnStatus_t status) const {
        std::array<char, 512> more{};
        cudnn_->cudnnGetLastErrorString(more.data(), more.size());
        more.back() = 0;
        std::string text = std::string{call} + ": " + cudnn_->cudnnGetErrorString(status);
        if (more[0] != 0)
            text += std::string{" ("} + more.data() + ")";
        return text;
    }

    const dnn::functions* cudnn_ = dnn::library(); // null without cuDNN
    dnn::cudnnHandle_t handle_ = nullptr;          // null until the first plan
    plans<conv_shape> convolutions_;
    plans<attention_shape> attentions_;
};

cudnn::cudnn() = default;
cudnn::~cudnn() = default;

cudnn::state& cudnn::opened() {
    if (!state_)
        state_ = std::make_unique<state>();
    return *state_;
}

result<bool> cudnn::forward(const conv2d_forward& op, execution& run) {
    return opened().put_in(conv_direction::forward, op.settings,
                           {{&op.input, &op.weight, &op.output}, op.output}, run);
}

result<cudnn::gradients> cudnn::backward(const conv2d_backward& op, execution& run) {
    state::factor_copy output_gradient;
    auto weight =
        opened().put_in(conv_direction::to_weight, op.settings,
                        {{&op.input, &op.weight_gradient, &op.output_gradient}, op.weight_gradient},
                        run, &output_gradient);
    if (!weight)
        return weight.failure();
    if (op.input_gradient == nullptr)
        return gradients{.weight = *weight};
    auto input =
        opened().put_in(conv_direction::to_input, op.settings,
                        {{op.input_gradient, &op.weight, &op.output_gradient}, *op.input_gradient},
                        run, &output_gradient);
    if (!input)
        return input.failure();
    return gradients{.weight = *weight, .input = *input};
}

bool cudnn::takes(const attention_shape& shape) {
    return opened().takes(shape);
}

result<bool> cudnn::attend(const attention_shape& shape, const attention_places& places,
                           execution& run, std::initializer_list<const tensor*> of) {
    return opened().attend(shape, places, run, of);
}

} // namespace troupe::cuda

// Ten steps of every update rule that PyTorch has, and of one with clipped gradients, for pytorch_optimizers.py to compare:
// one JSON object per line with the rule, its settings, the first values of a parameter, ten gradients and the last values.
// Numbers are written so that they read back as the same floats.
#include <cstdio>
#include <string>

#include "kernels/cpu/cpu_operations.hpp"
#include "kernels/optim/clip.hpp"
#include "tests/unit/kernels/models.hpp"
#include "tests/unit/kernels/rules.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

constexpr std::size_t elements = 40;
constexpr int steps = 10;

std::string numbers(const tensor& t) {
    std::string text = "[";
    char number[32];
    for (const float x : t.values<float>()) {
        std::snprintf(number, sizeof number, "%s%.9g", text.size() > 1 ? "," : "", double{x});
        text += number;
    }
    return text + "]";
}

template <class Describe>
void print(const char* name, const char* settings, float learning_rate, Describe describe,
           const gradient_clip& clip = {}) {
    memory_pool pool{1 << 20};
    const auto ops = make_cpu_operations(pool);
    compute_context context{*ops, pool};
    const optimizer_ptr r = rule(describe);
    auto first = std::make_shared<weights>();
    first->parameters = {random_tensor(pool, {elements}, 1)};
    first->updates = {0};
    for (std::size_t kind = 0; kind < r->state().size(); ++kind) {
        first->state.push_back(tensor::allocate(pool, data_type::float32, {elements}).value());
        TROUPE_CHECK(ops->run(fill{first->state.back(), 0}).ok(), "it has memory");
    }
    const std::string before = numbers(first->parameters[0]);
    std::string gradients;
    weights_ptr w = std::move(first);
    for (int s = 0; s < steps; ++s) {
        std::vector<tensor> gradient{
            random_tensor(pool, {elements}, 10 + static_cast<unsigned>(s))};
        gradients += (s > 0 ? "," : "") + numbers(gradient[0]);
        TROUPE_CHECK(clip_gradients(context, clip, gradient).ok(), "it has memory");
        w = r->step(context, std::move(w), gradient, learning_rate).value();
    }
    std::printf("{\"rule\": \"%s\", \"settings\": %s, \"learning_rate\": %.9g, "
                "\"clip_value\": %.9g, \"clip_norm\": %.9g, \"before\": %s, "
                "\"gradients\": [%s], \"after\": %s}\n",
                name, settings, double{learning_rate}, double{clip.value.value_or(0)},
                double{clip.norm.value_or(0)}, before.c_str(), gradients.c_str(),
                numbers(w->parameters[0]).c_str());
}

} // namespace

int main() {
    using description = proto::Optimizer::Builder;
    print("SGD", "{}", 0.1f, [](description o) { o.initSgd(); });
    print("SGD", R"({"momentum": 0.9, "weight_decay": 0.01})", 0.1f, [](description o) {
        auto s = o.initSgd();
        s.setMomentum(0.9f);
        s.setWeightDecay(0.01f);
    });
    print("SGD", R"({"momentum": 0.9, "nesterov": true})", 0.1f, [](description o) {
        auto s = o.initSgd();
        s.setMomentum(0.9f);
        s.setNesterov(true);
    });
    print("Adagrad", R"({"weight_decay": 0.01})", 0.1f,
          [](description o) { o.initAdagrad().setWeightDecay(0.01f); });
    print("RMSprop", R"({"alpha": 0.9})", 0.01f,
          [](description o) { o.initRmsprop().setDecay(0.9f); });
    print("Adadelta", R"({"rho": 0.8})", 1.f,
          [](description o) { o.initAdadelta().setDecay(0.8f); });
    print("Adam", R"({"betas": [0.8, 0.99], "weight_decay": 0.01})", 0.01f, [](description o) {
        auto s = o.initAdam();
        s.setBeta1(0.8f);
        s.setBeta2(0.99f);
        s.setWeightDecay(0.01f);
    });
    print("Adam", "{}", 0.01f, [](description o) { o.initAdam(); });
    print("AdamW", R"({"weight_decay": 0.1})", 0.01f,
          [](description o) { o.initAdamw().setWeightDecay(0.1f); });
    print("SGD", "{}", 0.1f, [](description o) { o.initSgd(); }, {.value = 0.3f});
    print("SGD", R"({"momentum": 0.9})", 0.1f, [](description o) { o.initSgd().setMomentum(0.9f); },
          {.norm = 0.5f});
    return 0;
}

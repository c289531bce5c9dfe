// The learning rate of every minibatch of a run, by every schedule, for pytorch_learning_rates.py to compare: one JSON
// object per line with the settings of train and the rates. Numbers are written so that they read back as the same floats.
#include <capnp/message.h>

#include <cstdio>

#include "kernels/optim/learning_rate.hpp"

using namespace troupe;

namespace {

constexpr std::uint32_t epochs = 6;
constexpr std::uint64_t minibatches_per_epoch = 7;

using description = proto::LearningRateSchedule::Builder;

template <class Describe>
void print(const char* schedule, const char* settings, std::uint32_t warmup, Describe describe) {
    capnp::MallocMessageBuilder message;
    auto train = message.initRoot<proto::Train>();
    train.setEpochs(epochs);
    train.setWarmupMinibatches(warmup);
    train.initOptimizer().initSgd().setLearningRate(0.4f);
    describe(train.initSchedule());
    std::printf("{\"schedule\": \"%s\", \"settings\": %s, \"learning_rate\": %.9g, \"epochs\": %u, "
                "\"minibatches_per_epoch\": %llu, \"warmup\": %u, \"rates\": [",
                schedule, settings, double{0.4f}, epochs,
                static_cast<unsigned long long>(minibatches_per_epoch), warmup);
    const std::uint64_t minibatches = epochs * minibatches_per_epoch;
    const learning_rates rates = make_learning_rates(train.asReader(), minibatches);
    for (std::uint64_t b = 0; b < minibatches; ++b)
        std::printf("%s%.9g", b > 0 ? ", " : "",
                    double{rates({static_cast<std::uint32_t>(b / minibatches_per_epoch), b})});
    std::printf("]}\n");
}

} // namespace

int main() {
    for (const std::uint32_t warmup : {0u, 10u}) {
        print("constant", "{}", warmup, [](description s) { s.setConstant(); });
        print("step", R"({"every_epochs": 2, "factor": 0.3})", warmup, [](description s) {
            s.initStep().setEveryEpochs(2);
            s.getStep().setFactor(0.3f);
        });
        print("cosine", R"({"final_factor": 0.1})", warmup,
              [](description s) { s.initCosine().setFinalFactor(0.1f); });
        print("polynomial", R"({"power": 1, "final_factor": 0})", warmup,
              [](description s) { s.initPolynomial(); });
        print("polynomial", R"({"power": 3, "final_factor": 0.2})", warmup, [](description s) {
            s.initPolynomial().setPower(3);
            s.getPolynomial().setFinalFactor(0.2f);
        });
    }
    return 0;
}

// The learning rate of every update of a run, by every schedule, for pytorch_learning_rates.py to compare: one JSON
// object per line with the settings of train and the rates. Numbers are written so that they read back as the same floats.
#include <capnp/message.h>

#include <cstdio>

#include "kernels/optim/learning_rate.hpp"

using namespace troupe;

namespace {

constexpr std::uint64_t updates_per_epoch = 7;

// A run, of replicas that take turns; each update takes a minibatch of each. What is printed is of updates.
struct length {
    std::uint32_t epochs;
    std::uint32_t warmup;
    std::uint32_t replicas = 1;
};

using description = proto::LearningRateSchedule::Builder;

template <class Describe>
void print(const char* schedule, const char* settings, length of, Describe describe) {
    capnp::MallocMessageBuilder message;
    auto train = message.initRoot<proto::Train>();
    train.setBatch(10);
    train.setEpochs(of.epochs);
    train.setWarmupMinibatches(of.warmup * of.replicas);
    train.initOptimizer().initSgd().setLearningRate(0.4f);
    describe(train.initSchedule());
    std::printf("{\"schedule\": \"%s\", \"settings\": %s, \"learning_rate\": %.9g, \"epochs\": %u, "
                "\"updates_per_epoch\": %llu, \"warmup\": %u, \"replicas\": %u, \"rates\": [",
                schedule, settings, double{0.4f}, of.epochs,
                static_cast<unsigned long long>(updates_per_epoch), of.warmup, of.replicas);
    const std::uint64_t per_epoch = updates_per_epoch * of.replicas;
    const learning_rates rates =
        make_learning_rates(train.asReader(), 10 * per_epoch - 3, of.replicas);
    for (std::uint64_t b = 0; b < of.epochs * per_epoch; b += of.replicas)
        std::printf("%s%.9g", b > 0 ? ", " : "", double{rates(b)});
    std::printf("]}\n");
}

void print_all(length of) {
    print("constant", "{}", of, [](description s) { s.setConstant(); });
    print("step", R"({"every_epochs": 1, "factor": 0.7})", of, [](description s) {
        s.initStep().setEveryEpochs(1);
        s.getStep().setFactor(0.7f);
    });
    print("step", R"({"every_epochs": 2, "factor": 0.3})", of, [](description s) {
        s.initStep().setEveryEpochs(2);
        s.getStep().setFactor(0.3f);
    });
    print("cosine", R"({"final_factor": 0})", of, [](description s) { s.initCosine(); });
    print("cosine", R"({"final_factor": 0.1})", of,
          [](description s) { s.initCosine().setFinalFactor(0.1f); });
    print("polynomial", R"({"power": 1, "final_factor": 0})", of,
          [](description s) { s.initPolynomial(); });
    print("polynomial", R"({"power": 3, "final_factor": 0.2})", of, [](description s) {
        s.initPolynomial().setPower(3);
        s.getPolynomial().setFinalFactor(0.2f);
    });
}

} // namespace

int main() {
    for (const std::uint32_t epochs : {1u, 2u, 6u})
        for (const std::uint32_t warmup : {0u, 1u, 3u, 10u, 100u})
            print_all({epochs, warmup});
    print_all({3, 4, 4});
    return 0;
}

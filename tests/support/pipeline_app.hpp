// A small app that can be cut anywhere.
#pragma once

#include <string>
#include <vector>

namespace troupe::test {

inline const std::string default_optimizer = "sgd: {learning_rate: 0.05, momentum: 0.9}";

// An app over synthetic data with six layers that can be cut into up to six stages. `more`: further keys of train.
inline std::string pipeline_app(const std::string& schedule, const std::vector<std::size_t>& layers,
                                unsigned epochs, const std::string& optimizer = default_optimizer,
                                const std::string& more = "") {
    std::string stages;
    for (const std::size_t count : layers)
        stages +=
            (stages.empty() ? "" : ", ") + std::string{"{layers: "} + std::to_string(count) + "}";
    return "troupe: 1\n"
           "data: {synthetic: {train_samples: 70, test_samples: 20, classes: 3}}\n"
           "model:\n"
           "  input: [1, 6, 6]\n"
           "  layers:\n"
           "    - conv2d: {out: 4, kernel: 3, padding: 1}\n"
           "    - relu\n"
           "    - max_pool: {kernel: 2}\n"
           "    - linear: {out: 12}\n"
           "    - relu\n"
           "    - linear: {out: 3}\n"
           "train: {batch: 8, seed: 5, epochs: " +
           std::to_string(epochs) + ", optimizer: {" + optimizer + "}" +
           (more.empty() ? "" : ", " + more) +
           "}\n"
           "topology: {pipeline: {schedule: " +
           schedule + ", microbatches: 3, stages: [" + stages + "]}}\n";
}

} // namespace troupe::test

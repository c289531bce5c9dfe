// The settings of update rules. Their formulas stand in kernels/ops/updates.hpp, which includes this file: it includes
// nothing, so that loops that are compiled once per instruction set may use it, too.
#pragma once

namespace troupe {

struct sgd_settings {
    float momentum = 0;
    float weight_decay = 0;
    float gradient_scale = 1;
    bool nesterov = false;
};

struct adagrad_settings {
    float epsilon = 1e-10f;
    float weight_decay = 0;
};

struct rmsprop_settings {
    float decay = 0.99f;
    float epsilon = 1e-8f;
    float weight_decay = 0;
};

struct adadelta_settings {
    float decay = 0.9f;
    float epsilon = 1e-6f;
    float weight_decay = 0;
};

struct adam_settings {
    float beta1 = 0.9f;
    float beta2 = 0.999f;
    float epsilon = 1e-8f;
    float weight_decay = 0;
    bool decoupled = false;
};

struct lamb_settings {
    float beta1 = 0.9f;
    float beta2 = 0.999f;
    float epsilon = 1e-6f;
    float weight_decay = 0;
};

} // namespace troupe

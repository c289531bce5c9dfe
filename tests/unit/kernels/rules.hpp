// Update rules for tests.
#pragma once

#include <capnp/message.h>

#include "kernels/optim/optimizer.hpp"

namespace troupe::test {

// The rule that `describe` asks for.
template <class Describe>
optimizer_ptr rule(Describe describe) {
    capnp::MallocMessageBuilder message;
    auto description = message.initRoot<proto::Optimizer>();
    describe(description);
    return make_optimizer(description.asReader());
}

inline optimizer_ptr sgd_rule(float momentum) {
    return rule([=](proto::Optimizer::Builder o) { o.initSgd().setMomentum(momentum); });
}

} // namespace troupe::test

// Each update rule's constructor; make_optimizer chooses between them.
#pragma once

#include "kernels/optim/optimizer.hpp"

namespace troupe {

optimizer_ptr make_sgd(proto::Sgd::Reader settings);
optimizer_ptr make_adagrad(proto::Adagrad::Reader settings);
optimizer_ptr make_rmsprop(proto::Rmsprop::Reader settings);
optimizer_ptr make_adadelta(proto::Adadelta::Reader settings);
optimizer_ptr make_adam(proto::Adam::Reader settings);
optimizer_ptr make_adamw(proto::Adamw::Reader settings);
// Layer-wise adaptive rates: the step of each weight is scaled by its norm beside that of the step. Biases take theirs as
// it is.
optimizer_ptr make_lars(proto::Lars::Reader settings);
optimizer_ptr make_lamb(proto::Lamb::Reader settings);

} // namespace troupe

// The rules that are more than one operation each; make_optimizer chooses between them and the others.
#pragma once

#include "kernels/optim/optimizer.hpp"

namespace troupe {

// Layer-wise adaptive rates: the step of each weight is scaled by its norm beside that of the step. Biases take theirs as
// it is.
optimizer_ptr make_lars(proto::Lars::Reader settings);
optimizer_ptr make_lamb(proto::Lamb::Reader settings);

} // namespace troupe

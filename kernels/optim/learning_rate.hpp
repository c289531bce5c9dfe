// The learning rate of every update of a run: a pure function of its minibatch.
//
// While it warms up, minibatch b has (b + 1) / warmup_minibatches of the optimizer's rate. The schedule begins with the next
// one, at the full rate, and goes by minibatches: cosine and polynomial arrive at their share of the rate with the last
// minibatch of the run, and step counts its epochs from the end of the warm-up. PyTorch's SequentialLR of a LinearLR and a
// CosineAnnealingLR, PolynomialLR or StepLR has these rates if it is stepped after every minibatch.
//
// Where replicas take turns, the minibatches of a round are one in this, and the warm-up has as many rounds as it needs: the
// rates are those of one device with minibatches of all replicas' samples, and of PyTorch's where each process steps its
// scheduler after every update.
#pragma once

#include <cstdint>
#include <functional>

#include "schemas/app.capnp.h"

namespace troupe {

// By the number of a minibatch, from 0 over the run and all replicas. Const, and shared freely by threads.
using learning_rates = std::function<float(std::uint64_t minibatch)>;

// The rates of a run with so many samples in an epoch, and so many replicas that take turns. Null for a schedule that this
// build does not know.
learning_rates make_learning_rates(proto::Train::Reader train, std::uint64_t samples,
                                   std::uint32_t in_turn = 1);

// So many times these rates, of all minibatches.
learning_rates times(learning_rates rates, float factor);

} // namespace troupe

#include "kernels/optim/rules.hpp"

namespace troupe {

optimizer_ptr make_optimizer(proto::Optimizer::Reader description) {
    switch (description.which()) {
    case proto::Optimizer::SGD:
        return make_sgd(description.getSgd());
    case proto::Optimizer::ADAGRAD:
        return make_adagrad(description.getAdagrad());
    case proto::Optimizer::RMSPROP:
        return make_rmsprop(description.getRmsprop());
    case proto::Optimizer::ADADELTA:
        return make_adadelta(description.getAdadelta());
    case proto::Optimizer::ADAM:
        return make_adam(description.getAdam());
    case proto::Optimizer::ADAMW:
        return make_adamw(description.getAdamw());
    case proto::Optimizer::LARS:
        return make_lars(description.getLars());
    case proto::Optimizer::LAMB:
        return make_lamb(description.getLamb());
    }
    return nullptr;
}

float base_learning_rate(proto::Optimizer::Reader description) {
    switch (description.which()) {
    case proto::Optimizer::SGD:
        return description.getSgd().getLearningRate();
    case proto::Optimizer::ADAGRAD:
        return description.getAdagrad().getLearningRate();
    case proto::Optimizer::RMSPROP:
        return description.getRmsprop().getLearningRate();
    case proto::Optimizer::ADADELTA:
        return description.getAdadelta().getLearningRate();
    case proto::Optimizer::ADAM:
        return description.getAdam().getLearningRate();
    case proto::Optimizer::ADAMW:
        return description.getAdamw().getLearningRate();
    case proto::Optimizer::LARS:
        return description.getLars().getLearningRate();
    case proto::Optimizer::LAMB:
        return description.getLamb().getLearningRate();
    }
    return 0;
}

} // namespace troupe

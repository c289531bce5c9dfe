#include "kernels/cuda/cudnn_graph.hpp"

namespace troupe::cuda {

cudnn_descriptors::~cudnn_descriptors() {
    for (auto at = all_.rbegin(); at != all_.rend(); ++at)
        cudnn_->cudnnBackendDestroyDescriptor(*at);
}

dnn::cudnnStatus_t cudnn_descriptors::add(dnn::cudnnBackendDescriptorType_t type,
                                          dnn::cudnnBackendDescriptor_t& made) {
    const auto status = cudnn_->cudnnBackendCreateDescriptor(type, &made);
    if (status == dnn::CUDNN_STATUS_SUCCESS)
        all_.push_back(made);
    return status;
}

void cudnn_descriptors::take(cudnn_descriptors& from, dnn::cudnnBackendDescriptor_t taken) {
    std::erase(from.all_, taken);
    all_.push_back(taken);
}

} // namespace troupe::cuda

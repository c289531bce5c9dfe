// Graphs of operations as cuDNN takes them: descriptors, which a graph owns, and how they are put together.
#pragma once

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "kernels/cuda/cudnn_api.hpp"

namespace troupe::cuda {

// cuDNN asks for addresses that are multiples of so much.
inline constexpr std::size_t cudnn_alignment = 16;

// Tensors that are given when a graph is run are known by their places among the operands, counted from 1; others have
// identifiers from here on.
inline constexpr std::int64_t first_inner_tensor = 100;
constexpr std::int64_t identifier_of(std::size_t operand) noexcept {
    return static_cast<std::int64_t>(operand) + 1;
}

// Owns descriptors.
class cudnn_descriptors {
  public:
    explicit cudnn_descriptors(const dnn::functions& cudnn) : cudnn_{&cudnn} {}
    cudnn_descriptors(cudnn_descriptors&& other) noexcept
        : cudnn_{other.cudnn_}, all_{std::exchange(other.all_, {})} {}
    ~cudnn_descriptors();

    dnn::cudnnStatus_t add(dnn::cudnnBackendDescriptorType_t type,
                           dnn::cudnnBackendDescriptor_t& made);
    // One of another owner's.
    void take(cudnn_descriptors& from, dnn::cudnnBackendDescriptor_t taken);

  private:
    const dnn::functions* cudnn_;
    std::vector<dnn::cudnnBackendDescriptor_t> all_;
};

// Attributes of descriptors; after the first failure nothing more is done.
class cudnn_assembly {
  public:
    cudnn_assembly(const dnn::functions& cudnn, cudnn_descriptors& owner)
        : cudnn_{cudnn}, owner_{owner} {}

    bool succeeded() const noexcept { return status_ == dnn::CUDNN_STATUS_SUCCESS; }

    dnn::cudnnBackendDescriptor_t add(dnn::cudnnBackendDescriptorType_t type) {
        dnn::cudnnBackendDescriptor_t made = nullptr;
        then([&] { return owner_.add(type, made); });
        return made;
    }
    template <class T>
    void set(dnn::cudnnBackendDescriptor_t of, dnn::cudnnBackendAttributeName_t name,
             dnn::cudnnBackendAttributeType_t type, std::span<const T> values) {
        then([&] {
            return cudnn_.cudnnBackendSetAttribute(
                of, name, type, static_cast<std::int64_t>(values.size()), values.data());
        });
    }
    template <class T>
    void set(dnn::cudnnBackendDescriptor_t of, dnn::cudnnBackendAttributeName_t name,
             dnn::cudnnBackendAttributeType_t type, const T& value) {
        set(of, name, type, std::span<const T>{&value, 1});
    }
    // At most `room` values.
    template <class T>
    std::vector<T> get(dnn::cudnnBackendDescriptor_t of, dnn::cudnnBackendAttributeName_t name,
                       dnn::cudnnBackendAttributeType_t type, std::size_t room) {
        std::vector<T> values(room);
        get_into(of, name, type, values);
        return values;
    }
    // `values` shrinks to those that there are. Of descriptors they are filled in.
    template <class T>
    void get_into(dnn::cudnnBackendDescriptor_t of, dnn::cudnnBackendAttributeName_t name,
                  dnn::cudnnBackendAttributeType_t type, std::vector<T>& values) {
        std::int64_t there = 0;
        then([&] {
            return cudnn_.cudnnBackendGetAttribute(
                of, name, type, static_cast<std::int64_t>(values.size()), &there, values.data());
        });
        if (succeeded())
            values.resize(std::min(values.size(), static_cast<std::size_t>(there)));
        else
            values.clear();
    }
    // How many there are.
    std::size_t count(dnn::cudnnBackendDescriptor_t of, dnn::cudnnBackendAttributeName_t name,
                      dnn::cudnnBackendAttributeType_t type) {
        std::int64_t there = 0;
        then([&] { return cudnn_.cudnnBackendGetAttribute(of, name, type, 0, &there, nullptr); });
        return succeeded() ? static_cast<std::size_t>(there) : 0;
    }
    void finish(dnn::cudnnBackendDescriptor_t d) {
        then([&] { return cudnn_.cudnnBackendFinalize(d); });
    }

  private:
    template <class Call>
    void then(Call call) {
        if (succeeded())
            status_ = call();
    }

    const dnn::functions& cudnn_;
    cudnn_descriptors& owner_;
    dnn::cudnnStatus_t status_ = dnn::CUDNN_STATUS_SUCCESS;
};

// A graph, without the GPU that it is for.
struct cudnn_graph {
    cudnn_descriptors parts;
    std::vector<dnn::cudnnBackendDescriptor_t>
        operations; // of them; none where cuDNN has refused one
};

} // namespace troupe::cuda

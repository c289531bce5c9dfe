// Descriptors of the emulated cuDNN, and what is in them.
#pragma once

#include <atomic>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <vector>

#include "kernels/cuda/cudnn_api.hpp"
#include "schemas/base/check.hpp"

namespace emulated {

using namespace troupe::cuda::dnn;

struct cudnn_descriptor {
    cudnnBackendDescriptorType_t type;
    bool is_final = false;
    std::map<cudnnBackendAttributeName_t, std::vector<std::byte>> attributes;
    std::size_t engine = 0; // of an engine and its settings
};

inline std::mutex descriptors_lock;
inline std::set<const cudnn_descriptor*> living; // guarded by it

inline cudnn_descriptor& seen(cudnnBackendDescriptor_t d) {
    auto* const known = static_cast<cudnn_descriptor*>(d);
    std::lock_guard guard{descriptors_lock};
    TROUPE_CHECK(living.contains(known), "a descriptor is used while it lives");
    return *known;
}

inline bool has(const cudnn_descriptor& d, int name) {
    return d.attributes.contains(static_cast<cudnnBackendAttributeName_t>(name));
}
template <class T>
std::vector<T> all(const cudnn_descriptor& d, int name) {
    const auto at = d.attributes.find(static_cast<cudnnBackendAttributeName_t>(name));
    TROUPE_CHECK(at != d.attributes.end(), "a descriptor has all that it needs");
    std::vector<T> values(at->second.size() / sizeof(T));
    std::memcpy(values.data(), at->second.data(), at->second.size());
    return values;
}
template <class T>
T one(const cudnn_descriptor& d, int name) {
    const auto values = all<T>(d, name);
    TROUPE_CHECK(values.size() == 1, "one value where there is one");
    return values[0];
}
inline const cudnn_descriptor& part(const cudnn_descriptor& d, int name,
                                    cudnnBackendDescriptorType_t type) {
    const auto& found = seen(one<cudnnBackendDescriptor_t>(d, name));
    TROUPE_CHECK(found.is_final && found.type == type, "parts are finished, and of the right type");
    return found;
}

// Addresses, by the unique ids of tensors.
using addresses = std::map<std::int64_t, void*>;

// Attention as a graph of several operations, done one after the other. Tensors behind lengths, and what nothing is written
// to, are no numbers.
struct attention_graph {
    std::vector<const cudnn_descriptor*> operations;

    explicit attention_graph(const cudnn_descriptor& graph); // checks what it is made of

    bool is_backward() const;
    // samples, heads, queries and keys.
    std::vector<std::int64_t> scores() const;
    std::int64_t width() const;
    // What computes it, once. Values are taken now, memory is read and written then.
    std::function<void()> work(const addresses& given, bool is_of_use) const;
};

} // namespace emulated

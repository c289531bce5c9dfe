#include "kernels/cuda/cudnn_api.hpp"

#include <dlfcn.h>

#include <optional>
#include <type_traits>

// The emulated GPU has an emulated one.
#ifndef TROUPE_CUDNN
#define TROUPE_CUDNN "libcudnn.so.9"
#endif

namespace troupe::cuda::dnn {

namespace {

constexpr std::size_t oldest_version = 90000; // 9.0.0

std::optional<functions> found() {
    void* const opened = dlopen(TROUPE_CUDNN, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (opened == nullptr)
        return std::nullopt;
    functions all{};
    bool has_all = true;
    const auto find = [&](auto& function, const char* name) {
        function =
            reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(opened, name));
        has_all &= function != nullptr;
    };
#define TROUPE_FIND(name) find(all.name, #name)
    TROUPE_FIND(cudnnGetVersion);
    TROUPE_FIND(cudnnGetErrorString);
    TROUPE_FIND(cudnnGetLastErrorString);
    TROUPE_FIND(cudnnCreate);
    TROUPE_FIND(cudnnDestroy);
    TROUPE_FIND(cudnnSetStream);
    TROUPE_FIND(cudnnBackendCreateDescriptor);
    TROUPE_FIND(cudnnBackendDestroyDescriptor);
    TROUPE_FIND(cudnnBackendSetAttribute);
    TROUPE_FIND(cudnnBackendGetAttribute);
    TROUPE_FIND(cudnnBackendFinalize);
    TROUPE_FIND(cudnnBackendExecute);
#undef TROUPE_FIND
    dlclose(opened);
    if (!has_all || all.cudnnGetVersion() < oldest_version)
        return std::nullopt;
    return all;
}

} // namespace

const functions* library() {
    static const std::optional<functions> opened = found();
    return opened ? &*opened : nullptr;
}

} // namespace troupe::cuda::dnn

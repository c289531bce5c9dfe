#include "kernels/cuda/cuda_module.hpp"

#include <dlfcn.h>
#include <unistd.h>

namespace troupe {

namespace {

error not_opened(const std::string& path) {
    const std::string why = dlerror();
    if (access(path.c_str(), R_OK) != 0)
        return {errc::usage,
                "this build has no CUDA module: there is no " + path +
                    "; build it with nvcc of CUDA 13: `tools/setup -- -Dcuda=enabled` says what is "
                    "missing for it"};
    return {errc::usage, "the CUDA toolkit's libraries are missing: " + why +
                             "; install the CUDA 13 runtime libraries (cuBLAS), or name their "
                             "folder in LD_LIBRARY_PATH"};
}

} // namespace

result<std::shared_ptr<cuda_module>> open_cuda_module(const std::string& path) {
    void* const opened = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (opened == nullptr)
        return not_opened(path);
    const std::shared_ptr<void> library{opened, [](void* l) { dlclose(l); }};
    const auto version =
        reinterpret_cast<cuda_module_version_function*>(dlsym(opened, cuda_module_version_symbol));
    const auto make = reinterpret_cast<cuda_module_function*>(dlsym(opened, cuda_module_symbol));
    if (version == nullptr || make == nullptr || version() != cuda_module_version)
        return error{errc::usage,
                     path + " is not the CUDA module of this build of troupe; build both anew"};
    // The library stays as long as what it made.
    return std::shared_ptr<cuda_module>{make(), [library](cuda_module* m) { delete m; }};
}

} // namespace troupe

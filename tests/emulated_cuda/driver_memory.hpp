// The emulated driver (driver/), where the process finds it: memory that UCX takes for a GPU's, and only it reaches.
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <type_traits>

namespace emulated {

class driver {
  public:
    using address = unsigned long long;

    // Null without.
    static const driver* get() {
        static const driver found;
        return found.is_there_ ? &found : nullptr;
    }

    int (*take)(address*, std::size_t) = nullptr;
    int (*give_back)(address) = nullptr;
    int (*copy)(address, address, std::size_t) = nullptr;
    int (*make_current)(void*) = nullptr;
    void* context = nullptr;

  private:
    driver() {
        void* const library = dlopen("libcuda.so.1", RTLD_LAZY);
        if (library == nullptr || dlsym(library, "troupe_emulated_driver") == nullptr)
            return;
        int (*retain)(void**, int) = nullptr;
        const auto find = [library](auto& function, const char* name) {
            function =
                reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
            return function != nullptr;
        };
        is_there_ = find(take, "cuMemAlloc_v2") && find(give_back, "cuMemFree_v2") &&
                    find(copy, "cuMemcpy") && find(make_current, "cuCtxSetCurrent") &&
                    find(retain, "cuDevicePrimaryCtxRetain") && retain(&context, 0) == 0;
    }

    bool is_there_ = false;
};

} // namespace emulated

// A driver as libcuda.so.1 for the CUDA runtime to find: of the version in TROUPE_STUB_DRIVER_VERSION, with no GPU.
#include <cstdlib>
#include <cstring>

namespace {

constexpr int no_device = 100;
constexpr int not_found = 500;

int driver_version(int* version) {
    const char* wanted = std::getenv("TROUPE_STUB_DRIVER_VERSION");
    *version = wanted == nullptr ? 13000 : std::atoi(wanted);
    return 0;
}
int refuse() {
    return no_device;
}

} // namespace

extern "C" {

__attribute__((visibility("default"))) int cuDriverGetVersion(int* version) {
    return driver_version(version);
}
__attribute__((visibility("default"))) int cuInit(unsigned) {
    return no_device;
}
// All functions that are not named here refuse.
__attribute__((visibility("default"))) int
cuGetProcAddress_v2(const char* name, void** function, int, unsigned long long, int* found) {
    if (std::strcmp(name, "cuDriverGetVersion") == 0)
        *function = reinterpret_cast<void*>(&driver_version);
    else if (std::strcmp(name, "cuGetProcAddress") == 0 ||
             std::strcmp(name, "cuGetProcAddress_v2") == 0)
        *function = reinterpret_cast<void*>(&cuGetProcAddress_v2);
    else
        *function = reinterpret_cast<void*>(&refuse);
    if (found != nullptr)
        *found = 0;
    return *function == nullptr ? not_found : 0;
}
__attribute__((visibility("default"))) int cuGetProcAddress(const char* name, void** function,
                                                            int version, unsigned long long flags) {
    return cuGetProcAddress_v2(name, function, version, flags, nullptr);
}
__attribute__((visibility("default"))) int cuGetExportTable(const void**, const void*) {
    return no_device;
}

} // extern "C"

// A driver as libcuda.so.1 for cuDNN to find on a machine without a GPU: it takes whatever kernels cuDNN has compiled, and
// refuses all else. cuDNN looks for functions by name, and plans nothing where one is missing.
namespace {

constexpr int no_device = 100;
int something;

} // namespace

#define TROUPE_DRIVER __attribute__((visibility("default"))) int
#define TROUPE_REFUSES(name)                                                                       \
    TROUPE_DRIVER name() {                                                                         \
        return no_device;                                                                          \
    }

extern "C" {

TROUPE_DRIVER cuDriverGetVersion(int* version) {
    *version = 13000;
    return 0;
}
TROUPE_DRIVER cuInit(unsigned) {
    return 0;
}
TROUPE_DRIVER cuLibraryLoadData(void** library, const void*, void*, void**, unsigned, void*, void**,
                                unsigned) {
    *library = &something;
    return 0;
}
TROUPE_DRIVER cuLibraryGetKernel(void** kernel, void*, const char*) {
    *kernel = &something;
    return 0;
}
TROUPE_DRIVER cuLibraryUnload(void*) {
    return 0;
}

TROUPE_REFUSES(cuCtxGetCurrent)
TROUPE_REFUSES(cuCtxGetLimit)
TROUPE_REFUSES(cuCtxPopCurrent)
TROUPE_REFUSES(cuCtxPushCurrent)
TROUPE_REFUSES(cuDeviceGet)
TROUPE_REFUSES(cuDeviceGetCount)
TROUPE_REFUSES(cuGetErrorName)
TROUPE_REFUSES(cuGetErrorString)
TROUPE_REFUSES(cuGetExportTable)
TROUPE_REFUSES(cuKernelGetAttribute)
TROUPE_REFUSES(cuKernelGetFunction)
TROUPE_REFUSES(cuKernelSetAttribute)
TROUPE_REFUSES(cuLaunchCooperativeKernel)
TROUPE_REFUSES(cuLaunchKernel)
TROUPE_REFUSES(cuLaunchKernelEx)
TROUPE_REFUSES(cuLibraryLoadFromFile)
TROUPE_REFUSES(cuLinkAddData)
TROUPE_REFUSES(cuLinkComplete)
TROUPE_REFUSES(cuLinkCreate)
TROUPE_REFUSES(cuLinkDestroy)
TROUPE_REFUSES(cuOccupancyMaxPotentialClusterSize)
TROUPE_REFUSES(cuStreamGetCtx)

} // extern "C"

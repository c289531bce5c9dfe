// What goes with the driver as libnvidia-ml.so.1, which UCX is linked with; it knows nothing.
namespace {
constexpr int not_supported = 3;
}

#define TROUPE_MANAGEMENT __attribute__((visibility("default")))
#define TROUPE_REFUSES(name)                                                                       \
    TROUPE_MANAGEMENT int name() {                                                                 \
        return not_supported;                                                                      \
    }

extern "C" {

TROUPE_MANAGEMENT const char* nvmlErrorString(int) {
    return "there is no management library";
}

TROUPE_REFUSES(nvmlDeviceGetFieldValues)
TROUPE_REFUSES(nvmlDeviceGetGpuFabricInfo)
TROUPE_REFUSES(nvmlDeviceGetHandleByIndex_v2)
TROUPE_REFUSES(nvmlDeviceGetNvLinkRemotePciInfo_v2)
TROUPE_REFUSES(nvmlInit_v2)
TROUPE_REFUSES(nvmlShutdown)

} // extern "C"

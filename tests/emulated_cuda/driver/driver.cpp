// A driver as libcuda.so.1 for a UCX that is built with CUDA: one GPU whose memory only the driver reaches. Its
// addresses are mapped without any right, so that whoever else reads or writes there ends the process.
//
// What needs a current context ends the process without one, as NVIDIA's driver may. Copies are done at once.
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace {

// As in NVIDIA's cuda.h.
enum status : int {
    success = 0,
    invalid_value = 1,
    out_of_memory = 2,
    invalid_context = 201,
    not_found = 500,
    not_supported = 801,
};
constexpr int attribute_compute_capability_major = 75;
enum pointer_attribute : int {
    pointer_context = 1,
    pointer_memory_type = 2,
    pointer_buffer_id = 7,
    pointer_is_managed = 8,
    pointer_device = 9,
    pointer_range_start = 11,
    pointer_range_size = 12,
};
constexpr unsigned memory_of_device = 2;

using address = unsigned long long;

struct area {
    std::byte* first = nullptr; // as others know it
    std::byte* own = nullptr;   // the same memory for the driver
    std::size_t bytes = 0;
    unsigned long long id = 0;
};

std::mutex lock;
std::map<std::byte*, area> areas; // guarded by lock, as the next
unsigned long long last_id = 0;
int context, stream, event; // handles
thread_local void* current = nullptr;
thread_local std::vector<void*> pushed;

std::optional<area> find(const void* p) {
    std::lock_guard guard{lock};
    const auto next = areas.upper_bound(static_cast<std::byte*>(const_cast<void*>(p)));
    if (next == areas.begin())
        return {};
    const area& a = std::prev(next)->second;
    return p < a.first + a.bytes ? std::optional{a} : std::nullopt;
}

// Where the driver reaches what others know by this address.
std::byte* reached(address p) {
    auto* const known = reinterpret_cast<std::byte*>(p);
    const auto a = find(known);
    return a ? a->own + (known - a->first) : known;
}

int copy(address to, address from, std::size_t bytes) {
    std::memmove(reached(to), reached(from), bytes);
    return success;
}

void needs_context(const char* function) {
    if (current != nullptr)
        return;
    std::fprintf(stderr, "%s without a current context\n", function);
    std::abort();
}

template <class Value>
void write(void* to, Value value) {
    std::memcpy(to, &value, sizeof value);
}

bool describe(void* to, int what, const area& a) {
    switch (what) {
    case pointer_context:
        write(to, static_cast<void*>(&context));
        return true;
    case pointer_memory_type:
        write(to, memory_of_device);
        return true;
    case pointer_buffer_id:
        write(to, a.id);
        return true;
    case pointer_is_managed:
    case pointer_device:
        write(to, 0);
        return true;
    case pointer_range_start:
        write(to, static_cast<void*>(a.first));
        return true;
    case pointer_range_size:
        write(to, a.bytes);
        return true;
    default:
        return false;
    }
}

} // namespace

#define TROUPE_DRIVER __attribute__((visibility("default"))) int
#define TROUPE_DONE(name)                                                                          \
    TROUPE_DRIVER name() {                                                                         \
        return success;                                                                            \
    }
#define TROUPE_REFUSES(name)                                                                       \
    TROUPE_DRIVER name() {                                                                         \
        return not_supported;                                                                      \
    }

extern "C" {

__attribute__((visibility("default"))) int troupe_emulated_driver = 1; // who this is

TROUPE_DRIVER cuMemAlloc_v2(address* made, std::size_t bytes) {
    const int file = memfd_create("gpu", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, static_cast<off_t>(bytes)) != 0)
        return out_of_memory;
    area a{.bytes = bytes};
    void* const known = mmap(nullptr, bytes, PROT_NONE, MAP_SHARED, file, 0);
    void* const own = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (known == MAP_FAILED || own == MAP_FAILED)
        return out_of_memory;
    std::memset(own, 0xff, bytes); // no numbers
    a.first = static_cast<std::byte*>(known);
    a.own = static_cast<std::byte*>(own);
    std::lock_guard guard{lock};
    a.id = ++last_id;
    areas[a.first] = a;
    *made = reinterpret_cast<address>(known);
    return success;
}
TROUPE_DRIVER cuMemFree_v2(address p) {
    std::lock_guard guard{lock};
    const auto found = areas.extract(reinterpret_cast<std::byte*>(p));
    if (found.empty())
        return invalid_value;
    munmap(found.mapped().first, found.mapped().bytes);
    munmap(found.mapped().own, found.mapped().bytes);
    return success;
}
TROUPE_DRIVER cuMemcpy(address to, address from, std::size_t bytes) {
    return copy(to, from, bytes);
}
TROUPE_DRIVER cuMemcpyAsync(address to, address from, std::size_t bytes, void*) {
    needs_context("cuMemcpyAsync");
    return copy(to, from, bytes);
}
TROUPE_DRIVER cuMemcpyDtoDAsync_v2(address to, address from, std::size_t bytes, void*) {
    needs_context("cuMemcpyDtoDAsync");
    return copy(to, from, bytes);
}
TROUPE_DRIVER cuMemcpyHtoD_v2(address to, const void* from, std::size_t bytes) {
    return copy(to, reinterpret_cast<address>(from), bytes);
}
TROUPE_DRIVER cuPointerGetAttribute(void* to, int what, address p) {
    const auto a = find(reinterpret_cast<void*>(p));
    return a && describe(to, what, *a) ? success : invalid_value;
}
TROUPE_DRIVER cuPointerGetAttributes(unsigned count, const int* what, void** to, address p) {
    const auto a = find(reinterpret_cast<void*>(p));
    for (unsigned i = 0; i < count; ++i)
        if (!a || !describe(to[i], what[i], *a))
            write(to[i], 0);
    return success;
}
TROUPE_DRIVER cuMemGetAddressRange_v2(address* first, std::size_t* bytes, address p) {
    const auto a = find(reinterpret_cast<void*>(p));
    if (!a)
        return not_found;
    *first = reinterpret_cast<address>(a->first);
    *bytes = a->bytes;
    return success;
}

TROUPE_DRIVER cuDeviceGetCount(int* count) {
    *count = 1;
    return success;
}
TROUPE_DRIVER cuDeviceGet(int* device, int index) {
    *device = index;
    return success;
}
TROUPE_DRIVER cuDeviceGetName(char* to, int room, int) {
    std::snprintf(to, static_cast<std::size_t>(room), "Emulated GPU");
    return success;
}
TROUPE_DRIVER cuDeviceGetUuid_v2(char* to, int) {
    std::memset(to, 7, 16);
    return success;
}
TROUPE_DRIVER cuDeviceTotalMem_v2(std::size_t* bytes, int) {
    *bytes = std::size_t{1} << 30;
    return success;
}
TROUPE_DRIVER cuDeviceGetAttribute(int* value, int what, int) {
    *value = what == attribute_compute_capability_major ? 9 : 0;
    return success;
}
TROUPE_DRIVER cuDevicePrimaryCtxGetState(int, unsigned* flags, int* is_active) {
    *flags = 0;
    *is_active = 1;
    return success;
}
TROUPE_DRIVER cuDevicePrimaryCtxRetain(void** made, int) {
    *made = &context;
    return success;
}
TROUPE_DRIVER cuCtxGetCurrent(void** is) {
    *is = current;
    return success;
}
TROUPE_DRIVER cuCtxSetCurrent(void* now) {
    current = now;
    return success;
}
TROUPE_DRIVER cuCtxPushCurrent_v2(void* now) {
    pushed.push_back(std::exchange(current, now));
    return success;
}
TROUPE_DRIVER cuCtxPopCurrent_v2(void** was) {
    if (pushed.empty())
        return invalid_context;
    if (was != nullptr)
        *was = current;
    current = pushed.back();
    pushed.pop_back();
    return success;
}
TROUPE_DRIVER cuCtxGetDevice(int* device) {
    *device = 0;
    return current != nullptr ? success : invalid_context;
}
TROUPE_DRIVER cuCtxGetId(void*, unsigned long long* id) {
    *id = 1;
    return success;
}
TROUPE_DRIVER cuStreamCreate(void** made, unsigned) {
    needs_context("cuStreamCreate");
    *made = &stream;
    return success;
}
TROUPE_DRIVER cuStreamAddCallback(void* s, void (*call)(void*, int, void*), void* with, unsigned) {
    call(s, success, with);
    return success;
}
TROUPE_DRIVER cuEventCreate(void** made, unsigned) {
    needs_context("cuEventCreate");
    *made = &event;
    return success;
}
TROUPE_DRIVER cuEventQuery(void*) {
    needs_context("cuEventQuery");
    return success;
}
TROUPE_DRIVER cuEventRecord(void*, void*) {
    needs_context("cuEventRecord");
    return success;
}
TROUPE_DRIVER cuGetErrorString(int, const char** text) {
    *text = "an error of the emulated driver";
    return success;
}
TROUPE_DRIVER cuGetProcAddress_v2(const char*, void** function, int, unsigned long long, int* why) {
    *function = nullptr;
    if (why != nullptr)
        *why = 1; // no such function
    return not_found;
}

TROUPE_DONE(cuInit)
TROUPE_DONE(cuDevicePrimaryCtxRelease_v2)
TROUPE_DONE(cuEventDestroy_v2)
TROUPE_DONE(cuMemHostRegister_v2)
TROUPE_DONE(cuMemHostUnregister)
TROUPE_DONE(cuPointerSetAttribute)
TROUPE_DONE(cuStreamDestroy_v2)
TROUPE_DONE(cuStreamSynchronize)

TROUPE_REFUSES(cuIpcCloseMemHandle)
TROUPE_REFUSES(cuIpcGetMemHandle)
TROUPE_REFUSES(cuIpcOpenMemHandle_v2)
TROUPE_REFUSES(cuMemAddressFree)
TROUPE_REFUSES(cuMemAddressReserve)
TROUPE_REFUSES(cuMemAllocManaged)
TROUPE_REFUSES(cuMemCreate)
TROUPE_REFUSES(cuMemExportToShareableHandle)
TROUPE_REFUSES(cuMemGetAllocationGranularity)
TROUPE_REFUSES(cuMemGetAllocationPropertiesFromHandle)
TROUPE_REFUSES(cuMemImportFromShareableHandle)
TROUPE_REFUSES(cuMemMap)
TROUPE_REFUSES(cuMemPoolDestroy)
TROUPE_REFUSES(cuMemPoolExportPointer)
TROUPE_REFUSES(cuMemPoolExportToShareableHandle)
TROUPE_REFUSES(cuMemPoolImportFromShareableHandle)
TROUPE_REFUSES(cuMemPoolImportPointer)
TROUPE_REFUSES(cuMemPoolSetAccess)
TROUPE_REFUSES(cuMemRangeGetAttribute)
TROUPE_REFUSES(cuMemRelease)
TROUPE_REFUSES(cuMemRetainAllocationHandle)
TROUPE_REFUSES(cuMemSetAccess)
TROUPE_REFUSES(cuMemUnmap)

} // extern "C"

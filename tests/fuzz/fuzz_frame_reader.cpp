// libFuzzer target: arbitrary bytes as a frame. README.md says how to build and run it.
#include <cstddef>
#include <cstdint>
#include <span>

#include "transport/frame/wire.hpp"

using namespace troupe;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static memory_pool pool{1 << 26};
    const auto f = wire::deserialize(std::as_bytes(std::span{data, size}), pool);
    if (!f)
        return 0;
    try {
        (void)(*f)->root().toString().flatten();
        (void)wire::serialize(**f);
    } catch (const kj::Exception&) {
    }
    return 0;
}

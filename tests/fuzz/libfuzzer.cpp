// A target as libFuzzer wants it.
#include <cstdint>

#include "tests/fuzz/target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    (void)troupe::fuzz::read(std::as_bytes(std::span{data, size}));
    return 0;
}

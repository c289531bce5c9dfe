// libFuzzer target: arbitrary bytes as a safetensors file. README.md says how to build and run it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "actors/checkpoint/safetensors.hpp"

using namespace troupe;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto parsed = parse_safetensors(std::as_bytes(std::span{data, size}));
    if (!parsed)
        return 0;
    unsigned sum = 0; // reads every byte of every tensor
    for (const named_tensor& t : parsed->tensors)
        for (const std::byte b : t.bytes)
            sum += static_cast<unsigned>(b);
    volatile unsigned keep = sum;
    (void)keep;
    return 0;
}

// Fuzz target: arbitrary bytes as a safetensors file.
#include "actors/checkpoint/safetensors.hpp"
#include "tests/fuzz/target.hpp"

namespace troupe::fuzz {

bool read(std::span<const std::byte> in) {
    const auto parsed = parse_safetensors(in);
    if (!parsed) {
        check_refusal(parsed.failure());
        return false;
    }
    unsigned sum = 0; // reads every byte of every tensor
    for (const named_tensor& t : parsed->tensors) {
        TROUPE_CHECK(t.bytes.size() == t.shape.elements() * size_of(t.type), "tensors are whole");
        for (const std::byte b : t.bytes)
            sum += static_cast<unsigned>(b);
    }
    volatile unsigned keep = sum;
    (void)keep;
    (void)first_not_finite(parsed->tensors);
    return true;
}

std::vector<std::string> sound_inputs() {
    std::string elements(49, '\1');
    const auto bytes = std::as_bytes(std::span{elements});
    const std::vector<named_tensor> tensors{
        {"layers.0.weight", data_type::float32, {2, 3}, bytes.subspan(8, 24)},
        {"layers.0.steps", data_type::int32, {2, 1, 2}, bytes.subspan(32, 16)},
        {"layers.1.mask", data_type::uint8, {1}, bytes.subspan(48)}};
    const std::vector<named_count> counts{{"layers.1.num_batches_tracked", 7}};
    const std::string of_pytorch = R"({"a":{"dtype":"F16","shape":[2],"data_offsets":[0,4]},)"
                                   R"("b":{"dtype":"BF16","shape":[1,2],"data_offsets":[4,8]}})";
    std::string length(8, '\0');
    length[0] = static_cast<char>(of_pytorch.size());
    return {safetensors_header(tensors, {{"format", "pt"}}, counts) + elements,
            safetensors_header(std::span{tensors}.first(1), {}) + elements.substr(0, 24),
            length + of_pytorch + elements.substr(0, 8)};
}

} // namespace troupe::fuzz

// The instruction set that the loops of this back end use.
#pragma once

#include <cstdint>
#include <string_view>

namespace troupe::cpu {

// Each has what those before it have; avx512 is that of servers, with its parts for bytes, words and shorter vectors.
enum class instruction_set : std::uint8_t { baseline, avx2, avx512, avx512_bf16 };

// The widest that this machine has, but no wider than oneDNN is held to: with ONEDNN_MAX_CPU_ISA in the environment all
// of this back end computes as on a machine that has no more. Any thread.
instruction_set widest_instruction_set() noexcept;

// The set that oneDNN's products and convolutions take, by its name for ONEDNN_MAX_CPU_ISA: "AVX2". Another set adds in
// another order, which gives other bits. Any thread.
std::string_view name_of_instruction_set() noexcept;

} // namespace troupe::cpu

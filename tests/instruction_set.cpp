// Runs a program as on a processor that has no more than an instruction set:
//
//     instruction_set SET PROGRAM [ARGUMENTS...]        SET: SSE41, AVX, AVX2, AVX512_CORE or one of those below
//
// Sets ONEDNN_MAX_CPU_ISA, which oneDNN and our own loops go by. Says "skipped: ..." and exits with 77 where the processor
// has not got the set, or where programs that nothing holds use it anyway.
#include <stdlib.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include <dnnl.hpp>

namespace {

constexpr int skipped = 77;

struct known_set {
    std::string_view name;
    dnnl::cpu_isa isa;
};
constexpr known_set sets[] = {{"SSE41", dnnl::cpu_isa::sse41},
                              {"AVX", dnnl::cpu_isa::avx},
                              {"AVX2", dnnl::cpu_isa::avx2},
                              {"AVX512_CORE", dnnl::cpu_isa::avx512_core},
                              {"AVX512_CORE_BF16", dnnl::cpu_isa::avx512_core_bf16},
                              {"AVX512_CORE_AMX", dnnl::cpu_isa::avx512_core_amx}};

const known_set* find(std::string_view name) {
    for (const known_set& set : sets)
        if (set.name == name)
            return &set;
    return nullptr;
}

// oneDNN decides once per process: this program runs itself for what it would take without a limit.
bool is_taken_anyway(const char* self, const std::string& name) {
    unsetenv("ONEDNN_MAX_CPU_ISA");
    unsetenv("DNNL_MAX_CPU_ISA");
    return system(("'" + std::string{self} + "' --is " + name).c_str()) == 0;
}

} // namespace

int main(int argc, char** argv) {
    const bool asks = argc == 3 && std::strcmp(argv[1], "--is") == 0;
    const known_set* const set = argc < 3 ? nullptr : find(argv[asks ? 2 : 1]);
    if (set == nullptr) {
        std::fprintf(stderr, "usage: instruction_set SET PROGRAM [ARGUMENTS...]\n");
        return 2;
    }
    if (asks)
        return dnnl::get_effective_cpu_isa() == set->isa ? 0 : 1;
    const std::string name{set->name};
    if (is_taken_anyway(argv[0], name)) {
        std::printf("skipped: %s is what this processor runs anyway\n", name.c_str());
        return skipped;
    }
    setenv("ONEDNN_MAX_CPU_ISA", name.c_str(), 1);
    if (dnnl::get_effective_cpu_isa() != set->isa) {
        std::printf("skipped: this processor has no %s\n", name.c_str());
        return skipped;
    }
    execvp(argv[2], argv + 2);
    std::perror(argv[2]);
    return 2;
}

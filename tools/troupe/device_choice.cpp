#include "tools/troupe/device_choice.hpp"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <thread>

#include "schemas/base/nearest.hpp"

namespace troupe::cli {

namespace {

constexpr unsigned cpu_devices_max = 1024;
constexpr unsigned gpus_max = 64;

// The number behind the prefix, if that is all there is.
std::optional<unsigned> number_behind(std::string_view prefix, std::string_view word) {
    unsigned number = 0;
    if (!word.starts_with(prefix))
        return std::nullopt;
    const char* const end = word.data() + word.size();
    const auto parsed = std::from_chars(word.data() + prefix.size(), end, number);
    return parsed.ec == std::errc{} && parsed.ptr == end ? std::optional{number} : std::nullopt;
}

error not_devices(const std::string& word) {
    return {errc::usage, "--devices: '" + word + "' is not cpu:N with N from 1 to " +
                             std::to_string(cpu_devices_max) +
                             ", nor cuda:I with the number of a GPU from 0 on"};
}

// Beside the program, as in a bundle; in the lib folder of an installation; in the folder of a build.
std::string module_path() {
    if (const char* named = std::getenv("TROUPE_CUDA_MODULE"); named != nullptr && *named != '\0')
        return named;
    std::error_code none;
    const auto folder = std::filesystem::read_symlink("/proc/self/exe", none).parent_path();
    const auto beside = folder / "troupe_cuda.so";
    for (const auto& path :
         {beside, folder / "../lib/troupe_cuda.so", folder / "../../kernels/cuda/troupe_cuda.so"})
        if (access(path.c_str(), R_OK) == 0)
            return path;
    return beside;
}

} // namespace

std::vector<std::string> device_choice::names() const {
    std::vector<std::string> all;
    for (const unsigned gpu : gpus)
        all.push_back("cuda:" + std::to_string(gpu));
    for (unsigned i = 0; i < cpus; ++i)
        all.push_back("cpu:" + std::to_string(i));
    return all;
}

result<device_choice> parse_devices(const std::string& text) {
    device_choice choice;
    std::size_t begin = 0;
    for (bool more = true; more;) {
        const std::size_t comma = text.find(',', begin);
        const std::string word = text.substr(begin, comma - begin);
        const auto cpus = number_behind("cpu:", word);
        const auto gpu = number_behind("cuda:", word);
        if (!(cpus && *cpus > 0 && *cpus <= cpu_devices_max) && !(gpu && *gpu < gpus_max))
            return not_devices(word);
        if ((cpus && choice.cpus > 0) || (gpu && std::ranges::count(choice.gpus, *gpu) > 0))
            return error{errc::usage, "--devices: '" + word + "' comes after " +
                                          (cpus ? "another cpu:N; give one, of all CPU devices"
                                                : "itself; give each GPU once")};
        if (cpus)
            choice.cpus = *cpus;
        else
            choice.gpus.push_back(*gpu);
        more = comma != std::string::npos;
        begin = comma + 1;
    }
    return choice;
}

result<std::shared_ptr<cuda_module>> open_gpus(const std::vector<unsigned>& gpus) {
    auto module = open_cuda_module(module_path());
    if (!module)
        return module.failure().in("--devices: cuda:" + std::to_string(gpus[0]));
    const auto there = (*module)->gpus();
    if (!there)
        return there.failure().in("--devices: cuda:" + std::to_string(gpus[0]));
    for (const unsigned gpu : gpus)
        if (gpu >= there->size())
            return error{errc::usage,
                         "--devices: cuda:" + std::to_string(gpu) +
                             ": the GPU is missing: this machine has " +
                             (there->size() == 1
                                  ? "cuda:0 alone"
                                  : "cuda:0 to cuda:" + std::to_string(there->size() - 1))};
    return module;
}

std::string note_of_cores(std::size_t devices) {
    const unsigned cores = std::thread::hardware_concurrency(); // 0: not known
    if (cores == 0 || devices <= cores)
        return {};
    return std::to_string(devices) + " devices share the " +
           (cores == 1 ? "one core" : std::to_string(cores) + " cores") + " of this machine";
}

std::string note_of_instruction_sets(std::span<const plan_device> devices) {
    std::map<std::string, std::set<std::string>> nodes; // by instruction set
    for (const plan_device& d : devices)
        if (!d.instruction_set.empty())
            nodes[d.instruction_set].insert(d.node_name);
    if (nodes.size() < 2)
        return {};
    std::string note;
    for (const auto& [set, names] : nodes)
        note += (note.empty() ? "" : "; ") + set + " on " +
                join(std::vector<std::string>{names.begin(), names.end()});
    return "processors compute with different instruction sets: " + note +
           "; their sums differ in the last bits, so the same run gives the same bits only with "
           "the "
           "same work on each";
}

} // namespace troupe::cli

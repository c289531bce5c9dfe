#include "tools/troupe/process_start.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "schemas/base/nearest.hpp"

// Runs before sanitizers and parts of the C library are set up: system calls and plain loops alone.
#define BEFORE_LIBRARIES __attribute__((no_sanitize("address", "thread", "undefined")))

namespace troupe::cli {

namespace {

int results = STDOUT_FILENO;

// The beginnings of settings that count. The last one leaves the functions of memory to a sanitizer.
constexpr const char* kept[] = {"UCX_NET_DEVICES",
                                "UCX_IB_",
                                "UCX_RC_",
                                "UCX_DC_",
                                "UCX_UD_",
                                "UCX_MODULE",
                                "UCX_LOG_LEVEL",
                                "UCX_ERROR_",
                                "UCX_HANDLE_ERRORS",
                                "UCX_GDB_COMMAND",
                                "UCX_MEM_MMAP_HOOK_MODE=none"};

constexpr int dropped_max = 16;     // that are named
const char* dropped[dropped_max]{}; // NAME=VALUE

BEFORE_LIBRARIES bool begins_with(const char* text, const char* beginning) {
    for (; *beginning != '\0'; ++text, ++beginning)
        if (*text != *beginning)
            return false;
    return true;
}

BEFORE_LIBRARIES bool is_dropped(const char* variable) {
    if (!begins_with(variable, "UCX_"))
        return false;
    for (const char* beginning : kept)
        if (begins_with(variable, beginning))
            return false;
    return true;
}

BEFORE_LIBRARIES void drop_settings(char** environment) {
    char** to = environment;
    int count = 0;
    for (char** from = environment; *from != nullptr; ++from)
        if (!is_dropped(*from))
            *to++ = *from;
        else if (count < dropped_max)
            dropped[count++] = *from;
    *to = nullptr;
}

BEFORE_LIBRARIES void set_output_aside() {
    for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream)
        if (fcntl(stream, F_GETFD) < 0 && open("/dev/null", O_RDONLY) != stream)
            _exit(2);
    results = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (results < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        _exit(2);
}

BEFORE_LIBRARIES void start(int, char**, char** environment) {
    set_output_aside();
    drop_settings(environment);
}

__attribute__((section(".preinit_array"), used)) void (*before_libraries)(int, char**,
                                                                          char**) = start;

} // namespace

int standard_output() noexcept {
    return results;
}

std::string note_of_settings() {
    std::vector<std::string> names;
    for (const char* setting : dropped)
        if (setting != nullptr) {
            const std::string text = setting;
            names.push_back(text.substr(0, text.find('=')));
        }
    return names.empty()
               ? ""
               : "Troupe configures UCX itself and does not use " + join(names) +
                     " of the environment; --transport chooses between shared memory, TCP and RDMA";
}

} // namespace troupe::cli

#include "tools/troupe/process_start.hpp"

#include <fcntl.h>
#include <unistd.h>

// Runs before sanitizers and parts of the C library are set up: system calls and plain loops alone.
#define BEFORE_LIBRARIES __attribute__((no_sanitize("address", "thread", "undefined")))

namespace troupe::cli {

namespace {

int results = STDOUT_FILENO;

// The beginnings of the names of settings that count.
constexpr const char* kept[] = {
    "UCX_NET_DEVICES", "UCX_IB_",       "UCX_RC_",    "UCX_DC_",           "UCX_UD_",
    "UCX_MODULE",      "UCX_LOG_LEVEL", "UCX_ERROR_", "UCX_HANDLE_ERRORS", "UCX_GDB_COMMAND"};

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
    for (char** from = environment; *from != nullptr; ++from)
        if (!is_dropped(*from))
            *to++ = *from;
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

} // namespace troupe::cli

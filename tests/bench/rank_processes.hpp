// Processes of a benchmark, by rank, that tell each other their nodes' addresses through the one that starts them.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace troupe::rank_processes {

inline std::string read_line(int descriptor) {
    std::string line;
    for (char byte = 0; read(descriptor, &byte, 1) == 1 && byte != '\n';)
        line += byte;
    return line;
}

inline void write_line(int descriptor, const std::string& line) {
    if (write(descriptor, (line + "\n").c_str(), line.size() + 1) < 0)
        _exit(1);
}

// What a rank's process does. It writes its address to `output`, reads those of the ranks before it from `input`, writes
// "done", and ends when its input does. Returns the exit status.
using rank_body = std::function<int(std::uint32_t rank, int input, int output)>;

// The exit status of all; no thread may have been started before.
inline int run(std::uint32_t ranks, const rank_body& body) {
    std::vector<int> inputs, outputs; // of the ranks
    for (std::uint32_t r = 0; r < ranks; ++r) {
        int in[2], out[2];
        if (pipe(in) != 0 || pipe(out) != 0)
            return 1;
        if (fork() == 0) {
            for (const int other : inputs)
                close(other);
            close(in[1]);
            _exit(body(r, in[0], out[1]));
        }
        close(in[0]);
        close(out[1]);
        inputs.push_back(in[1]);
        outputs.push_back(out[0]);
    }
    std::vector<std::string> addresses;
    for (const int output : outputs)
        addresses.push_back(read_line(output));
    for (std::uint32_t r = 0; r < ranks; ++r)
        for (std::uint32_t before = 0; before < r; ++before)
            write_line(inputs[r], addresses[before]);
    bool is_done = true;
    for (const int output : outputs)
        is_done = read_line(output) == "done" && is_done;
    for (const int input : inputs)
        close(input);
    int failed = 0;
    for (int status = 0; wait(&status) > 0;)
        failed |= status;
    return is_done && failed == 0 ? 0 : 1;
}

} // namespace troupe::rank_processes

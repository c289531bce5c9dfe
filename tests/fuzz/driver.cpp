// Runs a target over its sound inputs and over what mutation.hpp makes of them, without libFuzzer:
//
//     fuzz_NAME [--seed S] [--first I] [--inputs N | --seconds T]
//     fuzz_NAME FILE...                  over these inputs, such as those that libFuzzer has found
//     fuzz_NAME --corpus FOLDER          writes the sound inputs, for libFuzzer to begin with
//
// Input I of seed S is always the same. One that ends the process, takes more than --each seconds of the processor or more
// memory than --memory MiB is told with the command that repeats it.
#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>

#include <CLI/CLI.hpp>

#include "tests/fuzz/mutation.hpp"
#include "tests/fuzz/target.hpp"

// Of the sanitizers, where they are linked: they end a process without a signal.
extern "C" void __sanitizer_set_death_callback(void (*callback)()) __attribute__((weak));

namespace troupe::fuzz {

namespace {

// What repeats the input that is being read, as a line.
std::string repeat_line;

void say_how_to_repeat() {
    (void)!write(STDERR_FILENO, repeat_line.data(), repeat_line.size());
}

void on_signal(int number) {
    if (number == SIGPROF) {
        constexpr std::string_view slow = "one input takes more than --each seconds\n";
        (void)!write(STDERR_FILENO, slow.data(), slow.size());
    }
    say_how_to_repeat();
    signal(number, SIG_DFL);
    raise(number);
}

void watch_for_the_end() {
    static char stack[1 << 16]; // the process may have used up its own
    const stack_t other{.ss_sp = stack, .ss_flags = 0, .ss_size = sizeof stack};
    sigaltstack(&other, nullptr);
    struct sigaction action {};
    action.sa_handler = on_signal;
    action.sa_flags = SA_ONSTACK | SA_NODEFER;
    for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGPROF})
        sigaction(number, &action, nullptr);
    if (__sanitizer_set_death_callback != nullptr)
        __sanitizer_set_death_callback(say_how_to_repeat);
}

struct options {
    std::uint64_t seed = 1, first = 0, inputs = 3000;
    std::optional<unsigned> seconds;
    unsigned each = 10;
    long memory = 1024;
    std::string corpus;
    std::vector<std::string> files;
};

class driver {
  public:
    driver(std::string program, options o) : program_{std::move(program)}, options_{std::move(o)} {}

    int write_corpus() const {
        const std::filesystem::path folder = options_.corpus;
        std::filesystem::create_directories(folder);
        const auto all = sound_inputs();
        for (std::size_t i = 0; i < all.size(); ++i)
            std::ofstream{folder / ("sound-" + std::to_string(i)), std::ios::binary} << all[i];
        std::printf("%zu sound inputs\n", all.size());
        return 0;
    }

    int read_files() const {
        for (const std::string& name : options_.files) {
            std::ifstream file{name, std::ios::binary};
            const std::string input{std::istreambuf_iterator<char>{file}, {}};
            if (!file) {
                std::fprintf(stderr, "%s: cannot be read\n", name.c_str());
                return 2;
            }
            std::printf("%s: %s\n", name.c_str(), takes(input, name) ? "taken" : "refused");
        }
        return 0;
    }

    int read_inputs() const {
        const auto sound = sound_inputs();
        for (const std::string& input : sound)
            TROUPE_CHECK(takes(input, "--inputs 0"), "sound inputs are taken");
        const auto end =
            std::chrono::steady_clock::now() + std::chrono::seconds{options_.seconds.value_or(0)};
        std::uint64_t done = 0, taken = 0;
        for (; options_.seconds ? std::chrono::steady_clock::now() < end : done < options_.inputs;
             ++done) {
            const std::uint64_t number = options_.first + done;
            random_stream random{options_.seed, number};
            taken += takes(mutated(sound, random), "--seed " + std::to_string(options_.seed) +
                                                       " --first " + std::to_string(number) +
                                                       " --inputs 1");
        }
        std::printf("%zu sound inputs; of %llu others of seed %llu, %llu taken\n", sound.size(),
                    static_cast<unsigned long long>(done),
                    static_cast<unsigned long long>(options_.seed),
                    static_cast<unsigned long long>(taken));
        return 0;
    }

  private:
    bool takes(const std::string& input, const std::string& arguments) const {
        repeat_line = "to repeat it: " + program_ + " " + arguments + "\n";
        itimerval limit{};
        limit.it_value.tv_sec = options_.each;
        setitimer(ITIMER_PROF, &limit, nullptr);
        // A copy of its exact size, so that sanitizers see who reads past its end.
        const std::vector<char> exact{input.begin(), input.end()};
        const bool taken = read(std::as_bytes(std::span{exact}));
        rusage used{};
        getrusage(RUSAGE_SELF, &used);
        TROUPE_CHECK(used.ru_maxrss / 1024 < options_.memory, "no input takes much memory");
        return taken;
    }

    std::string program_;
    options options_;
};

} // namespace

} // namespace troupe::fuzz

int main(int argc, char** argv) {
    using namespace troupe::fuzz;
    options o;
    CLI::App app{"Reads sound inputs and what is made of them, as README.md of tests/fuzz says."};
    app.add_option("--seed", o.seed, "Of the inputs; another one gives others.");
    app.add_option("--first", o.first, "The number of the first input.");
    app.add_option("--inputs", o.inputs, "How many.");
    app.add_option("--seconds", o.seconds, "For so long instead.");
    app.add_option("--each", o.each, "Seconds of the processor that one input may take.");
    app.add_option("--memory", o.memory, "MiB that the process may take, with what it has kept.");
    app.add_option("--corpus", o.corpus, "Only writes the sound inputs to this folder.");
    app.add_option("FILE", o.files, "Inputs to read instead.");
    CLI11_PARSE(app, argc, argv);
    watch_for_the_end();
    const driver run{argv[0], o};
    if (!o.corpus.empty())
        return run.write_corpus();
    return o.files.empty() ? run.read_inputs() : run.read_files();
}

// inspect: its words, and the call of the inspector.
#include <unistd.h>

#include <iostream>

#include "schemas/base/limits.hpp"
#include "tools/troupe/command_words.hpp"
#include "tools/troupe/process_start.hpp"
#include "tools/troupe/signals.hpp"

namespace troupe::cli {

namespace {

constexpr double export_seconds_max = 3600;

int inspect_cluster(const inspect_words& given) {
    inspector::inspect_options options = given.what;
    const auto access = open_access(given.access, peer_role::observer, options.address);
    if (!access)
        return report(access.failure());
    options.access = *access;
    options.seconds =
        std::chrono::duration_cast<duration>(std::chrono::duration<double>(given.seconds));
    if (isatty(standard_output()) != 0)
        options.screen = [] { return inspector::screen_of(standard_output()); };
    options.stop = [] { return stop_signals() > 0; };
    if (auto parsed = inspector::parse_view(given.words, options); !parsed)
        return report(parsed.failure());
    return inspector::inspect(options, std::cout, std::cerr);
}

} // namespace

void add_inspect(CLI::App& program, inspect_words& inspect, int& code) {
    auto* inspect_command =
        program.add_subcommand("inspect", "Look at a running cluster: actors, messages, traces.");
    inspect_command->footer(
        "Examples: troupe inspect 127.0.0.1:4711\n"
        "          troupe inspect 127.0.0.1:4711 staleness --watch\n"
        "          troupe inspect 127.0.0.1:4711 schedule --watch\n"
        "          troupe inspect 127.0.0.1:4711 results\n"
        "          troupe inspect 127.0.0.1:4711 tail type=Activation actor=stage-1\n"
        "          troupe inspect 127.0.0.1:4711 follow minibatch=next\n"
        "          troupe inspect 127.0.0.1:4711 export trace.json --seconds 2\n\n"
        "tail shows messages that are handled from now on and for which all conditions hold:\n"
        "  type=NAME       of the message, as in the schemas: Activation; a wrong one lists all\n"
        "  actor=NAME      of the receiver: stage-1, 5c6879d3/stage-1 of that run alone, or with\n"
        "                  its node before it, as it is printed; also its number\n"
        "  node=NAME       of the receiver's node\n"
        "  from=NAME       of the sender, which must be there, and later of others of this name\n"
        "  run=5c6879d3    that the message belongs to, as it stands before the names of actors\n"
        "  minibatch=N     that the message belongs to; phase=N of programs, work=N of any job\n"
        "  FIELD=VALUE     a field of the body, weightVersion=7 or member.name=a; write\n"
        "                  body.FIELD=VALUE for one that is named like a condition above\n"
        "For what has passed: follow minibatch=N, phase=N of a program or, of any kind of job,\n"
        "work=N, with or without run=5c6879d3, and export without --seconds. They read the last " +
        std::to_string(limits::trace_events_default) + "\nevents, which every node keeps.");
    inspect_command
        ->add_option("ADDRESS", inspect.what.address,
                     "HOST:PORT of any node; the run prints it first.")
        ->required();
    inspect_command->add_option("VIEW", inspect.words,
                                "actors, staleness, schedule [run=R], results [run=R], tail "
                                "[KEY=VALUE...], follow minibatch=N, phase=N or work=N, "
                                "export FILE.");
    inspect_command->add_option("--key", inspect.access.key_file, "File with the cluster's key.");
    add_transport(inspect_command, inspect.access);
    inspect_command->add_flag("--json", inspect.what.json, "One JSON object per line.");
    inspect_command->add_flag("--watch", inspect.what.watch,
                              "actors, staleness, schedule, results: again and again.");
    inspect_command
        ->add_option("--count", inspect.what.count,
                     "tail: end after so many messages, at least 1; without it never.")
        ->check(number_in(1, 1'000'000'000));
    inspect_command
        ->add_option("--seconds", inspect.seconds,
                     "export: record the next so long; without it what the nodes hold.")
        ->check(number_in(0.0, export_seconds_max, "seconds"));
    inspect_command->callback([&] { code = inspect_cluster(inspect); });
}

} // namespace troupe::cli

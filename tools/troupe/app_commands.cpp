// check, explain, evaluate and predict: what needs no cluster. What errors print, and their exit codes.
#include <pwd.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>

#include "tools/troupe/commands.hpp"
#include "tools/troupe/run_setup.hpp"
#include "tools/troupe/signals.hpp"

namespace troupe::cli {

int exit_code(errc code) noexcept {
    switch (code) {
    case errc::usage:
    case errc::data:
    case errc::io:
        return 2;
    case errc::unreachable:
    case errc::refused:
    case errc::lost:
        return 3;
    case errc::protocol:
    case errc::exhausted:
    case errc::cancelled:
    case errc::numeric:
        return 1;
    }
    return 1;
}

int report(const error& why) {
    std::cerr << "troupe: " << why.message() << std::endl;
    return exit_code(why.code());
}

std::string home_folder() {
    if (const char* named = std::getenv("HOME"); named != nullptr && *named == '/')
        return named;
    const passwd* const user = getpwuid(getuid());
    return user == nullptr || user->pw_dir == nullptr ? "" : user->pw_dir;
}

void note(const std::string& sentence) {
    std::cerr << "troupe: note: " << sentence << std::endl;
}

int stopped(const error& why) {
    std::cerr << "troupe: " << why.message() << std::endl;
    return 128 + last_signal();
}

namespace {

// The devices that the app is checked for, or none.
result<std::vector<plan_device>> devices_to_check(const check_options& options) {
    if (options.devices.empty())
        return devices_of_nodes(options.nodes, 0);
    const auto chosen = parse_devices(options.devices);
    if (!chosen)
        return chosen.failure();
    return devices_of_process(*chosen);
}

} // namespace

int check(const check_options& options, job_table jobs) {
    if (options.json_schema) {
        std::cout << app_json_schema(app_kinds(jobs)) << std::endl;
        return 0;
    }
    const auto app =
        load_app(options.app.file, options.app.settings, app_kinds(jobs), home_folder());
    if (!app)
        return report(app.failure());
    if (options.print)
        std::cout << render_app(*app);
    const auto opened = kind_of(*app, jobs).open(*app, job_purpose::check, false);
    if (!opened)
        return report(opened.failure());
    const job& what = **opened;
    const auto devices = devices_to_check(options);
    if (!devices)
        return report(devices.failure());
    if (!devices->empty())
        if (auto fits = what.check_place(*devices); !fits)
            return report(fits.failure());
    note_list notes{false};
    notes.add(what.notes());
    if (!devices->empty())
        notes.add(what.notes_on(*devices));
    if (!options.print)
        std::cout << options.app.file << ": ok" << std::endl;
    return 0;
}

int explain(const std::string& key, job_table jobs) {
    auto text = explain_app_key(key, app_kinds(jobs));
    if (!text)
        return report(text.failure());
    std::cout << *text;
    return 0;
}

int evaluate(const evaluate_options& options, job_table jobs) {
    const auto app =
        load_app(options.app.file, options.app.settings, app_kinds(jobs), home_folder());
    if (!app)
        return report(app.failure());
    const job_kind& kind = kind_of(*app, jobs);
    if (!kind.evaluate)
        return report(
            app->error_at(kind.app.key, "has nothing to evaluate: no samples are held out"));
    return kind.evaluate(*app, options);
}

int predict(const predict_options& options, job_table jobs) {
    const auto app =
        load_app(options.app.file, options.app.settings, app_kinds(jobs), home_folder());
    if (!app)
        return report(app.failure());
    const job_kind& kind = kind_of(*app, jobs);
    if (!kind.predict)
        return report(app->error_at(kind.app.key, "predicts nothing; of networks that write or "
                                                  "translate, troupe generate does"));
    return kind.predict(*app, options);
}

} // namespace troupe::cli

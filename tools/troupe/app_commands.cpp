// check and explain: what needs no device and no cluster. What errors print, and their exit codes.
#include <iostream>

#include "actors/plan/app_file.hpp"
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

void note(const std::string& sentence) {
    std::cerr << "troupe: note: " << sentence << std::endl;
}

int stopped(const error& why) {
    std::cerr << "troupe: " << why.message() << std::endl;
    return 128 + last_signal();
}

namespace {

// That the app is checked for, or none.
result<std::vector<plan_device>> devices_to_check(const check_options& options) {
    if (options.devices.empty())
        return devices_of_nodes(options.nodes, 0);
    const auto chosen = parse_devices(options.devices);
    if (!chosen)
        return chosen.failure();
    return devices_of_process(*chosen);
}

// Whether the app can be placed on these devices. Nothing is measured: where times of layers decide, all have the same.
result<void> check_place(const std::vector<plan_device>& devices, const app_definition& app) {
    if (devices.empty())
        return {};
    const std::size_t layers = count_layers(app.app().getModel());
    if (auto made = make_plan({app.app(), devices, std::vector<double>(layers, 1)}); !made)
        return app.at_its_place(made.failure());
    return {};
}

} // namespace

int check(const check_options& options) {
    if (options.json_schema) {
        std::cout << app_json_schema() << std::endl;
        return 0;
    }
    auto app = load_app(options.app.file, options.app.settings);
    if (!app)
        return report(app.failure());
    if (options.print)
        std::cout << render_app(app->app());
    const auto data = load_samples(*app);
    if (!data)
        return report(data.failure());
    if (auto enough = app->check_training((*data)->train.size()); !enough)
        return report(enough.failure());
    const auto devices = devices_to_check(options);
    if (!devices)
        return report(devices.failure());
    if (auto fits = check_place(*devices, *app); !fits)
        return report(fits.failure());
    note_list notes{false};
    notes.add(app->notes((*data)->train.size()));
    notes.add((*data)->notes);
    if (!devices->empty())
        notes.add(notes_on_precision(*devices, app->app()));
    if (!options.print)
        std::cout << options.app.file << ": ok" << std::endl;
    return 0;
}

int explain(const std::string& key) {
    auto text = explain_app_key(key);
    if (!text)
        return report(text.failure());
    std::cout << *text;
    return 0;
}

} // namespace troupe::cli

#include "tools/inspector/inspect.hpp"

#include "tools/inspector/observer_network.hpp"
#include "tools/inspector/printable.hpp"
#include "tools/inspector/views.hpp"

namespace troupe::inspector {

namespace {

int exit_code(errc code) {
    switch (code) {
    case errc::usage:
    case errc::io:
        return 2;
    case errc::unreachable:
    case errc::refused:
    case errc::lost:
    case errc::protocol:
        return 3;
    default:
        return 1;
    }
}

result<void> show(view_context& view) {
    switch (view.options.view) {
    case view_kind::actors:
        return show_actors(view);
    case view_kind::staleness:
        return show_staleness(view);
    case view_kind::schedule:
        return show_schedule(view);
    case view_kind::results:
        return show_results(view);
    case view_kind::tail:
        return show_tail(view);
    case view_kind::follow:
        return show_path(view);
    case view_kind::export_trace:
        return export_trace(view);
    }
    return error{errc::usage, "there is no such view"};
}

// A view that goes on until it is stopped has done its work when the cluster stops in order.
bool is_open_ended(const inspect_options& options) {
    return options.view == view_kind::tail || options.watch;
}

// One line for people; the exit code that belongs to the failure.
int report(const error& failure, const inspect_options& options, std::ostream& talk) {
    talk << options.speaker << ": " << printable(failure.message(), 1024) << std::endl;
    return exit_code(failure.code());
}

} // namespace

int inspect(const inspect_options& given, std::ostream& out, std::ostream& talk) {
    const auto made = make_observer_network({.program = "inspector",
                                             .address = given.address,
                                             .access = given.access,
                                             .connect_timeout = given.patience});
    if (!made)
        return report(made.failure(), given, talk);
    const observer_network& own = **made;
    inspect_options options = given;
    options.address = own.address;
    return inspect_over(*own.network, own.self, own.time, options, out, talk);
}

int inspect_over(endpoint& network, node_id self, const time_source& time,
                 const inspect_options& options, std::ostream& out, std::ostream& talk) {
    observer view{
        network, time, {.self = self, .patience = options.patience, .stop = options.stop}};
    if (auto started = view.start(); !started)
        return report(started.failure(), options, talk);
    cluster_link cluster{view, options.speaker, talk};
    if (auto attached = cluster.attach(options.address); !attached)
        return report(attached.failure(), options, talk);
    view_context context{cluster, options, out, talk};
    const auto shown = show(context);
    if (!out.good()) {
        report({errc::io, "the output could not be written"}, options, talk);
        return 1;
    }
    if (shown)
        return 0;
    const int code = report(shown.failure(), options, talk);
    if (shown.failure().code() != errc::cancelled)
        return code;
    // Stopped by the user, or by the cluster before there was anything to show.
    return is_open_ended(options) ? 0 : view.stopped() ? code : exit_code(errc::lost);
}

} // namespace troupe::inspector

#include "tools/inspector/inspect.hpp"

#include <kj/exception.h>

#include <exception>

#include "kernels/tensor/memory.hpp"
#include "tools/inspector/printable.hpp"
#include "tools/inspector/views.hpp"
#include "transport/ucx/ucx_endpoint.hpp"

namespace troupe::inspector {

namespace {

constexpr std::size_t pool_bytes = std::size_t{1} << 20; // the protocols of an observer carry no tensors

int exit_code(errc code) {
    switch (code) {
    case errc::usage: return 2;
    case errc::unreachable:
    case errc::refused:
    case errc::lost:
    case errc::protocol: return 3;
    default: return 1;
    }
}

int report(const error& failure, std::ostream& talk) {
    talk << "troupe inspect: " << printable(failure.message(), 1024) << std::endl;
    return exit_code(failure.code());
}

result<void> show(view_context& view) {
    switch (view.options.view) {
    case view_kind::actors: return show_actors(view);
    case view_kind::tail: return show_tail(view);
    case view_kind::follow: return show_path(view);
    case view_kind::export_trace: return export_trace(view);
    }
    return error{errc::usage, "there is no such view"};
}

// A view that goes on until it is stopped has done its work when the cluster stops in order.
bool is_open_ended(const inspect_options& options) {
    return options.view == view_kind::tail || (options.view == view_kind::actors && options.watch);
}

} // namespace

int inspect_over(endpoint& network, node_id self, const clock& time, const inspect_options& options, std::ostream& out,
                 std::ostream& talk) {
    try {
        observer view{network, time, {.self = self, .patience = options.patience, .stop = options.stop}};
        if (auto started = view.start(); !started)
            return report(started.failure(), talk);
        cluster_link cluster{view, talk};
        if (auto attached = cluster.attach(options.address); !attached)
            return report(attached.failure(), talk);
        view_context context{cluster, options, out, talk};
        const auto shown = show(context);
        if (!out.good())
            return report({errc::io, "the output could not be written"}, talk);
        if (shown)
            return 0;
        const int code = report(shown.failure(), talk);
        return shown.failure().code() == errc::cancelled && is_open_ended(options) ? 0 : code;
    } catch (const kj::Exception& malformed) {
        return report({errc::protocol, std::string{"a node sends a message that cannot be read: "} +
                                           malformed.getDescription().cStr()},
                      talk);
    }
}

int inspect(const inspect_options& options, std::ostream& out, std::ostream& talk) {
    const monotonic_clock time;
    memory_pool pool{{.bytes_max = pool_bytes}};
    const node_id self = draw_node_id();
    ucx_options ucx{.self = {self, "inspector-" + hex_text(self.value()), "127.0.0.1:0", peer_role::observer},
                    .key = options.key,
                    .pool = &pool,
                    .time = &time};
    ucx.connect_timeout = options.patience;
    auto network = make_ucx_endpoint(std::move(ucx));
    if (!network)
        return report(network.failure(), talk);
    return inspect_over(**network, self, time, options, out, talk);
}

} // namespace troupe::inspector

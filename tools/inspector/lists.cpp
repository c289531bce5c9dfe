// The loop of the views that show lists of actors as they are.
#include <sstream>

#include "tools/inspector/views.hpp"

namespace troupe::inspector {

result<void> show_lists(view_context& view, const listing& what) {
    for (bool first = true;; first = false) {
        const auto nodes = view.cluster.list_all_actors();
        if (!nodes)
            return nodes.failure();
        if (view.options.json)
            view.out << what.record(*nodes) << std::endl;
        else if (view.options.screen && view.options.watch) {
            std::ostringstream text;
            what.print(text, *nodes);
            view.out << "\x1b[H\x1b[2J" << cut_to(view.options.screen(), text.str()) << std::flush;
        } else {
            view.out << (first ? "" : "\n");
            what.print(view.out, *nodes);
            view.out << std::flush;
        }
        if (!view.options.watch || !view.out.good() ||
            !view.cluster.view().rest(view.options.interval))
            return {};
        if (auto still = view.cluster.refresh(); !still)
            return still.failure();
    }
}

} // namespace troupe::inspector

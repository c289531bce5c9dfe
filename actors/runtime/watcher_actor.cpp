#include "actors/runtime/watcher_actor.hpp"

#include "actors/runtime/node_core.hpp"

namespace troupe {

watcher_actor::watcher_actor(actor_context& context) : actor{context} {
    on<proto::Watch>(&watcher_actor::start_watch);
    on<proto::Unwatch>(&watcher_actor::end_watch);
}

void watcher_actor::start_watch(proto::Watch::Reader request, const frame& f) {
    core_of(runtime()).watch(f.from(), {self().node, actor_number{request.getActor()}});
}

void watcher_actor::end_watch(proto::Unwatch::Reader request, const frame& f) {
    core_of(runtime()).unwatch(f.from(), {self().node, actor_number{request.getActor()}});
}

} // namespace troupe

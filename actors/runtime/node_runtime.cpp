#include "actors/runtime/node_runtime.hpp"

#include <random>

#include <caf/system_messages.hpp>

#include "actors/runtime/actor_names.hpp"
#include "actors/runtime/actor_shell.hpp"
#include "actors/runtime/caf_order.hpp"
#include "actors/runtime/node_core.hpp"
#include "actors/runtime/watcher_actor.hpp"

namespace troupe {

node_runtime::node_runtime(node_options options)
    : core_{std::make_shared<node_core>(*this, std::move(options))} {
    spawn_as<watcher_actor>(well_known::watcher, "watcher");
}

node_runtime::~node_runtime() {
    stop();
}

result<void> node_runtime::start() {
    return core_->start();
}

void node_runtime::stop() {
    core_->stop();
}

const node_options& node_runtime::options() const noexcept {
    return core_->options();
}

node_id node_runtime::node() const noexcept {
    return core_->options().node;
}

std::optional<actor_address> node_runtime::address_of(const std::string& name) const {
    return core_->actors().address_of(name);
}

std::vector<actor_status> node_runtime::actors() const {
    return core_->actors().statuses();
}

std::optional<std::uint64_t> node_runtime::run_of(actor_address local) const {
    if (local.node != node())
        return std::nullopt;
    const caf::strong_actor_ptr found = core_->actors().find(local.actor);
    return found ? std::optional{actor_shell::of(found).run()} : std::nullopt;
}

void node_runtime::stamp_from_nobody(proto::Envelope::Builder envelope, actor_address to) {
    core_->stamp(envelope, well_known::nobody, to);
}

void node_runtime::route(frame_ptr f) {
    core_->post(std::move(f));
}

bool node_runtime::end(actor_address local, error why) {
    const caf::strong_actor_ptr found = core_->actors().find(local.actor);
    if (!found)
        return false;
    auto element =
        caf::make_mailbox_element(nullptr, caf::make_message_id(caf::message_priority::high), {},
                                  caf::exit_msg{caf::actor_addr{}, to_caf(why)});
    release_to_caf(element.get());
    found->enqueue(std::move(element), nullptr);
    actor_shell::of(found).release_for_ever();
    return true;
}

bool node_runtime::pause(actor_address local) {
    const caf::strong_actor_ptr found = core_->actors().find(local.actor);
    if (found)
        actor_shell::of(found).set_paused(true);
    return static_cast<bool>(found);
}

bool node_runtime::unpause(actor_address local) {
    const caf::strong_actor_ptr found = core_->actors().find(local.actor);
    if (found)
        actor_shell::of(found).set_paused(false);
    return static_cast<bool>(found);
}

bool node_runtime::step(actor_address local, std::size_t messages) {
    const caf::strong_actor_ptr found = core_->actors().find(local.actor);
    return found && actor_shell::of(found).add_steps(messages);
}

void node_runtime::connect(const std::string& address) {
    if (endpoint* network = core_->options().network)
        network->connect(address);
}

void node_runtime::disconnect(node_id peer, error why) {
    if (endpoint* network = core_->options().network)
        network->disconnect(peer, std::move(why));
}

bool node_runtime::expect(node_id peer, frame_place place) {
    endpoint* network = core_->options().network;
    return network != nullptr && network->expect(peer, std::move(place));
}

void node_runtime::forget(node_id peer, actor_number local) {
    if (endpoint* network = core_->options().network)
        network->forget(peer, local);
}

void node_runtime::subscribe_peers(actor_address local) {
    core_->subscribe_peers(local);
}

std::vector<peer_info> node_runtime::peers() const {
    return core_->peers().list();
}

std::optional<time_point> node_runtime::last_heard(node_id peer) const {
    return core_->peers().last_heard(peer);
}

std::uint64_t node_runtime::bytes_moved(node_id peer) const {
    const endpoint* network = core_->options().network;
    return network == nullptr ? 0 : network->bytes_moved(peer);
}

std::string node_runtime::listen_address() const {
    const endpoint* network = core_->options().network;
    return network == nullptr ? std::string{} : network->address();
}

trace_ring& node_runtime::trace() noexcept {
    return core_->trace();
}

node_statistics node_runtime::statistics() const {
    return core_->counters().read();
}

std::size_t node_runtime::runnable() const {
    return core_->runnable();
}

void node_runtime::run_one(std::size_t index) {
    core_->run_one(index);
}

void node_runtime::cut_off() {
    core_->cut_off();
}

node_core& core_of(node_runtime& runtime) noexcept {
    return *runtime.core_;
}

node_id draw_node_id() {
    std::random_device entropy;
    std::uint64_t drawn = 0;
    while (drawn == 0)
        drawn = std::uint64_t{entropy()} << 32 ^ entropy();
    return node_id{drawn};
}

namespace detail {

actor_context prepare_spawn(node_runtime& runtime, std::optional<actor_number> number,
                            std::string name, std::uint64_t run) {
    TROUPE_CHECK(!name.empty(), "an actor has a name");
    if (run != 0)
        name = name_in_run(run, name);
    TROUPE_CHECK(name.size() <= limits::name_bytes_max, "an actor has a name of bounded length");
    return {.runtime = runtime,
            .self = core_of(runtime).actors().reserve(number),
            .name = std::move(name),
            .run = run};
}

actor_address launch(node_runtime& runtime, std::unique_ptr<actor> created) {
    return core_of(runtime).launch(std::move(created));
}

} // namespace detail

} // namespace troupe

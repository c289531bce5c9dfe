#include "transport/ucx/ucx_links.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>

namespace troupe {

namespace {

constexpr unsigned progress_burst = 16;
constexpr rlim_t link_descriptors = 8; // measured
constexpr unsigned link_mebibytes = 9; // of shared memory, at both ends; measured

void ucx_failed(void* peer, ucp_ep_h, ucs_status_t) {
    auto& failed = *static_cast<peer_state*>(peer);
    failed.has_failed = true;
    *failed.ucx->any_failed = true;
}

// The sentence names the folder in which UCX keeps what there is too little of.
error no_shared_memory_error(const error& why) {
    std::error_code none;
    const auto space = std::filesystem::space("/dev/shm", none);
    const std::string left =
        none ? std::string{} : ", which has " + std::to_string(space.available >> 20) + " MiB left";
    return {why.code(), "no shared memory for a link: " + why.message() + "; a link takes about " +
                            std::to_string(link_mebibytes) + " MiB of /dev/shm" + left +
                            ": make it larger (docker run --shm-size, mount -o remount,size=), or "
                            "give --transport tcp"};
}

// UCX 1.13 does not report that they have run out: links over TCP connect and carry nothing.
bool has_descriptors_for_a_link() {
    rlimit files{};
    const file_descriptor lowest{fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0)};
    return lowest && getrlimit(RLIMIT_NOFILE, &files) == 0 &&
           static_cast<rlim_t>(lowest.get()) + link_descriptors <= files.rlim_cur;
}

std::uint64_t id_of(const ucx_worker& worker) {
    return ucx_links::first_id + static_cast<std::uint64_t>(worker.event_descriptor());
}

} // namespace

ucx_links::ucx_links(const link_settings& settings, poll_set& poll)
    : settings_{settings}, poll_{poll}, receiver_{settings} {}

result<void> ucx_links::add(const peer_ptr& peer, ucx_context& context) {
    if (!has_descriptors_for_a_link())
        return error{errc::io, "no file descriptors are left for a link to another node; raise the "
                               "limit with ulimit -n"};
    auto created = ucx_worker::create(context);
    if (!created)
        return context.transport() == ucx_transport::shared_memory &&
                       created.failure().code() == errc::io
                   ? no_shared_memory_error(created.failure())
                   : created.failure();
    if (peer->ucx != nullptr) {
        poll_.forget(peer->ucx->worker->event_descriptor());
    } else {
        peer->ucx = std::make_unique<ucx_link>();
        links_.push_back(peer);
    }
    peer->ucx->worker = std::move(*created);
    peer->ucx->any_failed = &any_failed_;
    receiver_.add(*peer);
    poll_.watch(peer->ucx->worker->event_descriptor(), id_of(*peer->ucx->worker));
    return {};
}

result<void> ucx_links::connect(peer_state& peer) {
    const auto ep = peer.ucx->worker->connect(peer.ucx->peers_worker, peer.ucx->peers_process,
                                              &ucx_failed, &peer);
    if (!ep)
        return ep.failure();
    peer.ucx->ep = *ep;
    peer.info.over = described_link(peer.ucx->worker->printed(*ep));
    peer.ucx->worker->watch_wiring(*ep, &peer.wired.here);
    return {};
}

// --- progress

unsigned ucx_links::progress() {
    unsigned done = 0;
    for (unsigned spent = 0; done == 0 && spent < progress_burst;) {
        const burst now = progress_once();
        done = now.done;
        spent += now.asked + 1;
    }
    if (receiver_.is_waiting_for_memory())
        receiver_.retry();
    return done;
}

// Most of many peers are quiet, and polling all their workers takes longer than the transfer of a frame, so each round
// polls one of the quiet ones in turn. Before a sleep arm() finds the others, after it the event descriptors do.
ucx_links::burst ucx_links::progress_once() {
    burst all;
    const std::size_t turn = ++progress_round_ % std::max<std::size_t>(links_.size(), 1);
    for (std::size_t i = 0; i < links_.size(); ++i) {
        peer_state& peer = *links_[i];
        const bool is_quiet = peer.wired.here && peer.ucx->state != link_state::over &&
                              peer.ucx->in_flight == 0 && peer.ucx->arrived.transfers == 0 &&
                              progress_round_ - peer.ucx->busy_at > settings_.busy_rounds;
        if (is_quiet && i != turn)
            continue;
        const unsigned now_done = peer.ucx->worker->progress();
        if (now_done > 0)
            peer.ucx->busy_at = progress_round_;
        all.done += now_done;
        ++all.asked;
    }
    return all;
}

// No peer has this descriptor if the link has ended meanwhile.
void ucx_links::on_ready(std::uint64_t id) {
    for (const peer_ptr& peer : links_)
        if (id_of(*peer->ucx->worker) == id)
            peer->ucx->busy_at = progress_round_;
}

bool ucx_links::arm() {
    for (const peer_ptr& peer : links_) {
        if (peer->ucx->state == link_state::over)
            continue; // the cause of its end may keep it busy forever
        const ucs_status_t status = peer->ucx->worker->arm();
        if (status == UCS_ERR_BUSY) {
            peer->ucx->busy_at = progress_round_;
            return false;
        }
        if (status != UCS_OK)
            peer->has_failed = any_failed_ = true;
    }
    return !any_failed_;
}

bool ucx_links::is_under_way() const noexcept {
    return sender_.in_flight() > 0 || receiver_.transfers() > 0 || any_over_;
}

// --- the end

void ucx_links::end_link(peer_state& peer) {
    if (peer.ucx->state == link_state::over)
        return;
    receiver_.remove(peer);
    poll_.forget(peer.ucx->worker->event_descriptor());
    any_over_ = true;
    peer.ucx->worker_goes_by = settings_.time->now() + settings_.drain_timeout;
}

void ucx_links::retire() {
    any_over_ = false;
    const time_point now = settings_.time->now();
    std::erase_if(links_, [&](const peer_ptr& peer) {
        if (peer->ucx->state != link_state::over)
            return false;
        if (peer->ucx->ep != nullptr && (peer->wired.here || peer->has_failed))
            peer->ucx->worker->disconnect(std::exchange(peer->ucx->ep, nullptr));
        const bool is_closing =
            peer->ucx->worker->disconnects_pending() > 0 && now < peer->ucx->worker_goes_by;
        any_over_ = any_over_ || is_closing;
        if (!is_closing)
            drop_worker(*peer);
        return !is_closing;
    });
}

// UCX 1.13 aborts a process, ours or the peer's, whose answer to a connection set-up is still under way when the other side
// goes. Where that is possible, the worker is kept until the process ends.
void ucx_links::drop_worker(peer_state& peer) {
    const bool is_closed = peer.ucx->ep == nullptr && peer.ucx->worker->disconnects_pending() == 0;
    const bool is_set_up = peer.wired.here && peer.wired.there;
    if (!is_closed || !(is_set_up || peer.wired.declined))
        peer.ucx->worker->leave_to_the_end();
    peer.ucx->worker.reset();
    sender_.abandon(peer);
    receiver_.abandon(peer);
}

void ucx_links::abandon(time_point by) {
    for (retire(); !links_.empty() && settings_.time->now() < by; retire())
        for (const peer_ptr& peer : links_)
            peer->ucx->worker->progress();
    for (const peer_ptr& peer : links_)
        drop_worker(*peer);
    links_.clear();
}

} // namespace troupe

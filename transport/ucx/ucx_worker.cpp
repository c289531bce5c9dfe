#include "transport/ucx/ucx_worker.hpp"

#include <ucs/debug/log_def.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "schemas/base/check.hpp"
#include "transport/ucx/worker_memory.hpp"

namespace troupe {

namespace {

// UCX reports failed peers on standard output. We report them ourselves; messages that a user requests with UCX_LOG_LEVEL
// still appear.
ucs_log_func_rc_t drop_peer_failures(const char*, unsigned, const char*, ucs_log_level_t level,
                                     const ucs_log_component_config_t*, const char*, va_list) {
    return level == UCS_LOG_LEVEL_ERROR || level == UCS_LOG_LEVEL_WARN ||
                   level == UCS_LOG_LEVEL_DIAG
               ? UCS_LOG_FUNC_RC_STOP
               : UCS_LOG_FUNC_RC_CONTINUE;
}

struct config_deleter {
    void operator()(ucp_config_t* c) const { ucp_config_release(c); }
};

result<std::unique_ptr<ucp_config_t, config_deleter>>
configure(const std::vector<ucx_setting>& settings) {
    ucp_config_t* raw = nullptr;
    if (const auto status = ucp_config_read(nullptr, nullptr, &raw); status != UCS_OK)
        return ucx_error(errc::io, status);
    std::unique_ptr<ucp_config_t, config_deleter> config{raw};
    for (const ucx_setting& s : settings) {
        auto status = ucp_config_modify(config.get(), s.name.c_str(), s.value.c_str());
        if (status == UCS_ERR_INVALID_PARAM && !s.later_name.empty())
            status = ucp_config_modify(config.get(), s.later_name.c_str(), s.value.c_str());
        if (status != UCS_OK)
            return ucx_error(errc::io, status).in("setting " + s.name);
    }
    return config;
}

result<worker_kind> kind_of_own(const std::vector<std::byte>& address) {
    const auto own = read_worker_address(address);
    const auto sound =
        own ? check_memory(*own, *own, static_cast<std::uint32_t>(getpid())) : own.failure();
    if (!sound)
        return error{errc::refused, "UCX gives a worker an address that this node cannot check (" +
                                        sound.failure().message() +
                                        "); let Troupe find UCX 1.13, or give --transport tcp"};
    return kind_of(*own);
}

} // namespace

ucx_version ucx_here() {
    unsigned major = 0, minor = 0, release = 0;
    ucp_get_version(&major, &minor, &release);
    return {static_cast<std::uint16_t>(major), static_cast<std::uint16_t>(minor)};
}

error ucx_error(errc code, ucs_status_t status) {
    return {code, std::string{"UCX: "} + ucs_status_string(status)};
}

result<std::unique_ptr<ucx_context>> ucx_context::create(ucx_transport over) {
    std::unique_ptr<ucx_context> c{new ucx_context{over}};
    ucs_log_push_handler(drop_peer_failures);
    const auto config = configure(settings_for(over));
    if (!config)
        return config.failure();
    ucp_params_t params{};
    params.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_MT_WORKERS_SHARED;
    params.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
    params.mt_workers_shared = 0;
    if (const auto status = ucp_init(&params, config->get(), &c->context_); status != UCS_OK)
        return ucx_error(errc::io, status);
    return c;
}

ucx_context::~ucx_context() {
    if (context_ != nullptr && !is_left_)
        ucp_cleanup(context_);
    ucs_log_pop_handler();
}

result<std::unique_ptr<ucx_worker>> ucx_worker::create(ucx_context& context) {
    std::unique_ptr<ucx_worker> w{new ucx_worker{context}};
    if (const auto opened = w->open(); !opened)
        return opened.failure();
    return w;
}

result<void> ucx_worker::open() {
    ucp_worker_params_t params{};
    params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE | UCP_WORKER_PARAM_FIELD_EVENTS;
    params.thread_mode = UCS_THREAD_MODE_SERIALIZED;
    params.events = UCP_WAKEUP_RX | UCP_WAKEUP_TX;
    if (const auto status = ucp_worker_create(context_.get(), &params, &worker_); status != UCS_OK)
        return ucx_error(errc::io, status);
    ucp_worker_attr_t attributes{};
    attributes.field_mask = UCP_WORKER_ATTR_FIELD_MAX_AM_HEADER | UCP_WORKER_ATTR_FIELD_ADDRESS;
    if (const auto status = ucp_worker_query(worker_, &attributes); status != UCS_OK)
        return ucx_error(errc::io, status);
    const auto* first = reinterpret_cast<const std::byte*>(attributes.address);
    address_.assign(first, first + attributes.address_length);
    ucp_worker_release_address(worker_, attributes.address);
    header_bytes_max_ = attributes.max_am_header;
    if (address_.size() > limits::worker_address_bytes_max)
        return error{
            errc::io,
            "UCX: this machine has so many devices that their addresses do not fit a message; name "
            "the ones to use in UCX_NET_DEVICES"};
    if (const auto status = ucp_worker_get_efd(worker_, &event_descriptor_); status != UCS_OK)
        return ucx_error(errc::io, status);
    if (context_.transport() != ucx_transport::shared_memory)
        return {};
    const auto kind = kind_of_own(address_);
    if (!kind)
        return kind.failure();
    kind_ = *kind;
    return {};
}

ucx_worker::~ucx_worker() {
    if (worker_ != nullptr)
        ucp_worker_destroy(worker_);
}

void ucx_worker::receive_with(ucp_am_recv_callback_t callback, void* argument) {
    ucp_am_handler_param_t handler{};
    handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
                         UCP_AM_HANDLER_PARAM_FIELD_ARG;
    handler.id = frame_message;
    handler.cb = callback;
    handler.arg = argument;
    TROUPE_CHECK(ucp_worker_set_am_recv_handler(worker_, &handler) == UCS_OK,
                 "the handler is well-formed");
}

result<void> ucx_worker::check_peer(const std::vector<std::byte>& address,
                                    std::uint32_t process) const {
    const worker_address ours = read_worker_address(address_).value();
    const auto theirs = read_worker_address(address);
    if (!theirs)
        return theirs.failure();
    const auto alike = check_alike(*theirs, ours);
    return alike ? check_memory(*theirs, ours, process) : alike;
}

result<ucp_ep_h> ucx_worker::connect(const std::vector<std::byte>& address, std::uint32_t process,
                                     ucp_err_handler_cb_t failed, void* argument) {
    if (context_.transport() == ucx_transport::shared_memory)
        if (const auto sound = check_peer(address, process); !sound)
            return sound.failure().in("the address of its UCX worker is refused");
    ucp_ep_params_t params{};
    params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                        UCP_EP_PARAM_FIELD_ERR_HANDLER;
    params.address = reinterpret_cast<const ucp_address_t*>(address.data());
    params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
    params.err_handler.cb = failed;
    params.err_handler.arg = argument;
    ucp_ep_h ep = nullptr;
    if (const auto status = ucp_ep_create(worker_, &params, &ep); status != UCS_OK)
        return ucx_error(errc::unreachable, status);
    return ep;
}

std::string ucx_worker::printed(ucp_ep_h ep) const {
    char* text = nullptr;
    std::size_t length = 0;
    FILE* const out = open_memstream(&text, &length);
    TROUPE_CHECK(out != nullptr, "there is memory for a few lines");
    ucp_ep_print_info(ep, out);
    fclose(out);
    std::string printed{text, length};
    free(text);
    return printed;
}

void ucx_worker::watch_wiring(ucp_ep_h ep, bool* is_wired) {
    ucp_request_param_t params{};
    params.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    params.user_data = is_wired;
    params.cb.send = [](void* request, ucs_status_t status, void* flag) {
        *static_cast<bool*>(flag) = status == UCS_OK;
        ucp_request_free(request);
    };
    *is_wired = ucp_ep_flush_nbx(ep, &params) == nullptr;
}

void ucx_worker::disconnect(ucp_ep_h ep) {
    ucp_request_param_t params{};
    params.op_attr_mask =
        UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    params.flags = UCP_EP_CLOSE_FLAG_FORCE;
    params.user_data = this;
    params.cb.send = [](void* request, ucs_status_t, void* self) {
        --static_cast<ucx_worker*>(self)->disconnects_pending_;
        ucp_request_free(request);
    };
    ++disconnects_pending_;
    if (const auto request = ucp_ep_close_nbx(ep, &params); !UCS_PTR_IS_PTR(request))
        --disconnects_pending_; // complete
}

} // namespace troupe

#include "transport/ucx/worker_address.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>

namespace troupe {

namespace {

constexpr std::byte header{0x20}; // version 1, a worker's id, and none of the optional parts
constexpr std::size_t worker_bytes = 8;
constexpr std::size_t traits_bytes = 16;
constexpr std::byte is_last{0x80}; // of devices, and of a device's transports
constexpr std::byte domain_is_empty{0x80};
constexpr std::byte device_has_paths{0x40};
constexpr std::byte device_has_system_id{0x20};
constexpr std::byte device_length_mask{0x1f};
constexpr std::byte transport_has_endpoints{0x40};

constexpr std::array known{memory_transport::self, memory_transport::sysv, memory_transport::posix,
                           memory_transport::cma};

error refused(std::string what) {
    return {errc::refused, std::move(what)};
}

bool has(std::byte value, std::byte flag) {
    return (value & flag) != std::byte{};
}

// Takes bytes off the front; nothing more once they have not sufficed.
class address_reader {
  public:
    explicit address_reader(std::span<const std::byte> bytes) : rest_{bytes} {}

    std::span<const std::byte> take(std::size_t bytes) {
        is_short_ = is_short_ || rest_.size() < bytes;
        if (is_short_)
            return {};
        const auto taken = rest_.first(bytes);
        rest_ = rest_.subspan(bytes);
        return taken;
    }

    std::byte take_byte() {
        const auto taken = take(1);
        return taken.empty() ? std::byte{} : taken.front();
    }

    bool is_short() const noexcept { return is_short_; }
    bool is_at_end() const noexcept { return rest_.empty(); }

  private:
    std::span<const std::byte> rest_;
    bool is_short_ = false;
};

// Appends the device's transports; returns whether it is the last device.
result<bool> read_device(address_reader& in, std::vector<worker_address::transport>& to) {
    const std::byte domain = in.take_byte();
    const std::byte form = in.take_byte();
    if (has(domain, domain_is_empty))
        return refused("it has a device without transports");
    worker_address::transport t{};
    t.domain = domain;
    t.device_form = form & ~is_last;
    in.take((has(form, device_has_paths) ? 1 : 0) + (has(form, device_has_system_id) ? 1 : 0));
    t.device = in.take(std::to_integer<std::size_t>(form & device_length_mask));
    for (bool is_over = false; !is_over;) {
        const auto name = in.take(sizeof t.name);
        t.traits = in.take(traits_bytes);
        const std::byte length = in.take_byte();
        if (has(length, transport_has_endpoints))
            return refused("it names endpoints");
        t.segment = in.take(std::to_integer<std::size_t>(length & ~is_last));
        if (in.is_short())
            return refused("it ends within a device");
        std::memcpy(&t.name, name.data(), sizeof t.name);
        if (std::ranges::find(known, t.name) == known.end())
            return refused("it names a transport that is not known here");
        to.push_back(t);
        is_over = has(length, is_last);
    }
    return has(form, is_last);
}

bool names_a_process(memory_transport name) {
    return name == memory_transport::cma;
}

result<void> check_transport(const worker_address::transport& theirs,
                             const worker_address::transport& ours) {
    if (theirs.name != ours.name)
        return refused("it names other transports than this node's");
    if (theirs.device_form != ours.device_form || !std::ranges::equal(theirs.device, ours.device))
        return refused("it is of another machine");
    if (theirs.domain != ours.domain || !std::ranges::equal(theirs.traits, ours.traits))
        return refused("it says something else of a transport than this node's");
    if (theirs.segment.size() != ours.segment.size())
        return refused("it names memory in another way than this node's");
    if (!names_a_process(ours.name) && std::ranges::equal(theirs.segment, ours.segment))
        return refused("it names memory of this node's worker");
    return {};
}

} // namespace

result<worker_address> read_worker_address(std::span<const std::byte> bytes) {
    address_reader in{bytes};
    if (in.take_byte() != header)
        return refused("it is not in the format of UCX 1.13");
    worker_address read;
    read.worker = in.take(worker_bytes);
    for (bool is_over = false; !is_over;) {
        const auto was_last = read_device(in, read.transports);
        if (!was_last)
            return was_last.failure();
        is_over = *was_last;
    }
    if (!in.is_at_end())
        return refused("something follows its last device");
    return read;
}

result<void> check_alike(const worker_address& theirs, const worker_address& ours) {
    if (std::ranges::equal(theirs.worker, ours.worker))
        return refused("it is that of this node's worker");
    if (theirs.transports.size() != ours.transports.size())
        return refused("it names other transports than this node's");
    for (std::size_t i = 0; i < ours.transports.size(); ++i)
        if (const auto alike = check_transport(theirs.transports[i], ours.transports[i]); !alike)
            return alike;
    return {};
}

} // namespace troupe

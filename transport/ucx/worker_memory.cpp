#include "transport/ucx/worker_memory.hpp"

#include <sodium.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schemas/base/check.hpp"

namespace troupe {

namespace {

// A segment of a posix transport is an open file of its process: 4 bits of flags, 30 of the descriptor, 30 of the process.
// A process of cma has a flag, too. A namespace follows, if processes are in one.
constexpr unsigned id_bits = 30;
constexpr std::uint64_t id_mask = (1ull << id_bits) - 1;
constexpr unsigned posix_flags_at = 2 * id_bits;
constexpr std::uint64_t posix_by_process = 8; // of its flags: named by process and descriptor
constexpr std::uint32_t cma_in_namespace = 1u << 31;
constexpr std::string_view posix_file_begins = "ucx_shm_posix_";

// Memory that a transport names, or a process, whose memory is as it is.
struct owned_memory {
    std::int64_t process = 0;
    std::uint64_t bytes = 0;
    std::uint64_t way = 0; // in which it is named
    std::span<const std::byte> space;
};

template <class Number>
std::optional<Number> number_at_front(std::span<const std::byte> bytes) {
    Number number{};
    if (bytes.size() < sizeof number)
        return std::nullopt;
    std::memcpy(&number, bytes.data(), sizeof number);
    return number;
}

std::string file_name_behind(const std::string& link) {
    char target[256];
    const ssize_t length = readlink(link.c_str(), target, sizeof target);
    const std::string_view path{target, length > 0 ? static_cast<std::size_t>(length) : 0};
    return std::string{path.substr(path.rfind('/') + 1)};
}

std::optional<owned_memory> posix_memory(std::span<const std::byte> segment) {
    const auto id = number_at_front<std::uint64_t>(segment);
    if (!id || (*id >> posix_flags_at & posix_by_process) == 0)
        return std::nullopt;
    const std::uint64_t process = *id & id_mask;
    const std::string link =
        "/proc/" + std::to_string(process) + "/fd/" + std::to_string(*id >> id_bits & id_mask);
    struct stat file {};
    if (!file_name_behind(link).starts_with(posix_file_begins) || stat(link.c_str(), &file) != 0 ||
        !S_ISREG(file.st_mode) || file.st_uid != geteuid())
        return std::nullopt;
    return owned_memory{static_cast<std::int64_t>(process),
                        static_cast<std::uint64_t>(file.st_size), *id >> posix_flags_at,
                        segment.subspan(sizeof *id)};
}

std::optional<owned_memory> sysv_memory(std::span<const std::byte> segment) {
    const auto id = number_at_front<std::uint64_t>(segment);
    shmid_ds there{};
    if (!id || *id > INT32_MAX || shmctl(static_cast<int>(*id), IPC_STAT, &there) != 0 ||
        there.shm_perm.uid != geteuid())
        return std::nullopt;
    return owned_memory{there.shm_cpid, there.shm_segsz, 0, segment.subspan(sizeof *id)};
}

std::optional<owned_memory> cma_memory(std::span<const std::byte> segment) {
    const auto id = number_at_front<std::uint32_t>(segment);
    if (!id)
        return std::nullopt;
    return owned_memory{*id & ~cma_in_namespace, 0, *id & cma_in_namespace,
                        segment.subspan(sizeof *id)};
}

std::optional<owned_memory> memory_of(const worker_address::transport& t) {
    switch (t.name) {
    case memory_transport::self:
        break;
    case memory_transport::sysv:
        return sysv_memory(t.segment);
    case memory_transport::posix:
        return posix_memory(t.segment);
    case memory_transport::cma:
        return cma_memory(t.segment);
    }
    return std::nullopt;
}

error refused_memory(std::string what) {
    return {errc::refused, std::move(what)};
}

} // namespace

result<void> check_memory(const worker_address& theirs, const worker_address& ours,
                          std::uint32_t process) {
    TROUPE_CHECK(theirs.transports.size() == ours.transports.size(), "the addresses are alike");
    bool names_some = false;
    for (std::size_t i = 0; i < ours.transports.size(); ++i) {
        if (ours.transports[i].name == memory_transport::self)
            continue; // has no memory that others reach
        const auto memory = memory_of(theirs.transports[i]);
        const auto own = memory_of(ours.transports[i]);
        if (!memory || !own)
            return refused_memory("it names no memory of this user's UCX");
        if (memory->bytes != own->bytes || memory->way != own->way ||
            !std::ranges::equal(memory->space, own->space))
            return refused_memory("it names memory of another size or kind than this node's");
        if (memory->process != process)
            return refused_memory("it names memory of another process");
        names_some = true;
    }
    return names_some ? result<void>{} : refused_memory("it names no memory");
}

worker_kind kind_of(const worker_address& own) {
    std::vector<std::byte> common;
    const auto add = [&](std::span<const std::byte> part) {
        const auto bytes = static_cast<std::uint32_t>(part.size());
        const auto length = std::as_bytes(std::span{&bytes, 1});
        common.insert(common.end(), length.begin(), length.end());
        common.insert(common.end(), part.begin(), part.end());
    };
    for (const worker_address::transport& t : own.transports) {
        const auto memory = memory_of(t).value_or(owned_memory{});
        const std::array<std::uint64_t, 5> numbers{
            static_cast<std::uint64_t>(t.name) << 16 |
                std::to_integer<std::uint64_t>(t.domain) << 8 |
                std::to_integer<std::uint64_t>(t.device_form),
            t.segment.size(), memory.bytes, memory.way, memory.space.size()};
        add(std::as_bytes(std::span{numbers}));
        add(t.device);
        add(t.traits);
        add(memory.space);
    }
    worker_kind kind;
    crypto_generichash(reinterpret_cast<unsigned char*>(kind.data()), kind.size(),
                       reinterpret_cast<const unsigned char*>(common.data()), common.size(),
                       nullptr, 0);
    return kind;
}

} // namespace troupe

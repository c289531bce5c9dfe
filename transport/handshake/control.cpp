#include "transport/handshake/control.hpp"

#include <capnp/message.h>
#include <capnp/serialize.h>

#include <cstring>
#include <string>

#include "schemas/base/limits.hpp"
#include "schemas/base/printable.hpp"
#include "transport/frame/wire.hpp"
#include "transport/handshake/role.hpp"

namespace troupe {

namespace {

// `what` may be a Cap'n Proto message that quotes received bytes.
error malformed_control(const std::string& what) {
    return {errc::protocol,
            "malformed control message: " + printable(what, limits::reason_bytes_max)};
}

capnp::Data::Reader as_data(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const kj::byte*>(bytes.data()), bytes.size()};
}

// False if they are not as many bytes.
template <std::size_t Size>
bool copy(capnp::Data::Reader from, std::array<std::byte, Size>& to) {
    if (from.size() != to.size())
        return false;
    std::memcpy(to.data(), from.begin(), to.size());
    return true;
}

void write(proto::Control::Builder out, const hello_message& m) {
    auto hello = out.initHello();
    hello.setVersion(wire::version);
    hello.setIdentity(as_data(m.identity.key));
    hello.setSignature(as_data(m.identity.signature));
    hello.setName(m.self.name);
    hello.setAddress(m.self.address);
    hello.setRole(to_proto(m.self.role));
    if (m.memory) {
        auto memory = hello.initMemory();
        memory.setProcess(m.memory->process);
        memory.setDescriptor(m.memory->descriptor);
        memory.setToken(as_data(m.memory->token));
    }
    hello.setRdma(m.rdma);
    hello.setTcp(m.tcp);
    hello.setUcxMajor(m.ucx.major);
    hello.setUcxMinor(m.ucx.minor);
    hello.setSeals(m.seals);
    hello.setPlain(m.plain);
}

void write(proto::Control::Builder out, const sight_message& m) {
    auto sight = out.initSight();
    sight.setMemory(m.memory);
    if (m.kind != worker_kind{})
        sight.setWorkerKind(as_data(m.kind));
}

void write(proto::Control::Builder out, const worker_message& m) {
    out.initWorker().setAddress(as_data(m.address));
}

void write(proto::Control::Builder out, verdict_message m) {
    auto verdict = out.initVerdict();
    if (m == verdict_message::accepted)
        verdict.setAccepted();
    else
        verdict.setDuplicate();
}

void write(proto::Control::Builder out, const goodbye_message& m) {
    out.initGoodbye().setFrames(m.frames);
}

void write(proto::Control::Builder out, alive_message) {
    out.setAlive();
}

void write(proto::Control::Builder out, wired_message) {
    out.setWired();
}

void write(proto::Control::Builder out, const given_up_message& m) {
    out.setGivenUp(printable(m.why, limits::reason_bytes_max));
}

void write(proto::Control::Builder out, const frames_message& m) {
    out.setFrames(as_data(m.token));
}

result<control_message> read(proto::Hello::Reader hello) {
    if (hello.getVersion() != wire::version)
        return error{errc::refused, "the other node speaks version " +
                                        std::to_string(hello.getVersion()) +
                                        ", this build version " + std::to_string(wire::version)};
    const std::string name = hello.getName();
    const std::string address = hello.getAddress();
    if (!is_printable_name(name, limits::name_bytes_max) ||
        !is_printable_name(address, limits::address_bytes_max))
        return malformed_control("a name or address that is empty, too long or not printable");
    const auto role = from_proto(hello.getRole());
    if (!role)
        return role.failure();
    hello_message m;
    m.self = {{}, name, address, *role};
    if (!copy(hello.getIdentity(), m.identity.key) ||
        !copy(hello.getSignature(), m.identity.signature))
        return malformed_control("an identity or a signature that is not one");
    if (hello.hasMemory()) {
        const auto memory = hello.getMemory();
        m.memory = {memory.getProcess(), memory.getDescriptor(), {}};
        if (!copy(memory.getToken(), m.memory->token))
            return malformed_control("a token of " + std::to_string(memory.getToken().size()) +
                                     " bytes");
    }
    m.rdma = hello.getRdma();
    m.tcp = hello.getTcp();
    m.ucx = {hello.getUcxMajor(), hello.getUcxMinor()};
    m.seals = hello.getSeals();
    m.plain = hello.getPlain();
    return control_message{std::move(m)};
}

result<control_message> read(proto::Sight::Reader sight) {
    sight_message m{sight.getMemory()};
    const auto kind = sight.getWorkerKind();
    if (kind.size() > 0 && !copy(kind, m.kind))
        return malformed_control("a kind of worker of " + std::to_string(kind.size()) + " bytes");
    return control_message{m};
}

result<control_message> read(proto::Worker::Reader worker) {
    const auto address = worker.getAddress();
    if (address.size() == 0 || address.size() > limits::worker_address_bytes_max)
        return malformed_control("a worker address of " + std::to_string(address.size()) +
                                 " bytes");
    worker_message m;
    m.address.resize(address.size());
    std::memcpy(m.address.data(), address.begin(), address.size());
    return control_message{std::move(m)};
}

result<control_message> read(proto::Verdict::Reader verdict) {
    switch (verdict.which()) {
    case proto::Verdict::ACCEPTED:
        return control_message{verdict_message::accepted};
    case proto::Verdict::DUPLICATE:
        return control_message{verdict_message::duplicate};
    }
    return malformed_control("unknown verdict");
}

} // namespace

std::vector<std::byte> write_control(const control_message& message) {
    capnp::MallocMessageBuilder builder;
    std::visit([&](const auto& m) { write(builder.initRoot<proto::Control>(), m); }, message);
    const auto words = capnp::messageToFlatArray(builder);
    const auto bytes = words.asBytes();
    const auto* first = reinterpret_cast<const std::byte*>(bytes.begin());
    return {first, first + bytes.size()};
}

result<control_message> read_control(std::span<const std::byte> in) {
    if (in.size() % sizeof(capnp::word) != 0 || in.size() > limits::control_bytes_max)
        return malformed_control("not a whole number of words");
    try {
        // Copied for alignment.
        auto words = kj::heapArray<capnp::word>(in.size() / sizeof(capnp::word));
        std::memcpy(static_cast<void*>(words.begin()), in.data(), in.size());
        capnp::FlatArrayMessageReader message{words, {limits::control_bytes_max, 8}};
        const auto control = message.getRoot<proto::Control>();
        switch (control.which()) {
        case proto::Control::HELLO:
            return read(control.getHello());
        case proto::Control::SIGHT:
            return read(control.getSight());
        case proto::Control::WORKER:
            return read(control.getWorker());
        case proto::Control::VERDICT:
            return read(control.getVerdict());
        case proto::Control::GOODBYE:
            return control_message{goodbye_message{control.getGoodbye().getFrames()}};
        case proto::Control::ALIVE:
            return control_message{alive_message{}};
        case proto::Control::WIRED:
            return control_message{wired_message{}};
        case proto::Control::FRAMES: {
            const auto token = control.getFrames();
            frames_message m;
            if (token.size() != m.token.size())
                return malformed_control("a token of " + std::to_string(token.size()) + " bytes");
            std::memcpy(m.token.data(), token.begin(), token.size());
            return control_message{m};
        }
        case proto::Control::GIVEN_UP: {
            const auto why = control.getGivenUp();
            return control_message{
                given_up_message{printable({why.begin(), why.size()}, limits::reason_bytes_max)}};
        }
        }
        return malformed_control("unknown kind");
    } catch (const kj::Exception& e) {
        return malformed_control(e.getDescription().cStr());
    }
}

} // namespace troupe

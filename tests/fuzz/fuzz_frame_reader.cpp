// Fuzz target: arbitrary bytes as a frame.
#include <cstring>

#include "tests/fuzz/target.hpp"
#include "transport/frame/wire.hpp"

namespace troupe::fuzz {

namespace {

memory_pool& pool() {
    static memory_pool p{1 << 26};
    return p;
}

tensor made(data_type type, const tensor_shape& shape) {
    tensor t = tensor::allocate(pool(), type, shape).value();
    std::memset(t.mutable_data(), 1, t.bytes());
    return t;
}

} // namespace

bool read(std::span<const std::byte> in) {
    const auto f = wire::deserialize(in, pool());
    if (!f) {
        check_refusal(f.failure());
        return false;
    }
    try {
        (void)(*f)->root().toString().flatten();
        (void)wire::serialize(**f);
    } catch (const kj::Exception&) {
    }
    return true;
}

std::vector<std::string> sound_inputs() {
    std::vector<std::string> all;
    for (const std::size_t reason_bytes : {10, 700, 9000}) { // one segment and several
        frame_builder<proto::Rejected> b;
        b.envelope().setWork(42);
        b.body().setReason(std::string(reason_bytes, 'r'));
        b.attach(made(data_type::uint8, {3}));
        b.attach(made(data_type::float32, {2, 5}));
        b.attach(made(data_type::int32, {0, 7}));
        b.attach(made(data_type::int32, {}));
        all.push_back(text_of(wire::serialize(*std::move(b).finish()).value()));
    }
    return all;
}

} // namespace troupe::fuzz

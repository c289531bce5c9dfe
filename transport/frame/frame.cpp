#include "transport/frame/frame.hpp"

#include <cstring>
#include <string>

namespace troupe {

std::size_t frame::tensor_bytes() const noexcept {
    std::size_t sum = 0;
    for (const tensor& t : tensors_)
        sum += t.bytes();
    return sum;
}

std::size_t frame::bytes() const {
    std::size_t sum = tensor_bytes();
    for (const auto& segment : segments())
        sum += segment.size() * sizeof(capnp::word);
    return sum;
}

actor_address frame::from() const {
    const auto from = envelope().getFrom();
    return {node_id{from.getNode()}, actor_number{from.getActor()}};
}

actor_address frame::to() const {
    const auto to = envelope().getTo();
    return {node_id{to.getNode()}, actor_number{to.getActor()}};
}

namespace {

// Not inlined: for a size known at compile time GCC emits `rep stos`, which is slower than the library's memset.
[[gnu::noipa]] kj::ArrayPtr<capnp::word> zeroed(capnp::word* words, std::size_t count) {
    std::memset(static_cast<void*>(words), 0, count * sizeof(capnp::word));
    return {words, count};
}

} // namespace

built_frame::built_frame()
    : message_{zeroed(first_segment_, inline_words)}, builder_{message_.initRoot<proto::Frame>()} {
    builder_.initEnvelope();
}

void built_frame::freeze(std::uint64_t body_type) {
    builder_.setBodyType(body_type);
    if (!tensors_.empty()) {
        auto list = builder_.initTensors(static_cast<unsigned>(tensors_.size()));
        for (unsigned i = 0; i < list.size(); ++i) {
            const tensor& t = tensors_[i];
            auto descriptor = list[i];
            descriptor.setType(to_proto(t.type()));
            descriptor.setBytes(t.bytes());
            auto shape = descriptor.initShape(static_cast<unsigned>(t.shape().rank()));
            for (unsigned axis = 0; axis < shape.size(); ++axis)
                shape.set(axis, t.shape()[axis]);
        }
    }
    body_type_ = body_type;
    root_ = builder_.asReader();
}

kj::ArrayPtr<const kj::ArrayPtr<const capnp::word>> built_frame::segments() const {
    return message_.getSegmentsForOutput();
}

proto::DataType to_proto(data_type type) noexcept {
    switch (type) {
    case data_type::float32:
        return proto::DataType::FLOAT32;
    case data_type::uint8:
        return proto::DataType::UINT8;
    case data_type::int32:
        return proto::DataType::INT32;
    case data_type::float64:
        return proto::DataType::FLOAT64;
    case data_type::int64:
        return proto::DataType::INT64;
    }
    check_failed("known data type", __FILE__, __LINE__, "every data type has a schema value");
}

result<data_type> from_proto(proto::DataType type) {
    switch (type) {
    case proto::DataType::FLOAT32:
        return data_type::float32;
    case proto::DataType::UINT8:
        return data_type::uint8;
    case proto::DataType::INT32:
        return data_type::int32;
    case proto::DataType::FLOAT64:
        return data_type::float64;
    case proto::DataType::INT64:
        return data_type::int64;
    }
    return error{errc::protocol,
                 "unknown tensor data type " + std::to_string(static_cast<int>(type))};
}

} // namespace troupe

// Small models for tests, and a device-less context to run them in.
#pragma once

#include <capnp/message.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

#include "kernels/graph/stage_program.hpp"
#include "kernels/ops/ops.hpp"
#include "schemas/base/random.hpp"

namespace troupe::test {

// Builds a proto::Model layer by layer; without an input, the layers of a block.
class model_builder {
  public:
    model_builder() = default;
    explicit model_builder(std::initializer_list<std::uint32_t> input) : input_{input} {}

    // A layer of any kind.
    model_builder& layer(std::function<void(proto::Layer::Builder)> describe) {
        add_.push_back(std::move(describe));
        return *this;
    }
    model_builder& conv2d(std::uint32_t out, std::uint32_t kernel, std::uint32_t stride,
                          std::uint32_t padding) {
        add_.push_back([=](proto::Layer::Builder layer) {
            auto conv = layer.initConv2d();
            conv.setOut(out);
            conv.setKernel(kernel);
            conv.setStride(stride);
            conv.setPadding(padding);
        });
        return *this;
    }
    model_builder& relu() {
        add_.push_back([](proto::Layer::Builder layer) { layer.setRelu(); });
        return *this;
    }
    model_builder& gelu() {
        add_.push_back([](proto::Layer::Builder layer) { layer.setGelu(); });
        return *this;
    }
    model_builder& tanh() {
        add_.push_back([](proto::Layer::Builder layer) { layer.setTanh(); });
        return *this;
    }
    model_builder& gru(std::uint32_t out, bool last = false) {
        add_.push_back([=](proto::Layer::Builder layer) { set(layer.initGru(), out, last); });
        return *this;
    }
    model_builder& lstm(std::uint32_t out, bool last = false) {
        add_.push_back([=](proto::Layer::Builder layer) { set(layer.initLstm(), out, last); });
        return *this;
    }
    model_builder& max_pool(std::uint32_t kernel, std::uint32_t stride = 0) {
        add_.push_back([=](proto::Layer::Builder layer) {
            auto pool = layer.initMaxPool();
            pool.setKernel(kernel);
            pool.setStride(stride);
        });
        return *this;
    }
    model_builder& linear(std::uint32_t out) {
        add_.push_back([=](proto::Layer::Builder layer) { layer.initLinear().setOut(out); });
        return *this;
    }
    model_builder& embedding(std::uint32_t vocabulary, std::uint32_t width) {
        add_.push_back([=](proto::Layer::Builder layer) {
            auto table = layer.initEmbedding();
            table.setVocabulary(vocabulary);
            table.setWidth(width);
            table.setDeviation(1);
        });
        return *this;
    }
    model_builder& flatten() {
        add_.push_back([](proto::Layer::Builder layer) { layer.setFlatten(); });
        return *this;
    }
    model_builder& residual(const model_builder& body) { return residual(body, model_builder{}); }
    model_builder& residual(const model_builder& body, const model_builder& shortcut) {
        add_.push_back([=](proto::Layer::Builder layer) {
            auto block = layer.initResidual();
            body.write(block.initLayers(body.size()));
            shortcut.write(block.initShortcut(shortcut.size()));
        });
        return *this;
    }
    model_builder& concat(const std::vector<model_builder>& branches) {
        add_.push_back([=](proto::Layer::Builder layer) {
            auto list = layer.initConcat().initBranches(static_cast<unsigned>(branches.size()));
            for (unsigned b = 0; b < list.size(); ++b)
                branches[b].write(list[b].initLayers(branches[b].size()));
        });
        return *this;
    }
    model_builder& repeat(std::uint32_t times, const model_builder& body) {
        add_.push_back([=](proto::Layer::Builder layer) {
            auto block = layer.initRepeat();
            block.setTimes(times);
            body.write(block.initLayers(body.size()));
        });
        return *this;
    }
    model_builder& recompute(const model_builder& body) {
        add_.push_back([=](proto::Layer::Builder layer) {
            body.write(layer.initRecompute().initLayers(body.size()));
        });
        return *this;
    }

    model_builder& precision(proto::Precision precision) {
        precision_ = precision;
        return *this;
    }

    // Valid as long as the builder.
    proto::Model::Reader build() {
        auto model = message_->initRoot<proto::Model>();
        auto input = model.initInput(static_cast<unsigned>(input_.size()));
        for (unsigned i = 0; i < input_.size(); ++i)
            input.set(i, input_[i]);
        write(model.initLayers(size()));
        model.setPrecision(precision_);
        return model.asReader();
    }

    // The layers of another behind these.
    model_builder& append(const model_builder& more) {
        add_.insert(add_.end(), more.add_.begin(), more.add_.end());
        return *this;
    }

    // For layers that hold others.
    unsigned size() const { return static_cast<unsigned>(add_.size()); }
    void write(capnp::List<proto::Layer>::Builder layers) const {
        for (unsigned i = 0; i < size(); ++i)
            add_[i](layers[i]);
    }

  private:
    static void set(proto::Recurrent::Builder recurrent, std::uint32_t out, bool last) {
        recurrent.setOut(out);
        recurrent.setLast(last);
    }

    std::vector<std::uint32_t> input_;
    proto::Precision precision_ = proto::Precision::F32;
    std::vector<std::function<void(proto::Layer::Builder)>> add_;
    std::shared_ptr<capnp::MallocMessageBuilder> message_ =
        std::make_shared<capnp::MallocMessageBuilder>();
};

// Uniform in -1..1.
inline tensor random_tensor(memory_pool& pool, const tensor_shape& shape, std::uint64_t seed) {
    tensor t = tensor::allocate(pool, data_type::float32, shape).value();
    random_stream random{seed};
    for (float& x : t.mutable_values<float>())
        x = static_cast<float>(random.uniform() * 2 - 1);
    return t;
}

inline tensor labels(memory_pool& pool, std::size_t count, std::uint64_t classes,
                     std::uint64_t seed) {
    tensor t = tensor::allocate(pool, data_type::int32, {count}).value();
    random_stream random{seed};
    for (auto& x : t.mutable_values<std::int32_t>())
        x = static_cast<std::int32_t>(random.below(classes));
    return t;
}

inline bool bit_equal(const tensor& a, const tensor& b) {
    return a.shape() == b.shape() && a.type() == b.type() &&
           std::equal(a.data(), a.data() + a.bytes(), b.data());
}

} // namespace troupe::test

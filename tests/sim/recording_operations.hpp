// Operations that write down every update of weights that a device makes, and every scaled addition.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "kernels/ops/ops.hpp"

namespace troupe::test {

class recording_operations final : public operations {
  public:
    struct update {
        std::vector<float> before, after; // of one tensor
    };

    struct addition {
        float factor;
        std::vector<float> sum;
    };

    explicit recording_operations(operations& all) : all_{all} {}

    std::string_view name() const noexcept override { return "recording"; }
    std::size_t channel_block(std::size_t channels) const noexcept override {
        return all_.channel_block(channels);
    }

    // In their order: of the tensors of a version one after the other.
    const std::vector<update>& updates() const noexcept { return updates_; }
    const std::vector<addition>& additions() const noexcept { return additions_; }

  private:
#define TROUPE_PASS_ON(type)                                                                       \
    result<void> compute(const type& op) override {                                                \
        return note(op);                                                                           \
    }
    TROUPE_OPERATIONS(TROUPE_PASS_ON)
#undef TROUPE_PASS_ON

    template <class Operation>
    result<void> note(const Operation& op) {
        return all_.run(op);
    }
    template <class Settings>
    result<void> note(const weight_update<Settings>& op) {
        std::vector<float> before = values_of(op.operands.weight); // which may be written over
        auto done = all_.run(op);
        updates_.push_back({std::move(before), values_of(op.operands.new_weight)});
        return done;
    }
    result<void> note(const add_scaled& op) {
        auto done = all_.run(op);
        additions_.push_back({op.factor, values_of(op.sum)});
        return done;
    }
    static std::vector<float> values_of(const tensor& t) {
        return {t.values<float>().begin(), t.values<float>().end()};
    }

    operations& all_;
    std::vector<update> updates_;
    std::vector<addition> additions_;
};

} // namespace troupe::test

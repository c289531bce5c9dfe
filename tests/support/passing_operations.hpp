// Operations that pass everything on to others, and then do what a test wants.
#pragma once

#include "kernels/ops/ops.hpp"

namespace troupe::test {

// Derived has after(op) for every operation: a template that does nothing, and overloads for those it looks at.
template <class Derived>
class passing_operations : public operations {
  public:
    explicit passing_operations(operations& to) : to_{to} {}

    std::string_view name() const noexcept override { return "passing"; }
    std::size_t channel_block(std::size_t channels) const noexcept override {
        return to_.channel_block(channels);
    }

  private:
#define TROUPE_PASS_ON(type)                                                                       \
    result<void> compute(const type& op) override {                                                \
        auto done = to_.run(op);                                                                   \
        static_cast<Derived&>(*this).after(op);                                                    \
        return done;                                                                               \
    }
    TROUPE_OPERATIONS(TROUPE_PASS_ON)
#undef TROUPE_PASS_ON

    operations& to_;
};

} // namespace troupe::test

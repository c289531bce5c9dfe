// Settings of the program "lasso", as plain values.
#pragma once

#include <cstdint>
#include <optional>

#include "actors/scheduled/program.hpp"
#include "schemas/base/error.hpp"

namespace troupe::lasso {

enum class loss_kind : std::uint8_t { squared, logistic };
enum class penalty_kind : std::uint8_t { lambda, share, path };

struct lasso_settings {
    penalty_kind penalty = penalty_kind::lambda;
    double size = 0; // lambda, a share of the largest one, or the last of a path as such a share
    std::uint32_t count = 1; // values of a path
    double ratio = 1;        // share of the L1 penalty
    bool intercept = true;
    std::optional<double> label; // one class against the rest
    loss_kind loss = loss_kind::squared;

    bool is_logistic() const noexcept { return loss == loss_kind::logistic; }
};

// As app files and summaries have it.
inline const char* name_of(loss_kind loss) noexcept {
    return loss == loss_kind::logistic ? "logistic" : "squared";
}

// errc::protocol if it is not a LassoSettings.
result<lasso_settings> read_settings(capnp::AnyPointer::Reader settings);

// Checks what the schema cannot, before memory is taken.
result<void> check(const scheduled::program_site& site);

} // namespace troupe::lasso

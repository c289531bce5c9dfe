// Expected failure, as a value.
//
// An `error` is a code that programs act on and one sentence that tells the user what is wrong, where, and what
// to do. A function that can fail for reasons outside Troupe's control returns `result<T>`; a bug is a TROUPE_CHECK.
// Whoever first decides that something is an error logs it, once; everybody else passes it on.
//
// Values: copyable, no sharing between threads without synchronisation.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "schemas/base/check.hpp"

namespace troupe {

// The kind of a failure. The command line maps it to its exit code.
enum class errc : std::uint8_t {
    usage,       // the command line or app file is wrong: the user mends it and tries again
    data,        // an input file is missing, truncated or not what it claims to be
    io,          // the operating system refused: disk full, port in use, permission
    unreachable, // nobody answers at an address
    refused,     // the peer answered and said no: wrong key, wrong version
    lost,        // a peer or an actor that was there is gone
    protocol,    // a peer sent what the protocol does not allow
    exhausted,   // a named limit of Troupe was reached: memory pool, queue
    cancelled,   // the user or the owner asked to stop
    numeric,     // the computation produced no usable number
};

std::string_view to_string(errc code) noexcept;

class [[nodiscard]] error {
  public:
    error(errc code, std::string message) : code_{code}, message_{std::move(message)} {}

    errc code() const noexcept { return code_; }
    const std::string& message() const noexcept { return message_; }

    // The same failure with a prefix that says where it happened: "PREFIX: MESSAGE".
    error in(std::string_view where) const;

  private:
    errc code_;
    std::string message_;
};

// Either a T or an error. Reading the wrong one is a bug.
template <class T>
class [[nodiscard]] result {
  public:
    result(T value) : state_{std::in_place_index<0>, std::move(value)} {}
    result(error failure) : state_{std::in_place_index<1>, std::move(failure)} {}

    bool ok() const noexcept { return state_.index() == 0; }
    explicit operator bool() const noexcept { return ok(); }

    T& value() & {
        TROUPE_CHECK(ok(), "read the value of a failed result");
        return std::get<0>(state_);
    }
    const T& value() const& {
        TROUPE_CHECK(ok(), "read the value of a failed result");
        return std::get<0>(state_);
    }
    T&& value() && {
        TROUPE_CHECK(ok(), "read the value of a failed result");
        return std::get<0>(std::move(state_));
    }
    T& operator*() & { return value(); }
    const T& operator*() const& { return value(); }
    T* operator->() { return &value(); }
    const T* operator->() const { return &value(); }

    const error& failure() const {
        TROUPE_CHECK(!ok(), "read the error of a successful result");
        return std::get<1>(state_);
    }

  private:
    std::variant<T, error> state_;
};

// Success without a value, or an error.
template <>
class [[nodiscard]] result<void> {
  public:
    result() = default;
    result(error failure) : failure_{std::move(failure)} {}

    bool ok() const noexcept { return !failure_.has_value(); }
    explicit operator bool() const noexcept { return ok(); }
    const error& failure() const {
        TROUPE_CHECK(!ok(), "read the error of a successful result");
        return *failure_;
    }

  private:
    std::optional<error> failure_;
};

} // namespace troupe

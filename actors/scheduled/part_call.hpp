// A call of what the author of a program has written. An exception that it throws becomes a failure with a sentence, which
// ends the run as a failure that it returns does: a new actor in the place of this one would only throw again, and on a
// device the exception would end the node.
//
//     auto changes = call_part("pull", number, [&] { return part.pull(own, deltas, partials); });
//
// Threads: pure.
#pragma once

#include <concepts>
#include <cstdint>
#include <exception>
#include <new>
#include <optional>
#include <string>
#include <type_traits>

#include "schemas/base/error.hpp"

namespace troupe::scheduled {

// A call with a value that is no result makes one.
template <class T>
struct called {
    using type = result<T>;
};
template <class T>
struct called<result<T>> {
    using type = result<T>;
};

inline error has_thrown(const char* name, std::optional<std::uint64_t> phase, const char* what) {
    std::string sentence = name;
    if (phase)
        sentence += " of phase " + std::to_string(*phase);
    sentence += " of the program has thrown an exception";
    return {errc::numeric,
            sentence + (*what == '\0' ? " without a text" : ": " + std::string{what})};
}

template <std::invocable Call>
auto call_part(const char* name, std::optional<std::uint64_t> phase, Call&& call) ->
    typename called<std::invoke_result_t<Call>>::type {
    try {
        return call();
    } catch (const std::bad_alloc&) {
        return error{errc::exhausted, std::string{name} + " of the program: no memory is left"};
    } catch (const std::exception& thrown) {
        return has_thrown(name, phase, thrown.what());
    } catch (...) {
        return has_thrown(name, phase, "it is no std::exception");
    }
}
template <std::invocable Call>
auto call_part(const char* name, Call&& call) {
    return call_part(name, std::nullopt, std::forward<Call>(call));
}

// Calls a function of the program's row, outside of a run: the sentence names the program. The call's result stays as it is.
template <std::invocable Call>
auto call_program(const std::string& program, const char* name, Call&& call) ->
    typename called<std::invoke_result_t<Call>>::type {
    auto done = call_part(name, [&] { return std::optional{call()}; });
    if (!done)
        return done.failure().in("program " + program);
    return std::move(**done);
}

} // namespace troupe::scheduled

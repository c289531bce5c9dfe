#include "transport/node/memory_mark.hpp"

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>

#include <functional>
#include <iostream>
#include <optional>

using namespace troupe;

namespace {

const node_id self{7};

enum class sight : int { sees, sees_nothing, cannot_be_tried };

// Of another process, which is `become` first.
sight of_process(const memory_mark& mark, const std::function<bool()>& become) {
    const pid_t child = fork();
    BOOST_TEST_REQUIRE(child >= 0);
    if (child == 0)
        _exit(static_cast<int>(!become()             ? sight::cannot_be_tried
                               : is_seen(mark, self) ? sight::sees
                                                     : sight::sees_nothing));
    int status = 0;
    BOOST_TEST_REQUIRE(waitpid(child, &status, 0) == child);
    BOOST_TEST_REQUIRE(WIFEXITED(status));
    return static_cast<sight>(WEXITSTATUS(status));
}

} // namespace

BOOST_AUTO_TEST_SUITE(memory_marks)

BOOST_AUTO_TEST_CASE(a_mark_is_seen_by_whom_shares_memory_while_it_is_held) {
    std::optional<own_memory_mark> held{own_memory_mark::create(self).value()};
    const memory_mark where = held->where();
    BOOST_TEST(is_seen(where, self));
    BOOST_TEST((of_process(where, [] { return true; }) == sight::sees));
    held.reset();
    BOOST_TEST(!is_seen(where, self));
    BOOST_TEST((own_memory_mark::create(self)->where().token != where.token));
}

BOOST_AUTO_TEST_CASE(what_a_stranger_makes_up_is_not_seen) {
    const auto own = own_memory_mark::create(self).value();
    const auto with = [&](auto change) {
        memory_mark m = own.where();
        change(m);
        return is_seen(m, self);
    };
    BOOST_TEST(with([](auto&) {}));
    BOOST_TEST(!is_seen(own.where(), node_id{8})); // another node passes it on
    BOOST_TEST(!with([](auto& m) { m.token[31] ^= std::byte{1}; }));
    BOOST_TEST(!with([](auto& m) { m.descriptor = 0; }));
    BOOST_TEST(!with([](auto& m) { m.descriptor = ~0u; }));
    BOOST_TEST(!with([](auto& m) { m.process = 0; }));
    BOOST_TEST(!with([](auto& m) { m.process = ~0u; }));
    BOOST_TEST(!with([](auto& m) { m.process = static_cast<std::uint32_t>(getppid()); }));
}

BOOST_AUTO_TEST_CASE(who_has_another_namespace_or_another_user_sees_nothing) {
    const auto own = own_memory_mark::create(self).value();
    const auto is_blind = [&](const char* what, const std::function<bool()>& become) {
        const sight s = of_process(own.where(), become);
        if (s == sight::cannot_be_tried)
            std::cout << "skipped: " << what << ", which needs root" << std::endl;
        else
            BOOST_TEST((s == sight::sees_nothing), what);
    };
    is_blind("another namespace of IPC", [] { return unshare(CLONE_NEWIPC) == 0; });
    is_blind("another network namespace", [] { return unshare(CLONE_NEWNET) == 0; });
    is_blind("another user", [] { return setgid(65534) == 0 && setuid(65534) == 0; });
}

BOOST_AUTO_TEST_SUITE_END()

// Device work of an actor, and what follows it.
#include <boost/test/unit_test.hpp>

#include "actors/runtime/work_queue.hpp"
#include "tests/support/puppet.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

struct worker_log {
    std::vector<std::string> lines;
};

// Submits what a test says at each Probe.
class working_actor final : public actor {
  public:
    working_actor(actor_context& context, std::deque<std::function<void(work_queue&)>>& script,
                  worker_log& log)
        : actor{context}, script_{script}, work_{*this, [&log](const std::string& label,
                                                               const error& why) {
                                                     log.lines.push_back(
                                                         label + " failed: " + why.message());
                                                 }} {
        on<proto::Probe>(&working_actor::act);
    }

  private:
    void act(proto::Probe::Reader, const frame&) {
        script_.front()(work_);
        script_.pop_front();
    }
    std::deque<std::function<void(work_queue&)>>& script_;
    work_queue work_;
};

struct one_worker : puppet_stage {
    std::deque<std::function<void(work_queue&)>> script;
    worker_log log;
    actor_address worker = node.spawn<working_actor>("worker", script, log);

    void act(std::function<void(work_queue&)> line) {
        script.push_back(std::move(line));
        node.send(worker, frame_builder<proto::Probe>{});
        settle();
    }
    work_queue::piece piece(const std::string& label, std::uint64_t minibatch = 0) {
        return {.label = label,
                .number = minibatch_id{minibatch},
                .cost = 1e9,
                .work = [](compute_context&) -> result<void> { return {}; },
                .then = [this, label] { log.lines.push_back(label); }};
    }
};

} // namespace

BOOST_AUTO_TEST_SUITE(work_queues)

BOOST_AUTO_TEST_CASE(what_follows_comes_in_the_order_of_submission_and_the_trace_has_it) {
    one_worker w;
    w.act([&](work_queue& work) {
        BOOST_TEST(work.is_idle());
        work.submit(w.compute, w.piece("first", 3));
        work.submit(w.compute, w.piece("second", 4));
        BOOST_TEST(!work.is_idle());
        BOOST_TEST(w.log.lines.empty()); // nothing happens in the handler
    });
    const std::vector<std::string> expected{"first", "second"};
    BOOST_TEST(w.log.lines == expected, boost::test_tools::per_element());
    BOOST_TEST(w.traced("first", 3) == 1u);
    BOOST_TEST(w.traced("second", 4) == 1u);
    BOOST_TEST(w.traced("", 0) == 0u);
}

BOOST_AUTO_TEST_CASE(a_failure_comes_in_the_place_of_what_follows) {
    one_worker w;
    w.act([&](work_queue& work) {
        auto fails = w.piece("sum");
        fails.work = [](compute_context&) -> result<void> {
            return error{errc::exhausted, "no memory"};
        };
        work.submit(w.compute, std::move(fails));
        work.submit(w.compute, w.piece("next"));
    });
    const std::vector<std::string> expected{"sum failed: no memory", "next"};
    BOOST_TEST(w.log.lines == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(what_follows_may_submit_more_and_sees_its_own_device_time) {
    one_worker w;
    w.act([&](work_queue& work) {
        auto p = w.piece("first");
        p.then = [&w, &work] {
            BOOST_TEST(work.is_idle());
            BOOST_TEST(work.busy().count() > 0);
            work.submit(w.compute, w.piece("second"));
        };
        work.submit(w.compute, std::move(p));
    });
    const std::vector<std::string> expected{"second"};
    BOOST_TEST(w.log.lines == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(nothing_follows_what_is_forgotten) {
    one_worker w;
    w.act([&](work_queue& work) {
        work.submit(w.compute, w.piece("old"));
        work.forget();
        work.submit(w.compute, w.piece("new"));
    });
    const std::vector<std::string> expected{"new"};
    BOOST_TEST(w.log.lines == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

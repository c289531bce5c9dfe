// The order of a scheduler's steps, and what it refuses.
#include <boost/test/unit_test.hpp>

#include <deque>

#include "actors/scheduled/phase_ledger.hpp"
#include "schemas/base/random.hpp"

using namespace troupe;
using namespace troupe::scheduled;

namespace {

using steps = std::vector<std::pair<step::kind, std::uint64_t>>;

std::string text(const steps& all) {
    static const char* const names[] = {"wait", "schedule", "save",  "stop",
                                        "pull", "absorb",   "judge", "conclude"};
    std::string made;
    for (const auto& [what, number] : all)
        made += std::string{names[what]} + " " + std::to_string(number) + "\n";
    return made;
}

bool is_probe(std::uint64_t number) {
    return number % 5 == 4;
}

// Schedulers and workers as values; messages between them wait in a list, from which any is delivered next.
class exchange_of_messages {
  public:
    exchange_of_messages(ledger_shape shape, std::uint64_t seed) : shape_{shape}, random_{seed} {
        for (shape.scheduler = 0; shape.scheduler < shape.schedulers; ++shape.scheduler)
            ledgers_.emplace_back(shape);
        done_.resize(shape.schedulers);
    }

    // Until every scheduler has folded so many phases. Returns the steps of each.
    const std::vector<steps>& run(std::uint64_t phases) {
        for (std::uint32_t s = 0; s < shape_.schedulers; ++s)
            go_on(s, phases);
        while (!waiting_.empty()) {
            const std::size_t at = random_.below(waiting_.size());
            const auto deliver = std::move(waiting_[at]);
            waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(at));
            go_on(deliver(), phases);
        }
        for (const phase_ledger& l : ledgers_)
            BOOST_TEST(l.folded() >= phases);
        return done_;
    }

  private:
    void go_on(std::uint32_t s, std::uint64_t phases) {
        phase_ledger& l = ledgers_[s];
        for (step next = l.next(); next.what != step::wait && l.folded() < phases;
             next = l.next()) {
            done_[s].push_back({next.what, next.number});
            const phase_header header{next.number, is_probe(next.number)};
            switch (next.what) {
            case step::schedule:
                l.scheduled({next.number, is_probe(next.number), {}});
                for (std::uint32_t w = 0; w < shape_.workers; ++w)
                    partials_of(s, w, header);
                break;
            case step::pull:
                deltas_of(s, header);
                l.folded({});
                break;
            case step::absorb:
            case step::conclude:
                l.folded({});
                break;
            case step::judge:
                deltas_of(s, header);
                l.judged({});
                break;
            default:
                BOOST_FAIL("no phase is marked");
            }
        }
    }
    void partials_of(std::uint32_t scheduler, std::uint32_t worker, const phase_header& of) {
        for (std::uint32_t s = 0; s < shape_.schedulers; ++s)
            if (of.is_probe || s == scheduler)
                waiting_.push_back([this, s, worker, of] {
                    BOOST_TEST(ledgers_[s].take_partial(worker, of, {}).ok());
                    return s;
                });
    }
    void deltas_of(std::uint32_t scheduler, const phase_header& of) {
        for (std::uint32_t s = 0; s < shape_.schedulers; ++s)
            if (s != scheduler)
                waiting_.push_back([this, s, scheduler, of] {
                    BOOST_TEST(ledgers_[s].take_deltas(scheduler, of, {}).ok());
                    return s;
                });
    }

    ledger_shape shape_;
    random_stream random_;
    std::vector<phase_ledger> ledgers_;
    std::vector<steps> done_;
    std::deque<std::function<std::uint32_t()>> waiting_;
};

// What the header promises.
steps promised(const ledger_shape& shape, std::uint32_t scheduler, std::uint64_t phases) {
    steps all;
    const auto choose = [&](std::uint64_t number) {
        if (number % shape.schedulers == scheduler)
            all.push_back({step::schedule, number});
    };
    for (std::uint64_t number = 0; number <= shape.window; ++number)
        choose(number);
    for (std::uint64_t m = 0; m < phases; ++m) {
        if (is_probe(m)) {
            all.push_back({step::judge, m});
            all.push_back({step::conclude, m});
        } else {
            all.push_back({m % shape.schedulers == scheduler ? step::pull : step::absorb, m});
        }
        if (m + 1 < phases)
            choose(m + shape.window + 1);
    }
    return all;
}

} // namespace

BOOST_AUTO_TEST_SUITE(phase_ledgers)

BOOST_AUTO_TEST_CASE(the_order_of_steps_does_not_depend_on_that_of_messages) {
    for (const std::uint32_t schedulers : {1u, 2u, 3u})
        for (const std::uint32_t window : {0u, 1u, 2u, 5u})
            for (std::uint64_t seed = 0; seed < 20; ++seed) {
                const ledger_shape shape{0, schedulers, 3, window};
                exchange_of_messages all{shape, seed};
                const auto& done = all.run(30);
                for (std::uint32_t s = 0; s < schedulers; ++s)
                    BOOST_REQUIRE_MESSAGE(done[s] == promised(shape, s, 30),
                                          "scheduler " << s << " of " << schedulers << ", window "
                                                       << window << ":\n"
                                                       << text(done[s]));
            }
}

BOOST_AUTO_TEST_CASE(deltas_in_flight_are_those_of_the_window) {
    phase_ledger ledger{{0, 1, 1, 2}};
    for (std::uint64_t number = 0; number < 6; ++number) {
        while (ledger.next().what == step::schedule) {
            const std::uint64_t chosen = ledger.next().number;
            const phase_deltas* due = ledger.due_with(chosen);
            BOOST_TEST((due != nullptr) == (chosen >= 3));
            if (due != nullptr)
                BOOST_TEST(due->number == chosen - 3);
            ledger.scheduled({chosen, false, {}});
        }
        BOOST_TEST(ledger.take_partial(0, {number}, {}).ok());
        BOOST_TEST((ledger.next().what == step::pull));
        std::vector<std::uint64_t> numbers;
        for (const phase_deltas& d : ledger.in_flight(number))
            numbers.push_back(d.number);
        std::vector<std::uint64_t> expected;
        for (std::uint64_t n = number < 2 ? 0 : number - 2; n < number; ++n)
            expected.push_back(n);
        BOOST_TEST(numbers == expected, boost::test_tools::per_element());
        ledger.folded({});
    }
}

BOOST_AUTO_TEST_CASE(the_window_of_a_rotation_counts_turns) {
    for (const rotation& ring : {rotation{1, 1}, rotation{1, 3}, rotation{2, 2}, rotation{3, 1}})
        for (const std::uint32_t window : {0u, 1u, 2u, 7u}) {
            const staleness bound{window, ring};
            std::vector<std::uint64_t> turns; // before phase k
            for (std::uint64_t k = 0; k < 40; ++k) {
                const std::uint64_t applied =
                    turns.size() > window ? turns[turns.size() - window - 1] + 1 : 0;
                BOOST_TEST(bound.applied_before(k) == applied);
                // Each turn's deltas are due once, in order.
                if (const auto due = bound.due_with(k))
                    BOOST_TEST(*due == applied - 1);
                else
                    BOOST_TEST((k == 0 || applied == bound.applied_before(k - 1)));
                BOOST_TEST(bound.applied_before(bound.first_after(k)) > k);
                BOOST_TEST(bound.applied_before(bound.first_after(k) - 1) <= k);
                if (!ring.is_probe(k))
                    turns.push_back(k);
            }
        }
}

BOOST_AUTO_TEST_CASE(turns_do_not_wait_for_a_probe) {
    phase_ledger ledger{{0, 1, 2, 1, rotation{2, 2}}}; // phase 4 is a probe
    const auto choose = [&] {
        for (step next = ledger.next(); next.what == step::schedule; next = ledger.next())
            ledger.scheduled({next.number, next.number == 4, {}});
    };
    for (std::uint64_t number = 0; number < 4; ++number) {
        choose();
        for (const std::uint32_t worker : {0u, 1u})
            BOOST_TEST(ledger.take_partial(worker, {number}, {}).ok());
        ledger.folded({});
    }
    choose();
    // Both workers may compute the next two turns before any has come to the probe.
    BOOST_TEST(ledger.own(6).number == 6u);
    BOOST_TEST(ledger.due_with(6)->number == 3u);
    BOOST_TEST((ledger.due_with(5) == nullptr));
    BOOST_TEST((ledger.next().what == step::wait));
}

BOOST_AUTO_TEST_CASE(a_marked_phase_is_saved_once_and_a_stopped_one_ends) {
    phase_ledger ledger{{0, 1, 1, 0}};
    ledger.scheduled({0, false, {}}, phase_mark::save);
    BOOST_TEST((ledger.next().what == step::save));
    ledger.saved();
    BOOST_TEST((ledger.next().what == step::wait));
    BOOST_TEST(ledger.take_partial(0, {0, false, phase_mark::save}, {}).ok());
    BOOST_TEST((ledger.next().what == step::pull));
    ledger.folded({});
    ledger.scheduled({1, false, {}}, phase_mark::stop);
    BOOST_TEST((ledger.next().what == step::stop));
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_is_refused_and_changes_nothing) {
    phase_ledger ledger{{0, 2, 2, 1}};
    BOOST_TEST(!ledger.take_partial(0, {0}, {}).ok()); // not sent yet
    ledger.scheduled({0, false, {}});
    BOOST_TEST(!ledger.take_partial(2, {0}, {}).ok());       // no such worker
    BOOST_TEST(!ledger.take_partial(0, {1}, {}).ok());       // another scheduler's
    BOOST_TEST(!ledger.take_partial(0, {0, true}, {}).ok()); // it is no probe
    BOOST_TEST(!ledger.take_partial(0, {1000}, {}).ok());    // too far ahead
    BOOST_TEST(ledger.take_partial(0, {0}, {}).ok());
    BOOST_TEST(!ledger.take_partial(0, {0}, {}).ok());      // twice
    BOOST_TEST(!ledger.take_deltas(0, {1}, {}).ok());       // from itself
    BOOST_TEST(!ledger.take_deltas(1, {0}, {}).ok());       // of another's phase
    BOOST_TEST(!ledger.take_deltas(2, {1, true}, {}).ok()); // no such scheduler
    BOOST_TEST(ledger.take_deltas(1, {1}, {}).ok());
    BOOST_TEST(!ledger.take_deltas(1, {1}, {}).ok());
    BOOST_TEST((ledger.next().what == step::wait)); // for worker 1
    BOOST_TEST(ledger.take_partial(1, {0}, {}).ok());
    BOOST_TEST((ledger.next().what == step::pull));
    ledger.folded({});
    BOOST_TEST(!ledger.take_partial(1, {0}, {}).ok()); // it is over
}

// Of those that the lost worker may have sent: they are the same. Of no others.
BOOST_AUTO_TEST_CASE(what_a_replaced_worker_computes_anew_is_taken_once) {
    phase_ledger ledger{{0, 1, 2, 1}};
    ledger.scheduled({0, false, {}});
    ledger.scheduled({1, true, {}});
    for (const std::uint32_t worker : {0u, 1u})
        BOOST_TEST(ledger.take_partial(worker, {0}, {}).ok());
    BOOST_TEST(ledger.take_partial(0, {1, true}, {}).ok());
    ledger.folded({});
    ledger.worker_replaced(0);
    BOOST_TEST(ledger.take_partial(0, {0}, {}).ok());         // it has been folded
    BOOST_TEST(ledger.take_partial(0, {1, true}, {}).ok());   // it is there
    BOOST_TEST(!ledger.take_partial(1, {0}, {}).ok());        // another worker's
    BOOST_TEST(!ledger.take_partial(0, {1, false}, {}).ok()); // it is a probe
    BOOST_TEST((ledger.next().what == step::schedule));
    ledger.scheduled({2, false, {}});
    BOOST_TEST((ledger.next().what == step::wait)); // for worker 1
    BOOST_TEST(ledger.take_partial(1, {1, true}, {}).ok());
    BOOST_TEST((ledger.next().what == step::judge));
    ledger.judged({});
    ledger.folded({});
    for (std::uint64_t number = 2; number < 20; ++number) {
        if (number > 2)
            ledger.scheduled({number, false, {}});
        for (const std::uint32_t worker : {0u, 1u})
            BOOST_TEST(ledger.take_partial(worker, {number}, {}).ok());
        ledger.folded({});
    }
    BOOST_TEST(!ledger.take_partial(0, {19}, {}).ok()); // the lost one cannot have computed it
}

BOOST_AUTO_TEST_CASE(no_message_says_what_an_own_phase_is_before_it_is_chosen) {
    phase_ledger ledger{{0, 2, 2, 1}};
    BOOST_TEST(!ledger.take_partial(0, {0, true}, {}).ok());
    BOOST_TEST(!ledger.take_deltas(1, {0, true, phase_mark::stop}, {}).ok());
    ledger.scheduled({0, false, {}});
    BOOST_TEST(ledger.take_partial(0, {0}, {}).ok());
    BOOST_TEST(ledger.take_partial(1, {0}, {}).ok());
    BOOST_TEST((ledger.next().what == step::pull));
}

BOOST_AUTO_TEST_CASE(phases_behind_the_end_are_chosen_as_if_the_run_went_on) {
    phase_ledger ledger{{0, 1, 1, 2}};
    ledger.scheduled({0, false, {}});
    ledger.scheduled({1, false, {}}, phase_mark::stop);
    BOOST_TEST((ledger.next().what == step::schedule));
    ledger.scheduled({2, false, {}}, phase_mark::stop);
    BOOST_TEST((ledger.next().what == step::wait)); // for the partial result of phase 0
    BOOST_TEST(ledger.take_partial(0, {0}, {}).ok());
    BOOST_TEST((ledger.next().what == step::pull));
    ledger.folded({});
    BOOST_TEST((ledger.next().what == step::schedule));
    ledger.scheduled({3, false, {}}, phase_mark::stop);
    BOOST_TEST((ledger.next().what == step::stop));
    BOOST_TEST(ledger.own_phases().size() == 3u); // a run that goes on from here has chosen them
}

BOOST_AUTO_TEST_CASE(a_saved_state_has_what_was_under_way_and_in_flight) {
    const ledger_shape shape{1, 2, 1, 2};
    const auto restored = [&](const std::vector<phase>& phases, std::deque<phase_deltas> deltas) {
        return phase_ledger{shape, 10}.restore(phases, std::move(deltas)).ok();
    };
    const std::deque<phase_deltas> deltas = {{7, {}}, {8, {}}, {9, {}}};
    BOOST_TEST(restored({{11, false, {}}}, deltas));
    BOOST_TEST(restored({}, deltas));
    BOOST_TEST(!restored({{10, false, {}}}, deltas));                  // another scheduler's
    BOOST_TEST(!restored({{13, false, {}}}, deltas));                  // beyond the window
    BOOST_TEST(!restored({{9, false, {}}}, deltas));                   // folded
    BOOST_TEST(!restored({{11, false, {}}, {11, false, {}}}, deltas)); // twice
    BOOST_TEST(!restored({}, {{8, {}}, {9, {}}}));                     // one is missing
    BOOST_TEST(!restored({}, {{7, {}}, {9, {}}, {8, {}}}));            // in another order
    BOOST_TEST((phase_ledger{shape, 2}.restore({}, {{0, {}}, {1, {}}}).ok())); // near the beginning
}

BOOST_AUTO_TEST_SUITE_END()

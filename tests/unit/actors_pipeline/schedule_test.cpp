#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <capnp/schema.h>

#include <map>
#include <set>

#include "actors/pipeline/schedule.hpp"

namespace bdata = boost::unit_test::data;
using namespace troupe;
using proto::PipelineSchedule;

namespace {

std::string listing(PipelineSchedule schedule, stage_place place, const epoch_shape& epoch) {
    std::string text;
    for (const instruction& i : list_instructions(schedule, place, epoch))
        text += (text.empty() ? "" : " ") + to_string(i);
    return text;
}

// Runs every stage's instructions against each other, one message per hand-over, and returns the order of execution or
// fails if the pipeline gets stuck.
struct executed {
    stage_place place;
    instruction what;
    std::uint64_t version; // updates applied at the stage before it
};

std::vector<executed> execute(PipelineSchedule schedule, std::uint32_t stages,
                              const epoch_shape& epoch) {
    using work = std::pair<std::uint64_t, std::uint32_t>;
    std::vector<std::set<work>> forward_in(stages + 1), backward_in(stages + 1);
    for (std::uint64_t b = 0; b < epoch.minibatches; ++b)
        for (std::uint32_t m = 0; m < epoch.microbatches_of(b); ++m)
            forward_in[0].insert({b, m});
    std::vector<schedule_position> at(stages);
    std::vector<executed> order;
    for (bool moved = true; moved;) {
        moved = false;
        for (std::uint32_t s = 0; s < stages; ++s) {
            const stage_place place{s, stages};
            auto i = next_instruction(schedule, place, epoch, at[s]);
            if (!i)
                continue;
            const work w{i->minibatch, i->microbatch};
            if (i->what == pass::forward) {
                if (forward_in[s].erase(w) == 0)
                    continue;
                (s + 1 < stages ? forward_in[s + 1] : backward_in[s]).insert(w);
            } else if (i->what == pass::backward) {
                if (backward_in[s].erase(w) == 0)
                    continue;
                if (s > 0)
                    backward_in[s - 1].insert(w);
            }
            order.push_back({place, *i, at[s].updates});
            at[s] = position_after(*i, epoch, at[s]);
            moved = true;
        }
    }
    for (std::uint32_t s = 0; s < stages; ++s)
        BOOST_TEST(at[s].updates == epoch.minibatches, "stage " << s << " finished its epoch");
    return order;
}

// Runs an epoch through stages with so many replicas each, every replica's instructions as soon as they can be; true if it
// comes to its end. An update waits for the backward passes of its round at all replicas of the stage.
bool comes_to_its_end(const std::vector<std::uint32_t>& replicas, std::uint64_t minibatches) {
    const auto schedule = PipelineSchedule::PIPEDREAM;
    const auto stages = static_cast<std::uint32_t>(replicas.size());
    const std::vector<std::uint32_t> forwards = warm_ups(replicas);
    const epoch_shape whole = epoch_shape::of(minibatches, 1, 1);
    std::vector<std::vector<schedule_position>> at;
    for (const std::uint32_t r : replicas)
        at.emplace_back(r);
    const auto has_passed = [&](std::uint32_t s, std::uint64_t m, bool back) {
        const schedule_position& there = at[s][m % replicas[s]];
        return (back ? there.backward_minibatch : there.forward_minibatch) > m / replicas[s];
    };
    const auto round_is_done = [&](std::uint32_t s, std::uint64_t round) {
        for (std::uint64_t m = round * replicas[s];
             m < std::min((round + 1) * replicas[s], minibatches); ++m)
            if (!has_passed(s, m, true))
                return false;
        return true;
    };
    std::uint64_t updates = 0;
    for (bool moved = true; moved;) {
        moved = false;
        for (std::uint32_t s = 0; s < stages; ++s)
            for (std::uint32_t r = 0; r < replicas[s]; ++r) {
                const epoch_shape own = share_of(whole, {r, replicas[s]});
                const auto i = next_instruction(schedule, {s, stages, forwards[s]}, own, at[s][r]);
                if (!i)
                    continue;
                const std::uint64_t m = i->minibatch * replicas[s] + r;
                const bool ready = i->what == pass::forward ? s == 0 || has_passed(s - 1, m, false)
                                   : i->what == pass::backward
                                       ? s + 1 == stages || has_passed(s + 1, m, true)
                                       : round_is_done(s, i->minibatch);
                if (!ready)
                    continue;
                at[s][r] = position_after(*i, own, at[s][r]);
                updates += i->what == pass::update;
                moved = true;
            }
    }
    return updates == minibatches * stages;
}

} // namespace

BOOST_AUTO_TEST_SUITE(schedules)

BOOST_AUTO_TEST_CASE(stages_with_as_many_replicas_each_warm_up_as_one_pipeline) {
    for (std::uint32_t r : {1u, 2u, 5u})
        BOOST_TEST(warm_ups(std::vector{r, r, r, r}) == (std::vector<std::uint32_t>{3, 2, 1, 0}),
                   boost::test_tools::per_element());
    // PipeDream's 2-1: three devices, two of them at the first stage.
    BOOST_TEST(warm_ups(std::vector{2u, 1u}) == (std::vector<std::uint32_t>{1, 0}),
               boost::test_tools::per_element());
    BOOST_TEST(warm_ups(std::vector{15u, 1u}) == (std::vector<std::uint32_t>{1, 0}),
               boost::test_tools::per_element());
    BOOST_TEST(warm_ups(std::vector{1u, 3u}) == (std::vector<std::uint32_t>{3, 0}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(no_number_of_replicas_of_any_stage_gets_a_pipeline_stuck) {
    for (std::uint32_t stages = 1; stages <= 4; ++stages)
        for (std::uint32_t code = 0; code < 1u << (2 * stages); ++code) {
            std::vector<std::uint32_t> replicas;
            for (std::uint32_t s = 0; s < stages; ++s)
                replicas.push_back((code >> 2 * s & 3) + 1);
            for (const std::uint64_t minibatches : {1u, 2u, 5u, 24u, 25u})
                BOOST_TEST_REQUIRE(comes_to_its_end(replicas, minibatches),
                                   stages << " stages, code " << code << ", " << minibatches
                                          << " minibatches");
        }
}

BOOST_AUTO_TEST_CASE(pipedream_lists_the_order_of_the_paper) {
    const epoch_shape epoch = epoch_shape::of(4, 1, 1);
    BOOST_TEST(listing(PipelineSchedule::PIPEDREAM, {0, 3}, epoch) ==
               "F0.0 F1.0 F2.0 B0.0 U0 F3.0 B1.0 U1 B2.0 U2 B3.0 U3");
    BOOST_TEST(listing(PipelineSchedule::PIPEDREAM, {2, 3}, epoch) ==
               "F0.0 B0.0 U0 F1.0 B1.0 U1 F2.0 B2.0 U2 F3.0 B3.0 U3");
}

BOOST_AUTO_TEST_CASE(gpipe_runs_backwards_in_reverse_and_updates_once_per_minibatch) {
    BOOST_TEST(listing(PipelineSchedule::GPIPE, {1, 2}, epoch_shape::of(8, 4, 3)) ==
               "F0.0 F0.1 F0.2 B0.2 B0.1 B0.0 U0 F1.0 F1.1 F1.2 B1.2 B1.1 B1.0 U1");
}

BOOST_AUTO_TEST_CASE(microbatches_cover_their_minibatch_once) {
    for (std::uint32_t samples = 1; samples <= 23; ++samples) {
        for (std::uint32_t microbatches = 1; microbatches <= 7; ++microbatches) {
            const epoch_shape epoch = epoch_shape::of(samples, 10, microbatches);
            std::uint64_t covered = 0;
            for (std::uint64_t b = 0; b < epoch.minibatches; ++b) {
                std::uint32_t next = 0;
                for (std::uint32_t m = 0; m < epoch.microbatches_of(b); ++m) {
                    const sample_range rows = epoch.rows_of(b, m);
                    BOOST_TEST(rows.first == next);
                    BOOST_TEST(rows.count > 0u);
                    next += rows.count;
                }
                BOOST_TEST(next == epoch.samples_of(b));
                covered += next;
            }
            BOOST_TEST(covered == samples);
        }
    }
}

BOOST_DATA_TEST_CASE(every_schedule_finishes_without_deadlock_and_with_the_promised_versions,
                     bdata::xrange(1, 7) * bdata::xrange(1, 12), stages, minibatches) {
    for (const auto schedule : {PipelineSchedule::PIPEDREAM, PipelineSchedule::GPIPE}) {
        const bool gpipe = schedule == PipelineSchedule::GPIPE;
        const epoch_shape epoch = epoch_shape::of(minibatches * 4 - 1, 4, gpipe ? 3 : 1);
        std::map<std::tuple<std::uint32_t, std::uint64_t, std::uint32_t>, std::uint64_t>
            forward_version;
        std::vector<std::uint32_t> in_flight(stages, 0);
        for (const executed& e : execute(schedule, stages, epoch)) {
            const auto key = std::tuple{e.place.stage, e.what.minibatch, e.what.microbatch};
            if (e.what.what == pass::forward) {
                forward_version[key] = e.version;
                BOOST_TEST(e.version == version_used(schedule, e.place, e.what.minibatch));
                BOOST_TEST(++in_flight[e.place.stage] <= in_flight_max(schedule, e.place, epoch));
            } else if (e.what.what == pass::backward) {
                --in_flight[e.place.stage];
                // In steady state the update of minibatch b makes version b+1, S-1-s after the one it was computed with.
                const std::uint64_t lag = e.what.minibatch - forward_version.at(key);
                if (!gpipe && e.what.minibatch >= e.place.stages)
                    BOOST_TEST(lag == e.place.stages - 1 - e.place.stage);
                if (gpipe)
                    BOOST_TEST(lag == 0u);
                BOOST_TEST(lag < versions_max(schedule, e.place, epoch));
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(every_schedule_of_the_schema_is_known_by_its_name_and_no_other) {
    const auto enumerants = capnp::Schema::from<PipelineSchedule>().getEnumerants();
    for (const auto e : enumerants) {
        const auto schedule = static_cast<PipelineSchedule>(e.getOrdinal());
        BOOST_REQUIRE(is_known(schedule));
        BOOST_TEST(name_of(schedule) == e.getProto().getName().cStr());
    }
    BOOST_TEST(!is_known(static_cast<PipelineSchedule>(enumerants.size())));
    BOOST_TEST(cuts_minibatches(PipelineSchedule::GPIPE));
    BOOST_TEST(!cuts_minibatches(PipelineSchedule::PIPEDREAM));
}

BOOST_AUTO_TEST_SUITE_END()

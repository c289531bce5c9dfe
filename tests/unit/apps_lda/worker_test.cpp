// The parts of lda, turn by turn.
#include <cmath>

#include <boost/test/unit_test.hpp>

#include "apps/lda/lda_scheduler.hpp"
#include "apps/lda/lda_worker.hpp"
#include "kernels/reference/reference.hpp"
#include "tests/unit/apps_lda/lda_runs.hpp"

using namespace troupe;
using namespace troupe::lda;
using namespace troupe::test;

namespace {

// Two workers in a ring of four blocks, without a window.
class ring_of_two {
    memory_pool memory_{64u << 20}; // outlives all that is in it

  public:
    explicit ring_of_two(const matrix_rows& rows, bool metropolis = false, std::uint32_t topics = 4)
        : rows_{rows} {
        worker_options o;
        o.memory = &memory_;
        o.settings.topics = topics;
        if (metropolis)
            o.settings.sampler = sampler_kind::metropolis;
        o.ring = ring;
        o.words = rows.columns;
        o.blocks = ranges_of(rows.columns, ring.blocks());
        const auto shares = ranges_of(rows.rows(), 2);
        for (o.worker = 0; o.worker < 2; ++o.worker) {
            o.documents = shares[o.worker].count;
            workers.push_back(std::make_unique<lda_worker>(o));
            deal(*workers.back(), shares[o.worker]);
        }
        scheduler = std::make_unique<lda_scheduler>(
            scheduler_options{&memory_, o.settings, ring, rows.columns});
        for (std::uint32_t b = 0; b < ring.blocks(); ++b)
            blocks.push_back({b, 0, workers[b / 2]->make_block(b).value()});
    }

    void turn(std::uint64_t number) {
        const scheduled::phase p{number + number / 4, false, {}};
        std::vector<scheduled::payload> partials;
        for (std::uint32_t w = 0; w < 2; ++w) {
            scheduled::held_block& block = blocks[ring.block_of(w, number)];
            block.turn = number;
            auto partial = workers[w]->turn(p, block, context_);
            BOOST_REQUIRE(partial.ok());
            partials.push_back(std::move(*partial));
        }
        auto changes = scheduler->pull(p, {}, partials);
        BOOST_REQUIRE(changes.ok());
        for (const auto& worker : workers)
            BOOST_REQUIRE(worker->apply({p.number, *changes}).ok());
    }
    std::string description(std::uint64_t turn) const {
        return workers[1]->describe({turn + turn / 4, false, {}});
    }
    std::vector<scheduled::payload> probe() {
        std::vector<scheduled::payload> partials;
        for (const auto& worker : workers)
            partials.push_back(worker->probe({4, true, {}}, 0, context_).value());
        return partials;
    }

    // Of the topics that all tokens have.
    std::vector<seen_token> tokens() const {
        std::vector<seen_token> all;
        std::size_t first = 0;
        for (const auto& worker : workers) {
            auto& own = const_cast<word_tokens&>(worker->tokens());
            for (std::size_t w = 0; w < own.words(); ++w) {
                const tokens_of_word of = own.of(w);
                for (std::size_t i = 0; i < of.topics.size(); ++i)
                    if (of.topics[i] != no_topic)
                        all.push_back(
                            {first + static_cast<std::size_t>(of.documents[i]), w, of.topics[i]});
            }
            first += own.sizes().size();
        }
        return all;
    }

    const scheduled::rotation ring{2, 2};
    std::vector<std::unique_ptr<lda_worker>> workers;
    std::unique_ptr<lda_scheduler> scheduler;
    std::vector<scheduled::held_block> blocks;

  private:
    void deal(lda_worker& worker, const scheduled::number_range& share) {
        const auto first = rows_.starts[share.first], end = rows_.starts[share.first + share.count];
        std::vector<std::int64_t> starts;
        for (std::uint64_t r = share.first; r <= share.first + share.count; ++r)
            starts.push_back(rows_.starts[r] - first);
        const auto from = static_cast<std::size_t>(first),
                   count = static_cast<std::size_t>(end - first);
        BOOST_REQUIRE(
            worker
                .take_data(scheduled::payload_of(memory_, starts,
                                                 std::span{rows_.indices}.subspan(from, count),
                                                 std::span{rows_.values}.subspan(from, count),
                                                 std::vector<double>(share.count))
                               .value())
                .ok());
        BOOST_REQUIRE(worker.data_is_complete().ok());
    }

    const matrix_rows& rows_;
    std::unique_ptr<operations> operations_ = make_reference_operations();
    compute_context context_{*operations_, memory_};
};

// Counts of words and topics in the blocks.
std::vector<std::int32_t> counts_of(const ring_of_two& run, std::uint64_t words,
                                    std::uint32_t topics) {
    std::vector<std::int32_t> all(words * topics);
    const auto ranges = ranges_of(words, run.ring.blocks());
    for (const scheduled::held_block& block : run.blocks) {
        const auto reader = block_reader::open(block.content, ranges[block.number].count).value();
        word_row row{topics};
        for (std::size_t i = 0; i < reader.words(); ++i) {
            BOOST_REQUIRE(row.unpack(reader.row(i)).ok());
            std::vector<std::int32_t> unused;
            row.pack(unused, [&](std::uint32_t k, std::int32_t n) {
                all[(ranges[block.number].first + i) * topics + k] = n;
            });
        }
    }
    return all;
}

// Topics, and whether they are drawn by metropolis: documents have a count for each topic, a list of topics, or their
// tokens.
constexpr std::pair<std::uint32_t, bool> kinds[] = {{4, false}, {300, false}, {4, true}};

} // namespace

BOOST_AUTO_TEST_SUITE(lda_workers)

BOOST_AUTO_TEST_CASE(counts_are_those_of_the_tokens_after_every_turn) {
    const matrix_rows rows = made_documents(40, 30, 9);
    for (const auto& [topics, metropolis] : kinds) {
        ring_of_two run{rows, metropolis, topics};
        for (std::uint64_t turn = 0; turn < 20; ++turn) {
            run.turn(turn);
            std::vector<std::int32_t> words(rows.columns * topics);
            std::vector<std::int64_t> totals(topics);
            std::vector<std::int32_t> documents(rows.rows() * topics);
            for (const seen_token& t : run.tokens()) {
                ++words[t.word * topics + t.topic];
                ++documents[t.document * topics + t.topic];
                ++totals[t.topic];
            }
            BOOST_TEST((counts_of(run, rows.columns, topics) == words));
            BOOST_TEST(std::ranges::equal(run.scheduler->totals(), totals));
            std::vector<std::int32_t> seen(documents.size());
            std::size_t first = 0;
            for (const auto& worker : run.workers)
                for (std::size_t d = 0; d < worker->tokens().sizes().size(); ++d, ++first)
                    for (std::uint32_t k = 0; k < topics; ++k)
                        seen[first * topics + k] = worker->documents().count(d, k);
            BOOST_TEST((seen == documents));
            if (turn % 4 == 3)
                BOOST_TEST(run.scheduler->judge(4, {}, run.probe()).ok());
        }
    }
}

BOOST_AUTO_TEST_CASE(the_likelihood_is_the_one_of_all_tokens) {
    const matrix_rows rows = made_documents(40, 30, 9);
    for (const auto& [topics, metropolis] : kinds) {
        ring_of_two run{rows, metropolis, topics};
        for (std::uint64_t sweep = 0; sweep < 4; ++sweep) {
            for (std::uint64_t turn = 4 * sweep; turn < 4 * sweep + 4; ++turn)
                run.turn(turn);
            const auto judgement = run.scheduler->judge(4, {}, run.probe());
            BOOST_REQUIRE(judgement.ok());
            BOOST_TEST((*judgement)[0].values<double>()[0] ==
                           plain_likelihood(run.tokens(), rows.rows(), rows.columns, topics, {}),
                       boost::test_tools::tolerance(1e-12));
        }
    }
}

BOOST_AUTO_TEST_CASE(totals_that_are_not_those_of_the_counts_end_the_run) {
    const matrix_rows rows = made_documents(40, 30, 9);
    ring_of_two run{rows};
    for (std::uint64_t turn = 0; turn < 4; ++turn)
        run.turn(turn);
    auto partials = run.probe();
    partials[0][1].mutable_values<std::int64_t>()[2] += 1;
    const auto judged = run.scheduler->judge(4, {}, partials);
    BOOST_REQUIRE(!judged.ok());
    BOOST_TEST(judged.failure().message().starts_with("topic 2 has "));
    partials = run.probe();
    partials[1][2].mutable_values<std::int64_t>()[0] -= 1;
    BOOST_TEST(
        run.scheduler->judge(4, {}, partials).failure().message().starts_with("topics have "));
    partials[1].pop_back();
    BOOST_TEST(!run.scheduler->judge(4, {}, partials).ok());
}

BOOST_AUTO_TEST_CASE(blocks_and_states_of_others_are_refused) {
    const matrix_rows rows = made_documents(40, 30, 9);
    ring_of_two run{rows}, other{rows};
    for (std::uint64_t turn = 0; turn < 4; ++turn)
        run.turn(turn);
    std::unique_ptr<operations> none = make_reference_operations();
    memory_pool memory{1u << 20};
    compute_context context{*none, memory};
    // Without the tokens that the worker has counted in it.
    scheduled::held_block empty{0, 4, run.workers[0]->make_block(0).value()};
    BOOST_TEST(
        (run.workers[0]->turn({5, false, {}}, empty, context).failure().code() == errc::protocol));
    scheduled::held_block unknown{9, 4, {}};
    BOOST_TEST(!run.workers[0]->turn({5, false, {}}, unknown, context).ok());
    BOOST_TEST(!run.workers[0]->make_block(4).ok());

    const auto saved = run.workers[0]->save().value();
    BOOST_TEST(other.workers[0]->load(saved).ok());
    const ring_of_two fresh{rows};
    BOOST_TEST(!fresh.workers[1]->load(saved).ok()); // other documents
    for (std::size_t i = 0; i < saved.names.size(); ++i)
        BOOST_TEST_CONTEXT(saved.names[i]) {
            scheduled::saved_part broken = saved;
            broken.names[i] = "another";
            BOOST_TEST(!ring_of_two{rows}.workers[0]->load(broken).ok());
            broken = saved;
            broken.tensors[i] = scheduled::numbers_of(memory, std::span<const float>{}).value();
            BOOST_TEST(!ring_of_two{rows}.workers[0]->load(broken).ok());
        }
    scheduled::saved_part mixed = saved;
    mixed.tensors[0] =
        scheduled::numbers_of(memory, saved.tensors[0].values<std::uint8_t>()).value();
    mixed.tensors[0].mutable_values<std::uint8_t>()[0] = 9; // no topic of this run
    BOOST_TEST(!ring_of_two{rows}.workers[0]->load(mixed).ok());
}

BOOST_AUTO_TEST_CASE(a_worker_that_goes_back_goes_on_as_before) {
    const matrix_rows rows = made_documents(40, 30, 9);
    for (const auto& [topics, metropolis] : kinds) {
        ring_of_two run{rows, metropolis, topics};
        run.turn(0);
        const auto saved = run.workers[0]->save().value();
        const auto block = run.blocks[run.ring.block_of(0, 1)];
        run.turn(1);
        const auto after = run.workers[0]->save().value();
        run.turn(2);
        BOOST_REQUIRE(run.workers[0]->load(saved).ok());
        run.blocks[run.ring.block_of(0, 1)] = block;
        const std::unique_ptr<operations> none = make_reference_operations();
        memory_pool memory{1u << 22};
        compute_context context{*none, memory};
        scheduled::held_block again = block;
        again.turn = 1;
        BOOST_REQUIRE(run.workers[0]->turn({1, false, {}}, again, context).ok());
        const auto once_more = run.workers[0]->save().value();
        BOOST_TEST(std::ranges::equal(once_more.tensors[0].values<std::uint8_t>(),
                                      after.tensors[0].values<std::uint8_t>()));
        for (std::size_t d = 0; d < run.workers[0]->tokens().sizes().size(); ++d) {
            std::int64_t sum = 0;
            for (std::uint32_t k = 0; k < topics; ++k)
                sum += run.workers[0]->documents().count(d, k);
            BOOST_TEST(sum <= run.workers[0]->tokens().sizes()[d]);
        }
    }
}

BOOST_AUTO_TEST_CASE(states_of_another_sweep_are_refused_in_the_turn) {
    const matrix_rows rows = made_documents(40, 30, 9);
    const std::unique_ptr<operations> none = make_reference_operations();
    memory_pool memory{1u << 22};
    compute_context context{*none, memory};
    for (const bool metropolis : {false, true}) {
        ring_of_two run{rows, metropolis};
        const auto before = run.workers[0]->save().value();
        run.turn(0);
        const auto begun = run.workers[0]->save().value();
        for (std::uint64_t turn = 1; turn < 4; ++turn)
            run.turn(turn);
        const auto after = run.workers[0]->save().value();
        const auto refusal = [&](const scheduled::saved_part& saved, std::uint64_t turn) {
            const ring_of_two other{rows, metropolis};
            BOOST_REQUIRE(other.workers[0]->load(saved).ok());
            scheduled::held_block block = run.blocks[0];
            block.turn = turn;
            const auto done = other.workers[0]->turn({turn, false, {}}, block, context);
            if (!done.ok())
                BOOST_TEST((done.failure().code() == errc::protocol));
            return done.ok() ? "" : done.failure().message();
        };
        BOOST_TEST(refusal(after, 4) == "");
        BOOST_TEST(refusal(before, 4).starts_with("a token has no topic after the first sweep"));
        BOOST_TEST(refusal(after, 0).starts_with("a token has a topic before the first sweep"));
        // The tokens of the block have topics, others of their documents do not, which metropolis may draw from.
        BOOST_TEST(refusal(begun, 4).starts_with("a token has no topic") == metropolis);
    }
}

BOOST_AUTO_TEST_CASE(a_worker_says_which_block_it_computed_with_and_how_many_tokens) {
    const matrix_rows rows = made_documents(40, 30, 9);
    ring_of_two run{rows};
    std::uint64_t tokens = 0;
    for (std::uint64_t turn = 0; turn < 4; ++turn) { // every block has been with every worker
        run.turn(turn);
        const std::string said = run.description(turn);
        const std::string block = "block " + std::to_string(run.ring.block_of(1, turn)) + " of 4, ";
        BOOST_TEST_REQUIRE(said.starts_with(block));
        tokens += std::stoull(said.substr(block.size()));
    }
    BOOST_TEST(tokens == run.workers[1]->tokens().tokens());
    BOOST_TEST(run.workers[1]->describe({4, true, {}}) == "probe");
}

BOOST_AUTO_TEST_SUITE_END()

#include "tests/conformance/program_attacks.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>

#include "tests/conformance/broken_payloads.hpp"

namespace troupe::test {

namespace {

using namespace scheduled;

// ---- whoever attacks ----

// What the parts of both kinds have in common: the program, how many calls of a kind there were, and what came of it.
class attacker {
  public:
    attacker(const program& what, attacks& on, memory_pool& memory, std::uint64_t number)
        : what_{what}, on_{on}, memory_{memory}, random_{on.seed, number} {}

    const program& what() const { return what_; }
    memory_pool& memory() { return memory_; }

    // The first calls of each kind, and some of the others.
    bool is_due(std::size_t kind) {
        if (kind >= calls_.size())
            calls_.resize(kind + 1);
        return ++calls_[kind] <= 6 || random_.below(8) == 0;
    }

    // `name`: what is broken. `call` makes a copy of the part and hands the broken payload to it.
    template <class Call>
    void attack(const std::string& name, const payload& genuine, Call call) {
        for (const broken& b : broken_ones(genuine, memory_, random_))
            judge(name, b, [&] { return call(b.tensors); });
    }

    // The same with changes: those without tensors are a probe's, and right.
    template <class Call>
    void attack_changes(const std::string& name, const payload& genuine, Call call) {
        for (const broken& b : broken_ones(genuine, memory_, random_))
            if (!b.tensors.empty())
                judge(name, b, [&] { return call(b.tensors); });
    }

    // The same with one of the tensors that are saved, which have names. `call` loads them.
    template <class Call>
    void attack_saved(const std::string& name, const saved_part& genuine, Call call) {
        for (broken& b : broken_ones(genuine.tensors, memory_, random_)) {
            saved_part changed{genuine.names, b.tensors};
            if (b.removed) { // with its name, which nothing else has
                changed.names.erase(changed.names.begin() +
                                    static_cast<std::ptrdiff_t>(*b.removed));
                b.is_obvious = true;
            }
            judge(name, b, [&] { return call(changed); });
        }
    }

  private:
    template <class Try>
    void judge(const std::string& name, const broken& b, Try once) {
        BOOST_TEST_INFO_SCOPE(name << ": " << b.how);
        ++on_.tried;
        const result<void> done = once();
        if (done) {
            const std::string what = name + ": " + b.how;
            const bool is_ignored = std::ranges::any_of(
                on_.ignored, [&](const std::string& i) { return what.starts_with(i); });
            if (b.is_obvious && !is_ignored)
                on_.seen[what]; // may be nobody looked: of a phase of no variables
            return;
        }
        ++on_.refused;
        ++on_.seen[name + ": " + b.how];
        const errc code = done.failure().code();
        const bool fits = code == errc::protocol ||
                          (!b.is_obvious && (code == errc::numeric || code == errc::data));
        if (!fits || done.failure().message().empty())
            on_.wrongs.push_back(name + ": " + b.how +
                                 ": refused as something else: " + done.failure().message());
    }

    const program what_;
    attacks& on_;
    memory_pool& memory_;
    random_stream random_;
    std::vector<std::uint64_t> calls_;
};

template <class T>
result<void> nothing_of(const result<T>& r) {
    if (r)
        return {};
    return r.failure();
}

class attacked_worker final : public worker_part {
  public:
    attacked_worker(attacker by, const worker_site& site, std::unique_ptr<worker_part> part)
        : by_{std::move(by)}, site_{site}, part_{std::move(part)} {}

    result<void> take_data(const payload& piece) override {
        if (by_.is_due(0))
            by_.attack("a piece", piece, [&](const payload& p) -> result<void> {
                auto copy = by_.what().make_worker(site_).value();
                for (const payload& before : pieces_)
                    if (auto taken = copy->take_data(before); !taken)
                        return taken;
                if (auto taken = copy->take_data(p); !taken)
                    return taken;
                static_cast<void>(copy->data_is_complete());
                return {};
            });
        pieces_.push_back(piece);
        return part_->take_data(piece);
    }
    result<void> data_is_complete() override { return part_->data_is_complete(); }

    result<void> apply(const phase_deltas& deltas) override {
        if (by_.is_due(1) && !deltas.changes.empty()) // those of probes are nothing
            by_.attack_changes("changes for a worker", deltas.changes, [&](const payload& p) {
                auto copy = copy_of_part();
                auto done = copy->apply({deltas.number, p});
                static_cast<void>(copy->save());
                return done;
            });
        return part_->apply(deltas);
    }
    result<payload> push(const phase& p, compute_context& context) override {
        if (by_.is_due(2)) {
            by_.attack("a phase's content", p.content, [&](const payload& content) {
                const phase changed{p.number, false, content};
                static_cast<void>(part_->describe(changed));
                return nothing_of(copy_of_part()->push(changed, context));
            });
            attack_load([&](worker_part& part) { return nothing_of(part.push(p, context)); });
        }
        return part_->push(p, context);
    }
    result<payload> probe(const phase& p, std::uint32_t scheduler,
                          compute_context& context) override {
        if (by_.is_due(3))
            by_.attack("a probe's content", p.content, [&](const payload& content) {
                const phase changed{p.number, true, content};
                static_cast<void>(part_->describe(changed));
                return nothing_of(copy_of_part()->probe(changed, scheduler, context));
            });
        return part_->probe(p, scheduler, context);
    }
    result<payload> make_block(std::uint32_t block) override { return part_->make_block(block); }
    result<payload> turn(const phase& p, held_block& block, compute_context& context) override {
        if (by_.is_due(4)) {
            const auto try_turn = [&](const payload& content, const payload& of_block) {
                held_block copy{block.number, block.turn, deep_copy(of_block, by_.memory())};
                return nothing_of(copy_of_part()->turn({p.number, false, content}, copy, context));
            };
            by_.attack("a turn's content", p.content,
                       [&](const payload& content) { return try_turn(content, block.content); });
            by_.attack("a block", block.content,
                       [&](const payload& of_block) { return try_turn(p.content, of_block); });
            attack_load([&](worker_part& part) {
                held_block copy{block.number, block.turn, deep_copy(block.content, by_.memory())};
                return nothing_of(part.turn(p, copy, context));
            });
        }
        return part_->turn(p, block, context);
    }
    result<void> pass(const phase& p, std::uint32_t schedulers, compute_context& context) override {
        return part_->pass(p, schedulers, context);
    }
    std::string describe(const phase& p) const override { return part_->describe(p); }
    result<saved_part> save() const override { return part_->save(); }
    result<void> load(const saved_part& saved) override { return part_->load(saved); }

  private:
    std::unique_ptr<worker_part> with_data() {
        auto copy = by_.what().make_worker(site_).value();
        for (const payload& piece : pieces_)
            BOOST_REQUIRE(copy->take_data(piece).ok());
        BOOST_REQUIRE(copy->data_is_complete().ok());
        return copy;
    }
    std::unique_ptr<worker_part> copy_of_part() {
        auto copy = with_data();
        BOOST_REQUIRE(copy->load(part_->save().value()).ok());
        return copy;
    }
    template <class Then>
    void attack_load(Then then) {
        by_.attack_saved("what a worker saved", part_->save().value(), [&](const saved_part& s) {
            auto copy = with_data();
            auto loaded = copy->load(s);
            return loaded ? (static_cast<void>(then(*copy)), loaded) : loaded;
        });
    }

    attacker by_;
    const worker_site site_;
    const std::unique_ptr<worker_part> part_;
    std::vector<payload> pieces_;
};

class attacked_scheduler final : public scheduler_part {
  public:
    attacked_scheduler(attacker by, const scheduler_site& site,
                       std::unique_ptr<scheduler_part> part)
        : by_{std::move(by)}, site_{site}, part_{std::move(part)} {}

    result<phase> schedule(std::uint64_t number, random_stream& random) override {
        if (by_.is_due(0))
            by_.attack_saved("what a scheduler saved", part_->save().value(),
                             [&](const saved_part& s) {
                                 auto copy = by_.what().make_scheduler(site_).value();
                                 auto loaded = copy->load(s);
                                 random_stream again = random;
                                 if (loaded)
                                     static_cast<void>(copy->schedule(number, again));
                                 return loaded;
                             });
        return part_->schedule(number, random);
    }

    result<payload> pull(const phase& p, in_flight deltas,
                         std::span<const payload> partials) override {
        if (by_.is_due(1)) {
            const auto tried = [&](const phase& of, in_flight d, std::span<const payload> all) {
                auto copy = copy_of_part();
                auto done = nothing_of(copy->pull(of, d, all));
                static_cast<void>(copy->save());
                return done;
            };
            by_.attack("a phase's content for its scheduler", p.content, [&](const payload& c) {
                static_cast<void>(part_->describe({p.number, false, c}));
                return tried({p.number, false, c}, deltas, partials);
            });
            attack_one("a partial result", partials,
                       [&](std::span<const payload> all) { return tried(p, deltas, all); });
            attack_flight(deltas, [&](in_flight d) { return tried(p, d, partials); });
        }
        return part_->pull(p, deltas, partials);
    }

    result<void> absorb(const phase_deltas& deltas) override {
        if (by_.is_due(2))
            by_.attack("changes for a scheduler", deltas.changes, [&](const payload& p) {
                auto copy = copy_of_part();
                auto done = copy->absorb({deltas.number, p});
                static_cast<void>(copy->save());
                return done;
            });
        return part_->absorb(deltas);
    }

    result<payload> judge(std::uint64_t number, in_flight deltas,
                          std::span<const payload> partials) override {
        if (by_.is_due(3)) {
            attack_one("a partial result of a probe", partials, [&](std::span<const payload> all) {
                return nothing_of(copy_of_part()->judge(number, deltas, all));
            });
            attack_flight(deltas, [&](in_flight d) {
                return nothing_of(copy_of_part()->judge(number, d, partials));
            });
        }
        return part_->judge(number, deltas, partials);
    }

    result<standing> conclude(std::uint64_t number, std::span<const payload> judgements) override {
        if (by_.is_due(4))
            attack_one("a judgement", judgements, [&](std::span<const payload> all) {
                auto copy = copy_of_part();
                auto done = nothing_of(copy->conclude(number, all));
                static_cast<void>(copy->save());
                return done;
            });
        return part_->conclude(number, judgements);
    }

    std::string describe(const phase& p) const override { return part_->describe(p); }
    result<saved_part> save() const override { return part_->save(); }
    result<void> load(const saved_part& saved) override { return part_->load(saved); }

  private:
    std::unique_ptr<scheduler_part> copy_of_part() {
        auto copy = by_.what().make_scheduler(site_).value();
        BOOST_REQUIRE(copy->load(part_->save().value()).ok());
        return copy;
    }
    // The last one: its sender may be of another build than the others.
    template <class Call>
    void attack_one(const std::string& name, std::span<const payload> genuine, Call call) {
        by_.attack(name, genuine.back(), [&](const payload& p) {
            std::vector<payload> all{genuine.begin(), genuine.end()};
            all.back() = p;
            return call(std::span<const payload>{all});
        });
    }
    template <class Call>
    void attack_flight(in_flight deltas, Call call) {
        const auto last =
            std::ranges::find_if(deltas, [](const phase_deltas& d) { return !d.changes.empty(); });
        if (last == deltas.end())
            return;
        by_.attack_changes("changes in flight", last->changes, [&](const payload& p) {
            std::vector<phase_deltas> all{deltas.begin(), deltas.end()};
            all[static_cast<std::size_t>(last - deltas.begin())].changes = p;
            return call(in_flight{all});
        });
    }

    attacker by_;
    const scheduler_site site_;
    const std::unique_ptr<scheduler_part> part_;
};

} // namespace

program under_attack(const program& what, attacks& on) {
    program attacked = what;
    attacked.make_scheduler =
        [what, &on](const scheduler_site& site) -> result<std::unique_ptr<scheduler_part>> {
        auto part = what.make_scheduler(site);
        if (!part)
            return part.failure();
        return std::unique_ptr<scheduler_part>{std::make_unique<attacked_scheduler>(
            attacker{what, on, *site.memory, site.scheduler}, site, std::move(*part))};
    };
    attacked.make_worker = [what,
                            &on](const worker_site& site) -> result<std::unique_ptr<worker_part>> {
        auto part = what.make_worker(site);
        if (!part)
            return part.failure();
        return std::unique_ptr<worker_part>{std::make_unique<attacked_worker>(
            attacker{what, on, *site.memory, 1000 + site.worker}, site, std::move(*part))};
    };
    return attacked;
}

} // namespace troupe::test

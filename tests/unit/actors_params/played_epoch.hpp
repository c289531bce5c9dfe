// An epoch of a shard and its workers, played on virtual time.
#pragma once

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "actors/params/shard_ledger.hpp"
#include "schemas/base/random.hpp"

namespace troupe::test {

struct made_update {
    std::uint64_t version; // before it
    std::vector<arrived_push> pushes;
};

// Time that goes by only from one event to the next.
class virtual_time {
  public:
    void at(double delay, std::function<void()> what) {
        events_.emplace(now_ + delay, std::move(what));
    }
    // Until there are no events any more.
    void pass() {
        while (!events_.empty()) {
            auto next = events_.extract(events_.begin());
            now_ = next.key();
            next.mapped()();
        }
    }

  private:
    double now_ = 0;
    std::multimap<double, std::function<void()>> events_; // by time
};

// Workers of random speed: what each has yet to do, and what it has read and pushed.
struct played_workers {
    double spread;                    // of the time that a gradient takes, around the worker's pace
    std::vector<double> pace;         // by worker; 1
    std::vector<std::uint64_t> share; // by worker: its pushes in the epoch
    std::vector<std::uint64_t> read_version; // by worker, the last
    std::vector<std::size_t> asking; // workers that wait for an answer, in the order of their reads
    // The clocks of pushes, by their numbers, which count from 1.
    std::map<std::uint64_t, std::uint64_t> clocks;

    played_workers(std::size_t workers, std::uint64_t share_of_each, double spread)
        : spread{spread}, pace(workers, 1), share(workers, share_of_each), read_version(workers) {}

    std::uint64_t pushed() const { return clocks.size(); }
};

// A shard whose updates take a while: its ledger, and what came of it.
struct played_shard {
    shard_ledger ledger;
    bool is_busy = false; // with an update
    std::vector<made_update> updates;

    // Pushes that updates have taken.
    std::uint64_t applied() const {
        std::uint64_t sum = 0;
        for (const made_update& u : updates)
            sum += u.pushes.size();
        return sum;
    }
};

// Workers that read, compute for a while, push, and read again, until each has pushed its share; an update takes a while,
// too. Whoever is late or waits is what the ledger says.
struct played_epoch {
    played_workers workers;
    played_shard shard;
    random_stream random;
    virtual_time time;
    std::function<void(std::size_t worker)> on_read = [](std::size_t) {};
    std::function<void(std::size_t worker, std::size_t whom)> on_wait = [](std::size_t,
                                                                           std::size_t) {};
    std::function<double()> change = [] { return 0.0; }; // of the weights, by an update

    played_epoch(const consistency& rule, played_workers of, std::uint64_t seed)
        : workers{std::move(of)}, shard{{rule, workers.share.size()}}, random{seed} {}

    void ask(std::size_t worker) {
        workers.asking.push_back(worker);
        shard.ledger.asks(worker);
        settle();
    }
    void settle() {
        answer();
        if (!shard.is_busy)
            if (auto update = shard.ledger.next()) {
                shard.updates.push_back({shard.ledger.version(), *update});
                shard.is_busy = true;
                time.at(0.05 * random.uniform(), [this] {
                    shard.is_busy = false;
                    shard.ledger.applied(change());
                    settle();
                });
            }
    }
    void answer() {
        std::vector<std::size_t>& asking = workers.asking;
        for (std::size_t i = 0; !shard.is_busy && i < asking.size();) {
            const std::size_t w = asking[i];
            if (const auto whom = shard.ledger.waits_for(w)) {
                on_wait(w, *whom);
                ++i;
                continue;
            }
            asking.erase(asking.begin() + static_cast<std::ptrdiff_t>(i));
            shard.ledger.read(w);
            workers.read_version[w] = shard.ledger.version();
            on_read(w);
            compute(w);
            i = 0;
        }
    }
    void compute(std::size_t w) {
        if (shard.ledger.pushes(w) == workers.share[w]) {
            shard.ledger.finish(w);
            return time.at(0, [this] { settle(); });
        }
        const double takes = workers.pace[w] * (1 + workers.spread * (2 * random.uniform() - 1));
        time.at(takes, [this, w] {
            const std::uint64_t number = workers.pushed() + 1;
            workers.clocks[number] = shard.ledger.pushes(w);
            shard.ledger.push({number, w, workers.read_version[w]});
            ask(w);
        });
    }
    void play() {
        shard.ledger.begin_epoch();
        for (std::size_t w = 0; w < workers.share.size(); ++w)
            time.at(random.uniform(), [this, w] { ask(w); });
        time.pass();
        BOOST_REQUIRE(shard.ledger.epoch_is_over()); // nobody waits for ever
    }
};

} // namespace troupe::test

#include "tests/emulated_cuda/blocks.hpp"

#include <setjmp.h>
#include <ucontext.h>

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "schemas/base/check.hpp"

namespace emulated {

thread_local index3 threadIdx, blockIdx;
thread_local dim3 blockDim, gridDim;

namespace {

constexpr std::size_t stack_bytes = 128u << 10;
constexpr unsigned warp_lanes = 32;

enum class state { running, at_block_barrier, at_warp_barrier, ended };

// A stack on which threads run, one behind the other until one waits; from then on it is that thread's. Begun once, by
// setcontext; from then on entered and left by longjmp, which asks nothing of the kernel.
struct fiber {
    ucontext_t context{};
    jmp_buf at;
    bool has_begun = false;
    std::unique_ptr<std::byte[]> stack = std::make_unique<std::byte[]>(stack_bytes);
    unsigned thread = 0;
    unsigned exchanges = 0; // of the thread
    state now = state::ended;
};

// What a lane shows the others of its warp in its exchange of this number, the first being 1.
struct shown {
    unsigned exchange = 0;
    std::uint64_t bits = 0;
};

class block_runner {
  public:
    void run(dim3 block, std::size_t shared_bytes, const std::function<void()>& thread) {
        threads_ = block.x * block.y * block.z;
        thread_ = &thread;
        shared_.assign(shared_bytes / sizeof(double) + 1, __builtin_nan(""));
        warps_.assign((threads_ + warp_lanes - 1) / warp_lanes, {});
        for (unsigned t = 0; t < threads_; ++t)
            ++warps_[t / warp_lanes].alive;
        alive_ = threads_;
        waiting_ = next_ = 0;
        used_ = 0;
        while (next_ < threads_)
            start_fiber();
        while (alive_ > 0)
            if (!resume_some())
                TROUPE_CHECK(false, "threads of a block wait at different barriers for ever");
    }

    void wait_for_block() { wait(state::at_block_barrier, waiting_); }
    void wait_for_warp() { wait(state::at_warp_barrier, warp().waiting); }

    unsigned lane() const { return current_->thread % warp_lanes; }
    void* shared() { return shared_.data(); }
    // Waits until all of the warp have shown theirs.
    void show(std::uint64_t bits) {
        const unsigned exchange = ++current_->exchanges;
        warp().of_lanes[exchange % 2][lane()] = {exchange, bits};
        wait_for_warp();
    }
    const float* show_floats(const float* mine, unsigned count) {
        TROUPE_CHECK(count <= lane_floats_max && warp().alive == warp_lanes, "a warp is not whole");
        auto& all = warp().floats[(current_->exchanges + 1) % 2];
        std::copy_n(mine, count, all.begin() + lane() * count);
        show(0);
        return all.data();
    }
    // What a lane has shown in the exchange that this thread is in; null of a lane that has left or never was.
    const std::uint64_t* seen(unsigned lane) {
        const unsigned exchange = current_->exchanges;
        if (lane >= warp_lanes)
            return nullptr;
        const shown& s = warp().of_lanes[exchange % 2][lane];
        return s.exchange == exchange ? &s.bits : nullptr;
    }

  private:
    struct warp_state {
        unsigned alive = 0, waiting = 0;
        // Of the last exchange and of the one before: nobody is two ahead of a lane that still looks.
        std::array<std::array<shown, warp_lanes>, 2> of_lanes{};
        std::array<std::array<float, warp_lanes * lane_floats_max>, 2> floats{};
    };

    warp_state& warp() { return warps_[current_->thread / warp_lanes]; }

    void enter(fiber& f) {
        current_ = &f;
        set_index(f.thread);
        if (_setjmp(home_) != 0)
            return;
        if (f.has_begun)
            _longjmp(f.at, 1);
        f.has_begun = true;
        getcontext(&f.context);
        f.context.uc_stack.ss_sp = f.stack.get();
        f.context.uc_stack.ss_size = stack_bytes;
        f.context.uc_link = nullptr;
        makecontext(&f.context, &block_runner::body, 0);
        setcontext(&f.context);
    }

    void leave(fiber& f) {
        if (_setjmp(f.at) == 0)
            _longjmp(home_, 1);
    }

    void set_index(unsigned thread) {
        threadIdx = {thread % blockDim.x, thread / blockDim.x % blockDim.y,
                     thread / blockDim.x / blockDim.y};
    }

    void start_fiber() {
        if (used_ == fibers_.size())
            fibers_.push_back(std::make_unique<fiber>());
        fiber& f = *fibers_[used_++];
        f.now = state::running;
        f.thread = next_;
        enter(f);
    }

    static void body();

    void run_threads() {
        fiber& self = *current_;
        while (next_ < threads_) {
            self.thread = next_++;
            self.exchanges = 0;
            current_ = &self;
            set_index(self.thread);
            (*thread_)();
            --alive_;
            --warps_[self.thread / warp_lanes].alive;
        }
        self.now = state::ended;
        leave(self);
    }

    void wait(state at, unsigned& waiting) {
        fiber& self = *current_;
        self.now = at;
        ++waiting;
        leave(self);
        current_ = &self;
        set_index(self.thread);
    }

    bool is_open(const fiber& f) const {
        const warp_state& w = warps_[f.thread / warp_lanes];
        return f.now == state::at_block_barrier  ? waiting_ == alive_
               : f.now == state::at_warp_barrier ? w.waiting == w.alive
                                                 : false;
    }

    // Opens what barriers can open and lets who waited there go on.
    bool resume_some() {
        std::vector<fiber*> free;
        std::vector<unsigned> warps;
        for (unsigned i = 0; i < used_; ++i)
            if (is_open(*fibers_[i]))
                free.push_back(fibers_[i].get());
        for (fiber* f : free) {
            if (f->now == state::at_block_barrier)
                waiting_ = 0;
            else
                warps_[f->thread / warp_lanes].waiting = 0;
        }
        for (fiber* f : free) {
            f->now = state::running;
            enter(*f);
        }
        return !free.empty();
    }

    jmp_buf home_;
    std::vector<std::unique_ptr<fiber>> fibers_;
    fiber* current_ = nullptr;
    const std::function<void()>* thread_ = nullptr;
    std::vector<double> shared_;
    std::vector<warp_state> warps_;
    unsigned threads_ = 0, alive_ = 0, waiting_ = 0, next_ = 0, used_ = 0;
};

thread_local block_runner runner;

void block_runner::body() {
    for (;;) // entered again for another block
        runner.run_threads();
}

} // namespace

void run_grid(dim3 grid, dim3 block, std::size_t shared_bytes,
              const std::function<void()>& thread) {
    gridDim = grid;
    blockDim = block;
    for (unsigned z = 0; z < grid.z; ++z)
        for (unsigned y = 0; y < grid.y; ++y)
            for (unsigned x = 0; x < grid.x; ++x) {
                blockIdx = {x, y, z};
                runner.run(block, shared_bytes, thread);
            }
}

void block_barrier() {
    runner.wait_for_block();
}
void warp_barrier() {
    runner.wait_for_warp();
}
int lane() {
    return static_cast<int>(runner.lane());
}
void* dynamic_shared() {
    return runner.shared();
}

std::uint64_t exchange_bits(std::uint64_t bits, int from) {
    runner.show(bits);
    const std::uint64_t* given = runner.seen(static_cast<unsigned>(from));
    return given == nullptr ? 0 : *given;
}

const float* shown_by_warp(const float* mine, unsigned count) {
    return runner.show_floats(mine, count);
}

unsigned lanes_that_show(std::uint64_t wanted, std::uint64_t mine) {
    runner.show(mine);
    unsigned lanes = 0;
    for (unsigned l = 0; l < warp_lanes; ++l)
        if (const std::uint64_t* given = runner.seen(l); given != nullptr && *given == wanted)
            lanes |= 1u << l;
    return lanes;
}

} // namespace emulated

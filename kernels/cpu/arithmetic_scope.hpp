// Makes results independent of the thread that computes them: while one of these lives, its thread flushes denormal
// numbers to zero (they would make momentum that fades away many times slower) and OpenMP inside oneDNN uses this
// thread only.
#pragma once

#include <omp.h>

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace troupe::cpu {

class arithmetic_scope {
  public:
    arithmetic_scope() noexcept : threads_{omp_get_max_threads()} {
        omp_set_num_threads(1);
#if defined(__SSE__)
        control_ = _mm_getcsr();
        _mm_setcsr(control_ | flush_to_zero | denormals_are_zero);
#endif
    }
    ~arithmetic_scope() {
#if defined(__SSE__)
        _mm_setcsr(control_);
#endif
        omp_set_num_threads(threads_);
    }
    arithmetic_scope(const arithmetic_scope&) = delete;
    arithmetic_scope& operator=(const arithmetic_scope&) = delete;

  private:
    static constexpr unsigned flush_to_zero = 0x8000;
    static constexpr unsigned denormals_are_zero = 0x0040;

    int threads_;
    unsigned control_ = 0;
};

} // namespace troupe::cpu

// Compiled several times, with TROUPE_RECURRENT_LOOPS naming the table; see loops.cpp for what it must not use.
#include "kernels/cpu/recurrent_loops.hpp"

#include "kernels/cpu/loop_marks.hpp"
#include "kernels/cpu/sigmoid.hpp"

namespace troupe::cpu {

namespace {

void gru_forward(const gru_forward_task& t) {
    const std::size_t width = t.width;
    const float *b_r = t.bias_ih, *b_z = b_r + width, *b_n = b_z + width;
    const float *c_r = t.bias_hh, *c_z = c_r + width, *c_n = c_z + width;
    for (std::size_t s = 0; s < t.samples; ++s) {
        const float *p_r = t.product + 3 * s * width, *p_z = p_r + width, *p_n = p_z + width;
        float *r = t.gates.of(s), *z = r + width, *n = z + width, *hn = n + width;
        float *state = t.state + s * width, *output = t.output.of(s);
        TROUPE_EACH_BY_ITSELF
        for (std::size_t j = 0; j < width; ++j) {
            const float reset = logistic(r[j] + p_r[j] + (b_r[j] + c_r[j]));
            const float update = logistic(z[j] + p_z[j] + (b_z[j] + c_z[j]));
            const float of_state = p_n[j] + c_n[j];
            const float next = tangent(n[j] + b_n[j] + reset * of_state);
            const float h = next + update * (state[j] - next);
            r[j] = reset;
            z[j] = update;
            n[j] = next;
            hn[j] = of_state;
            state[j] = h;
            output[j] = h;
        }
    }
}

void gru_backward(const gru_backward_task& t) {
    const std::size_t width = t.width;
    float *b_r = t.to_bias, *b_z = b_r + width, *b_n = b_z + width, *b_hn = b_n + width;
    for (std::size_t s = 0; s < t.samples; ++s) {
        const float *r = t.gates.of(s), *z = r + width, *n = z + width, *hn = n + width;
        const float *previous = t.previous.of(s), *dy = t.output_gradient.of(s);
        float* to_state = t.to_state + s * width;
        float *g_r = t.to_gates.of(s), *g_z = g_r + width, *g_n = g_z + width, *g_hn = g_n + width;
        float *p_r = t.to_product + 3 * s * width, *p_z = p_r + width, *p_n = p_z + width;
        TROUPE_EACH_BY_ITSELF
        for (std::size_t j = 0; j < width; ++j) {
            const float dh = dy[j] + to_state[j];
            const float to_n = dh * (1.f - z[j]) * ((1.f - n[j]) * (1.f + n[j]));
            const float to_z = dh * (previous[j] - n[j]) * (z[j] * (1.f - z[j]));
            const float to_r = to_n * hn[j] * (r[j] * (1.f - r[j]));
            const float to_hn = to_n * r[j];
            to_state[j] = dh * z[j];
            g_r[j] = p_r[j] = to_r;
            g_z[j] = p_z[j] = to_z;
            g_n[j] = to_n;
            g_hn[j] = p_n[j] = to_hn;
            b_r[j] += to_r;
            b_z[j] += to_z;
            b_n[j] += to_n;
            b_hn[j] += to_hn;
        }
    }
}

void lstm_forward(const lstm_forward_task& t) {
    const std::size_t width = t.width;
    const float *b_i = t.bias_ih, *b_f = b_i + width, *b_g = b_f + width, *b_o = b_g + width;
    const float *c_i = t.bias_hh, *c_f = c_i + width, *c_g = c_f + width, *c_o = c_g + width;
    for (std::size_t s = 0; s < t.samples; ++s) {
        const float *p_i = t.product + 4 * s * width, *p_f = p_i + width, *p_g = p_f + width,
                    *p_o = p_g + width;
        float *i = t.gates.of(s), *f = i + width, *g = f + width, *o = g + width;
        float *state = t.state + s * width, *cell = t.cell + s * width;
        float *output = t.output.of(s), *cells = t.cells.of(s);
        TROUPE_EACH_BY_ITSELF
        for (std::size_t j = 0; j < width; ++j) {
            const float in = logistic(i[j] + p_i[j] + (b_i[j] + c_i[j]));
            const float forget = logistic(f[j] + p_f[j] + (b_f[j] + c_f[j]));
            const float next = tangent(g[j] + p_g[j] + (b_g[j] + c_g[j]));
            const float out = logistic(o[j] + p_o[j] + (b_o[j] + c_o[j]));
            const float c = forget * cell[j] + in * next;
            const float h = out * tangent(c);
            i[j] = in;
            f[j] = forget;
            g[j] = next;
            o[j] = out;
            cell[j] = cells[j] = c;
            state[j] = output[j] = h;
        }
    }
}

void lstm_backward(const lstm_backward_task& t) {
    const std::size_t width = t.width;
    float *b_i = t.to_bias, *b_f = b_i + width, *b_g = b_f + width, *b_o = b_g + width;
    for (std::size_t s = 0; s < t.samples; ++s) {
        const float *i = t.gates.of(s), *f = i + width, *g = f + width, *o = g + width;
        const float *cells = t.cells.of(s), *previous = t.previous_cells.of(s);
        const float *dy = t.output_gradient.of(s), *to_state = t.to_state + s * width;
        float* to_cell = t.to_cell + s * width;
        float *g_i = t.to_gates.of(s), *g_f = g_i + width, *g_g = g_f + width, *g_o = g_g + width;
        float *p_i = t.to_product + 4 * s * width, *p_f = p_i + width, *p_g = p_f + width,
              *p_o = p_g + width;
        TROUPE_EACH_BY_ITSELF
        for (std::size_t j = 0; j < width; ++j) {
            const float dh = dy[j] + to_state[j];
            const float tanh_c = tangent(cells[j]);
            const float dc = to_cell[j] + dh * o[j] * ((1.f - tanh_c) * (1.f + tanh_c));
            const float to_i = dc * g[j] * (i[j] * (1.f - i[j]));
            const float to_f = dc * previous[j] * (f[j] * (1.f - f[j]));
            const float to_g = dc * i[j] * ((1.f - g[j]) * (1.f + g[j]));
            const float to_o = dh * tanh_c * (o[j] * (1.f - o[j]));
            to_cell[j] = dc * f[j];
            g_i[j] = p_i[j] = to_i;
            g_f[j] = p_f[j] = to_f;
            g_g[j] = p_g[j] = to_g;
            g_o[j] = p_o[j] = to_o;
            b_i[j] += to_i;
            b_f[j] += to_f;
            b_g[j] += to_g;
            b_o[j] += to_o;
        }
    }
}

} // namespace

extern const recurrent_loops TROUPE_RECURRENT_LOOPS;
const recurrent_loops TROUPE_RECURRENT_LOOPS{gru_forward, gru_backward, lstm_forward,
                                             lstm_backward};

} // namespace troupe::cpu

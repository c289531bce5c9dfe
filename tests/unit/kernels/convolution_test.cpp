#include <boost/test/unit_test.hpp>

#include <string>

#include "kernels/cpu/convolution.hpp"
#include "kernels/cpu/cpu_operations.hpp"

using namespace troupe;
using namespace troupe::cpu;

namespace {

std::string implementation(const compiled_pass& pass) {
    const char* name = "";
    dnnl_primitive_desc_query(pass.primitive.get_primitive_desc(), dnnl_query_impl_info_str, 0,
                              &name);
    return name;
}

} // namespace

// They take 30 times as long as any other. For blocks of channels oneDNN has nothing else in most cases without AVX2, and
// with it for windows of 11 x 11 in 3 channels.
BOOST_AUTO_TEST_CASE(no_convolution_goes_by_onednns_plain_loops) {
    memory_pool pool{1 << 20};
    const cpu_operations ops{pool, false};
    const dnnl::engine engine{dnnl::engine::kind::cpu, 0};
    for (const std::size_t in : {1, 3, 32})
        for (const std::size_t kernel : {1, 3, 5, 11}) {
            conv2d_settings settings;
            settings.stride = kernel == 11 ? 4 : 2;
            settings.padding = kernel / 2;
            settings.input_block = ops.channel_block(in);
            settings.output_block = ops.channel_block(32);
            convolution c{engine, {4, in, 64, 64, 32, kernel, kernel, true, settings}, false};
            for (const compiled_pass* pass :
                 {&c.forward(), &c.backward_input(), &c.backward_weight()})
                BOOST_TEST(implementation(*pass).find("ref") == std::string::npos,
                           implementation(*pass)
                               << " for " << in << " channels, kernel " << kernel);
        }
}

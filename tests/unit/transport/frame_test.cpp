#include <boost/test/unit_test.hpp>

#include "transport/frame/frame.hpp"

using namespace troupe;

BOOST_AUTO_TEST_SUITE(frames)

BOOST_AUTO_TEST_CASE(a_finished_frame_says_its_type_body_and_tensors) {
    memory_pool pool{1 << 20};
    frame_builder<proto::Rejected> builder;
    builder.body().setSequence(7);
    builder.body().setReason("no such actor");
    builder.envelope().setWork(42);
    builder.attach(tensor::allocate(pool, data_type::uint8, {2, 3}).value());
    const frame_ptr f = std::move(builder).finish();

    BOOST_TEST(f->body_type() == type_id_of<proto::Rejected>());
    BOOST_TEST(f->body<proto::Rejected>().getSequence() == 7u);
    BOOST_TEST(f->envelope().getWork() == 42u);
    BOOST_TEST(f->root().getTensors().size() == 1u);
    BOOST_TEST(f->root().getTensors()[0].getBytes() == 6u);
    BOOST_TEST(f->tensor_bytes() == 6u);
}

BOOST_AUTO_TEST_SUITE_END()

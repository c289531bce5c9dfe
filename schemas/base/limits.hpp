// Every limit of Troupe, in one place. A value from outside is compared with these before it is used.
#pragma once

#include <cstddef>
#include <cstdint>

namespace troupe::limits {

inline constexpr std::size_t frame_words_max = 1u << 20; // a message body of 8 MiB, without tensors
inline constexpr std::size_t frame_tensors_max =
    4096; // tensors attached to one frame: a stage's weights
inline constexpr std::uint64_t frame_bytes_max = 1ull << 32; // words and tensors together: 4 GiB
inline constexpr std::size_t tensor_rank_max = 8;            // dimensions of a tensor
inline constexpr std::uint64_t layer_elements_max =
    1ull << 32; // of one sample's output, or of one parameter
inline constexpr std::size_t handshake_bytes_max =
    1024; // anything read before a peer has proven the key
inline constexpr std::size_t worker_address_bytes_max = 1u << 13; // of a UCX worker
inline constexpr std::size_t control_bytes_max =
    1u << 14;                                    // a message between nodes that have proven the key
inline constexpr std::size_t key_bytes_min = 16; // of the cluster's key
inline constexpr std::size_t key_bytes_max = 4096;
inline constexpr std::size_t name_bytes_max = 128; // of a node, an actor, a layer
inline constexpr std::size_t reason_bytes_max =
    1u << 13; // of a failure's or a refusal's sentence; a path fits
inline constexpr std::size_t path_bytes_max = 4096;   // of a file name
inline constexpr std::size_t nodes_max = 4096;        // members of one cluster
inline constexpr std::size_t node_devices_max = 1024; // of one node
inline constexpr std::size_t address_bytes_max = 300; // HOST:PORT
inline constexpr std::size_t stages_max = 256;        // of one pipeline
inline constexpr std::uint32_t replicas_max = 64;     // of one run; agrees with topology.capnp
inline constexpr float slow_down_max = 100;           // of a device; agrees with topology.capnp
inline constexpr std::uint32_t batch_max = 1u
                                           << 20; // samples in a minibatch; agrees with app.capnp
inline constexpr std::size_t node_actors_max = 4096; // of all runs on one node
inline constexpr std::size_t stage_labels_max =
    1u << 16; // labels that wait for their samples at a last stage
inline constexpr std::size_t layers_max = 4096;             // of one model
inline constexpr std::size_t layer_depth_max = 16;          // blocks within blocks of one model
inline constexpr std::size_t app_file_bytes_max = 1u << 20; // of one app file
inline constexpr std::size_t app_file_depth_max =
    96; // lists and maps inside each other in an app file: five for a block
inline constexpr std::size_t app_file_bases_max = 8;            // app files that one builds on
inline constexpr std::uint64_t dataset_bytes_max = 1ull << 36;  // of one data set in memory: 64 GiB
inline constexpr std::uint64_t matrix_rows_max = 1ull << 27;    // of one matrix in data files
inline constexpr std::uint64_t matrix_columns_max = 1ull << 27; // likewise; an index fits int32
inline constexpr std::size_t text_line_bytes_max = 1u << 28;    // of a file of numbers
inline constexpr std::size_t checkpoint_header_bytes_max = 1u << 24; // JSON of a safetensors file
inline constexpr std::size_t checkpoint_manifest_bytes_max = 1u << 22;
inline constexpr std::uint64_t checkpoint_file_bytes_max = 1ull
                                                           << 40; // of one file of a checkpoint
inline constexpr std::size_t actor_batch_max =
    64; // messages an actor handles before it yields its thread
inline constexpr std::size_t remote_actors_max = 1u << 16; // of one peer that a node talks to
inline constexpr std::size_t filter_fields_max = 16;       // of one filter of messages
inline constexpr std::size_t tails_max = 64;               // open at one node
inline constexpr std::size_t tail_credit_max = 1u
                                               << 16; // events of a tail that may be on their way
inline constexpr std::size_t tail_body_bytes_max = 4096;      // of a message, as text
inline constexpr std::size_t trace_batch_events_max = 4096;   // in one answer to ReadTrace
inline constexpr std::size_t trace_events_default = 1u << 16; // events in a node's trace ring
inline constexpr std::size_t peer_queue_bytes_soft =
    64u << 20; // above it, senders to this peer are parked
inline constexpr std::size_t peer_queue_bytes_hard = 1ull << 33; // above it, the peer is given up
inline constexpr std::size_t peer_queue_frames_soft = 4096;
inline constexpr std::size_t peer_backlog_bytes_max =
    1u << 30; // of one peer, arrived outside the pool; then it is given up

static_assert(app_file_depth_max > 5 * (layer_depth_max + 1) + 5);
static_assert(frame_words_max * 8 < frame_bytes_max);
static_assert(frame_tensors_max <= 0xffff); // 16 bits of a frame's header
static_assert(peer_queue_bytes_soft < peer_queue_bytes_hard);
static_assert(frame_bytes_max < peer_queue_bytes_hard);
static_assert(matrix_rows_max < 1ull << 31 && matrix_columns_max < 1ull << 31);

} // namespace troupe::limits

// SIGINT, SIGTERM and SIGHUP as something that a waiting program notices: a count and a file descriptor.
//
// This is the one place with process-wide state, because signals are.
#pragma once

namespace troupe::cli {

// Installs handlers that only note the signal. SIGPIPE is ignored: a closed pipe is an error of the write. SIGHUP stays
// ignored if the program was started so, as by nohup.
void install_signal_handlers();

// From now on SIGHUP is no stop signal, also where the program was started with it ignored: take_hangup() tells of it.
void note_hangups();
// Whether one has come since the last call. Empties the descriptor.
bool take_hangup() noexcept;

// The number of stop signals so far, and the last one's number (0: none). A signal within 0.3 s of the first belongs to it,
// since `timeout` and batch systems send one to a program and one to its group.
int stop_signals() noexcept;
int last_signal() noexcept;

// Becomes readable when a signal comes, and stays so until take_hangup(); for poll().
int signal_descriptor() noexcept;

} // namespace troupe::cli

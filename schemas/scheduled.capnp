@0xa4d7c01b92e63f01;
# Programs of scheduled parameters: schedulers choose at run time which variables are updated together, workers that hold the
# data compute for them, and the schedulers fold what comes back into the variables, within a bounded staleness.
#
# Actors: the leader, which is the run's root; schedulers, each with a range of the variables; workers, each with a range of the
# data's rows and a device. Agents spawn schedulers and workers (run.capnp).
#
#   leader --Piece--> worker             worker --PieceTaken--> leader       its share of the data, some pieces ahead
#   leader --StartProgram--> all         each --ProgramReady--> leader       once for each incarnation, with the state to start from
#   scheduler --Phase--> every worker    worker --Partial--> scheduler       phase k by scheduler k mod S
#   worker --Partial--> other schedulers                                     of a probe: to each scheduler its own part
#   scheduler --Deltas--> other schedulers                                   what a phase changed, or the judgement of a probe
#   scheduler 0 --PhasesDone, ProbeDone--> leader                            how far the run is
#   worker --BlockTurn--> the next worker                                    if the variables rotate
#   leader --MarkPhase--> scheduler 0    all --StateSaved--> leader          at the phase that scheduler 0 marks
#   leader --CommitComplete--> schedulers                                    when all have saved what they are at it
#   leader --ReplaceWorkers--> schedulers  each --WorkersReplaced--> leader  if workers alone are lost
#   worker --PhasePassed--> scheduler                                        for a phase that had been folded before
#   scheduler --ProgramEnded--> leader                                       with its variables; of some programs workers, too
#   scheduler, worker --PeerLost--> leader                                   a node that the leader may still reach
#
# A phase has a number, which counts from 0 over the run. A worker computes phase k when it has applied the deltas of exactly
# the phases below k - window, in order; Phase k brings those of phase k - window - 1. A scheduler folds phases in the order of
# their numbers, its own from the partial results of all workers, in their order, those of others from their Deltas. It
# chooses phase k when it has folded exactly the phases below k - window. So all that is computed depends on the seed, the
# window and the numbers of workers and schedulers alone.
#
# A phase may be a probe, which changes nothing: each worker computes a part for every scheduler, each scheduler judges its
# part and tells the others, and all conclude the same from all judgements, among other things whether the run is over. Then
# they end with the variables as they were when they folded that probe; later phases, under way meanwhile, are dropped.
#
# Variables may rotate: they are in blocks, which pass from worker to worker as actors/scheduled/rotation.hpp says. There is one
# scheduler then. A phase is a turn, with which a worker waits for its block, too; the last phase of each sweep is a probe. The
# window counts turns: a worker computes a phase when it has applied the deltas of exactly those turns that are more than the
# window before it, and the scheduler chooses the phase when it has folded exactly the phases up to the last one of these. So
# the next turns do not wait for a probe (actors/scheduled/staleness.hpp; workers are not told of the probe's deltas, which are
# none). A block is with one worker, or on its way to one. At a marked phase a worker waits until it has the blocks of its next turns,
# which all come without anybody computing the marked phase, and saves them.
#
# If part of the result is with the workers, the run ends at a phase marked `stop`, before which everybody saves what it is. If
# a probe concludes that the run is over, this is the first phase that is chosen after the probe has been folded: the variables
# are then some phases further than those that the probe has judged, the same number in every run.
# If the run has checkpoints it ends there in any case, so that it can go on with other bounds: schedulers send their variables
# as they were at the probe, and then go on to that phase.
#
# Failures: at a marked phase everybody saves what it is at that phase, without waiting for what is under way: a worker before
# it computes it, a scheduler before it folds it, with its phases that are under way and the deltas that are in flight. When all
# have, it is a commit. If an actor is lost, the leader has it spawned anew and deals its share of the data again. Then
#
# - if a scheduler is lost, or the variables rotate, or there is no commit, all start from the commit, or from the beginning, in
#   the next incarnation. Messages of earlier incarnations are dropped. What was computed since is computed again, to the same
#   bits.
# - if workers alone are lost, the incarnation stays, and all others keep what they have; the phases go on as far as the window
#   allows. Each new worker is started from what the lost one saved at the commit. Schedulers keep their phases since the commit,
#   with the deltas that these brought, and send them to the new worker once more, in order. Of those that have been folded it
#   applies the deltas, changes what else they change of it, and computes no partial results; the others it computes as all
#   workers do. A partial result that the lost worker has sent already has the same bits: it is dropped. At a phase marked `save`
#   the new worker saves what it is, so that a commit that was half made becomes whole. If a scheduler does not keep phases so
#   far back (they are bounded), or another actor is lost before the schedulers know the new worker, all go back to the commit.
#
# The leader notices a node that is lost to itself. Two nodes may lose each other alone: by a cut between them, or because one was
# stopped for longer than the other waits. Schedulers and workers watch those they send to, and tell the leader by PeerLost. It
# gathers what it is told for a second, and parts with as few nodes as it takes (actors/scheduled/lost_pairs.hpp): what the run has
# there ends.

using Cxx = import "/capnp/c++.capnp";
using App = import "program_app.capnp";
using Device = import "device.capnp";
using Run = import "run.capnp";
using import "annotations.capnp".nodeLocal;
$Cxx.namespace("troupe::proto");

struct NumberRange { first @0 :UInt64; count @1 :UInt64; }

struct ProgramRun {
  # What all actors of a run are told: part of their options.
  program @0 :Text;             # "lasso": a row of the table of programs of the node
  settings @1 :AnyPointer;      # a struct of the program's schema
  settingsType @2 :UInt64;      # its schema id: if the node expects another one, its program is another version
  schedule @3 :App.ProgramSchedule;
  stop @4 :App.ProgramStop;
  unitNorm @5 :Bool;            # data.scale
  seed @6 :UInt64;
  rows @7 :UInt64;              # of the whole data, like columns and entries
  columns @8 :UInt64;
  entries @9 :UInt64;           # that are stored
  sparse @10 :Bool;
  workers @11 :UInt32;
  variables @12 :List(NumberRange);  # of each scheduler
  moduleSha256 @13 :Text;       # of the program's module; empty: it is part of troupe
  blocks @14 :List(NumberRange);  # variables of each block; empty if variables do not rotate
  savesEnd @15 :Bool;           # the run has checkpoints: everybody saves what it is when the run is over
}

struct SchedulerOptions {
  # Options of role "scheduler" (run.capnp).
  run @0 :ProgramRun;
  scheduler @1 :UInt32;         # its number, from 0
}

struct ProgramWorkerOptions {
  # Options of role "program-worker" (run.capnp), on the device that computes.
  run @0 :ProgramRun;
  worker @1 :UInt32;            # its number, from 0
  rows @2 :NumberRange;
  entries @3 :UInt64;           # that are stored in these rows
}

struct Piece {
  # Leader to worker: rows of its share, in order. Answered by PieceTaken; the leader keeps a few unanswered.
  number @0 :UInt32;            # counts from 0 for each worker
  last @1 :Bool;
}                               # attachments: as actors/scheduled/data_pieces.hpp says

struct PieceTaken { number @0 :UInt32; }

struct StartProgram {
  # Leader to every scheduler and worker, when all data has been dealt, or dealt again. Answered by ProgramReady. Messages of
  # other incarnations are dropped from now on.
  incarnation @0 :UInt32;       # counts from 1
  schedulers @1 :List(Run.ActorAddress);
  workers @2 :List(Run.ActorAddress);
  state @3 :SavedState;         # as it was saved; null: the run begins
}                               # attachments: those of `state`

struct ProgramReady {
  # Everybody to leader, in answer to StartProgram.
  incarnation @0 :UInt32;
}

struct BeginPhases {
  # Leader to every scheduler, when all are ready: all that were started, and all that were told of replaced workers.
  incarnation @0 :UInt32;
}

struct ReplaceWorkers {
  # Leader to every scheduler, when it sends StartProgram to workers that take the places of lost ones. Answered by
  # WorkersReplaced. From BeginPhases on the scheduler sends each of them its own phases, beginning with the phase that
  # `number` says.
  incarnation @0 :UInt32;       # it stays
  workers @1 :List(ReplacedWorker);
}

struct ReplacedWorker {
  worker @0 :UInt32;
  address @1 :Run.ActorAddress;
  number @2 :UInt64;            # the phase of its state
}

struct WorkersReplaced {
  # Scheduler to leader, in answer to ReplaceWorkers.
  incarnation @0 :UInt32;
  replayed @1 :UInt64;          # own phases that each of the new workers is sent again
  forgotten @2 :Bool;           # it does not keep all of them any more: all have to go back
}

struct PeerLost {
  # Scheduler or worker to leader: my node has lost the node of this actor. Dropped if the sender or the actor is no part of the
  # run any more.
  actor @0 :Run.ActorAddress;
  failure @1 :Device.Failure;
}

struct CommitComplete {
  # Leader to every scheduler: nobody goes back behind this phase.
  incarnation @0 :UInt32;
  number @1 :UInt64;
}

struct Phase {
  # Scheduler to every worker. To one that takes the place of a lost one also its phases since that one's state: until it has
  # sent all, it sends phase k when k < n + 64, where n - 1 is the last of its phases that the worker has answered, by
  # Partial or by PhasePassed, and n at first the phase of the state. So there are at most 64 schedulers.
  incarnation @0 :UInt32;
  number @1 :UInt64;
  probe @2 :Bool;
  mark @3 :Mark;
  content @4 :UInt16;           # the first attachments are the phase's content; the others are the deltas of phase
                                # number - window - 1, or of the last turn that is due; none if there is no such phase
  folded @5 :Bool;              # it has been: answered by PhasePassed, not by Partial
}

enum Mark {
  none @0;
  save @1;                      # everybody saves what it is at this phase
  stop @2;                      # the run ends before this phase is folded
}

struct Partial {
  # Worker to the phase's scheduler; of a probe to each scheduler.
  incarnation @0 :UInt32;
  number @1 :UInt64;
  probe @2 :Bool;
  mark @3 :Mark;                # of the phase, as the other schedulers do not see it
}                               # attachments: what the program's worker part has computed

struct PhasePassed {
  # Worker to the phase's scheduler: it is behind a phase that had been folded. Refused for any other phase.
  incarnation @0 :UInt32;
  number @1 :UInt64;
}

struct BlockTurn {
  # Worker to the next worker: a block that it has computed with, for the turn in which that one does.
  incarnation @0 :UInt32;
  block @1 :UInt32;
  turn @2 :UInt64;
}                               # attachments: the program's

struct Deltas {
  # Scheduler to every other scheduler: what its phase has changed, or of a probe its judgement.
  incarnation @0 :UInt32;
  number @1 :UInt64;
  probe @2 :Bool;
  mark @3 :Mark;                # of the phase
}                               # attachments: the program's

struct PhasesDone {
  # Scheduler 0 to leader, now and then: the phases below `number` have been folded.
  incarnation @0 :UInt32;
  number @1 :UInt64;
}

struct ProbeDone {
  # Scheduler 0 to leader: a probe has been concluded.
  incarnation @0 :UInt32;
  number @1 :UInt64;
  numbers @2 :List(Run.NamedNumber);
}                               # attachments: the program's, of which the leader writes what there is of the result

struct MarkPhase {
  # Leader to scheduler 0: mark the next phase that you choose.
  incarnation @0 :UInt32;
  mark @1 :Mark;
}

struct SavedState {
  # What an actor is at a phase. The attachments of the message that holds it are its tensors, in the order of these lists.
  number @0 :UInt64;            # the phase
  names @1 :List(Text);         # state of the program's part, one tensor each
  phases @2 :List(SavedPhase);  # of a scheduler: its own phases from `number` on that have been chosen
  deltas @3 :List(SavedPhase);  # of a scheduler: of the phases before `number` that a later phase still brings, or needs;
                                # of a worker: to be applied as soon as its part is loaded, if the run goes on as another one
  milestones @4 :UInt32;        # of a scheduler: probes that have been concluded
  blocks @5 :List(SavedBlock);  # of a worker: those of its next turns
  stopsAt @6 :UInt64;           # of a scheduler: the phase at which the run ends, as a probe has concluded; 0: none has
  done @7 :Bool;                # of stopsAt: the program says so, not the bound of sweeps
}

struct SavedBlock {
  block @0 :UInt32;
  turn @1 :UInt64;
  tensors @2 :UInt16;
}

struct SavedPhase {
  number @0 :UInt64;
  probe @1 :Bool;
  tensors @2 :UInt16;
}

struct StateSaved {
  # Everybody to leader, at a phase marked `save`; and, if the run has checkpoints and no part of the result is with the
  # workers, at the one marked `stop`.
  incarnation @0 :UInt32;
  state @1 :SavedState;
  last @2 :Bool;                # it is that one
}                               # attachments: those of `state`

struct ProgramEnded {
  # Scheduler to leader: the run is over, by a probe, by the bound of phases, or at a phase marked `stop`. Worker to leader, if
  # part of the result is with the workers.
  incarnation @0 :UInt32;
  state @1 :SavedState;
}                               # attachments: those of `state`

# ---- what the leader tells itself ----

struct CommitDue $nodeLocal {
  # Timer of the leader: it is time to mark a phase at which all save what they are.
  incarnation @0 :UInt32;
}

struct LostPairsDue $nodeLocal {
  # Timer of the leader: it is time to decide which of the nodes go that have lost each other.
}

struct TimeIsUp $nodeLocal {
  # Timer of the leader: the seconds that the app file allows are over.
}

struct WriteEnd $nodeLocal {
  # The run is over: it is time to write what it ends with. Also a timer of the leader, if that could not be written before.
}

@0xe98ae5b62e87696f;
# The actors of a run: how the leader of a run has them spawned on nodes, and how they end. The behaviour of a role, and the
# messages between its actors, are in the schema of its family.
#
# Actors: the asker, which leads the run (the trainer in the process of `troupe run`), one agent per node (well-known actor
# 2) that owns the node's devices, and the actors that agents spawn.
#
#   asker --Spawn--> agent        agent --Spawned | SpawnFailed--> asker
#   asker --EndActors--> agent    nothing: these actors end, the run goes on without them
#   asker --Release--> agent      nothing: the run is over
#
# The process of a run asks all agents now and then whether they are there.
#
#   process of a run --AreYouThere--> agent --HereIAm--> process of a run
#
# The asker, the root of the run, tells a listener beside it how the run goes. Nothing is answered.
#
#   asker --RunStarted, RunProgress, RunMilestone, RunNote, RunFinished--> listener
#   owner --StopRun--> asker      RunFinished, when the run has come to a good place to end
#
# A run gets actors, never programs: an agent spawns the roles in the table of its node's program, with options that it
# checks before it spawns anything.
#
# A run is identified by `run`, drawn at random by its asker. An agent assigns the run to the first asker that names it,
# rejects others, and ends the run with that asker: it watches the asker of every run that it hosts, and ends the run's
# actors when the asker or its node is gone.

using Cxx = import "/capnp/c++.capnp";
using Device = import "device.capnp";
using import "annotations.capnp".nodeLocal;
$Cxx.namespace("troupe::proto");

struct ActorAddress { node @0 :UInt64; actor @1 :UInt64; }

struct Spawn {
  # Asker to an agent: spawn an actor of this role on one of your devices. Answered by Spawned or SpawnFailed.
  run @0 :UInt64;
  request @1 :UInt64;           # identifies this request in its answer; not shared with another living actor of the run on
                                # the node
  role @2 :Text;                # "stage"
  device @3 :Text;              # "cpu:0"
  optionsType @4 :UInt64;       # schema id of `options`: if the node expects another id for this role, it has another
                                # version
  options @5 :AnyPointer;       # a struct of the role's family, named after the role: StageOptions
}                               # the sender is the asker of the run

struct Spawned {
  # Agent to asker, the answer to Spawn: the actor exists.
  run @0 :UInt64;
  request @1 :UInt64;
  address @2 :ActorAddress;
}

struct SpawnFailed {
  # Agent to the sender of a Spawn, as its answer: the request has failed, and nothing has been spawned for it.
  run @0 :UInt64;
  request @1 :UInt64;
  failure @2 :Device.Failure;
}

struct EndActors {
  # Asker to an agent: the run goes on without these actors. Not answered; actors that are not of this run are not affected.
  run @0 :UInt64;
  actors @1 :List(ActorAddress);
  failure @2 :Device.Failure;   # reason, reported to their watchers
}

struct Release {
  # Asker to agent: the run is over, end its actors.
  run @0 :UInt64;
  failure @1 :Device.Failure;   # null: completed; `cancelled`: stopped; otherwise it has failed
}

struct AreYouThere {
  # A run's process to an agent, every few seconds. Answered at once by HereIAm, as nothing that an agent does takes long: a
  # device does what an actor needs before it can be spawned. An agent that answers nothing for the run's patience is given up
  # with its node, though its heartbeats come.
}

struct HereIAm {
  # Agent to the sender of AreYouThere, as its answer.
}

struct QuestionDue $nodeLocal {
  # The actor that asks to itself, once per interval.
}

# ---- how a run goes ----

struct RunStarted {
  # Asker to listener, once: all actors of the run are there and it begins.
  run @0 :UInt64;
  nodes @1 :UInt32;             # that carry actors of the run
  milestone @2 :Text;           # the name of what a run of this kind counts: "epoch"
  milestones @3 :UInt32;        # how many of them the whole run has, those of a run that it resumes included; 0: not known
  plan @4 :Text;                # for people: which actor is where, in lines
  planJson @5 :Text;            # the same for programs: a JSON object
  notes @6 :List(Text);         # sentences: what of the plan may not be meant
  resumedFrom @7 :Text;         # the checkpoint that the run goes on from; empty: it begins anew
}

struct NamedNumber {
  name @0 :Text;                # in snake_case: "test_accuracy"
  value @1 :Float64;
  style @2 :NumberStyle;
}

enum NumberStyle {
  real @0;                      # shown with four decimals
  share @1;                     # 0 to 1, shown in percent
  count @2;                     # a whole number
  rate @3;                      # pieces a second, of which its name says what they are: "samples_per_second"
  seconds @4;
  precise @5;                   # shown with six significant digits
}

struct RunProgress {
  # Asker to listener, as often as something is done: how far the milestone is that comes next.
  run @0 :UInt64;
  milestone @1 :UInt32;         # counts from 0
  done @2 :UInt64;              # pieces of work of this milestone
  pieces @3 :UInt64;            # that it has in all; 0: not known
  piece @4 :Text;               # what they are: "samples"
  elapsedNs @5 :UInt64;         # since this milestone was begun
  numbers @6 :List(NamedNumber);  # over what is done
}

struct RunMilestone {
  # Asker to listener: a milestone has been reached.
  run @0 :UInt64;
  milestone @1 :UInt32;         # counts from 0
  numbers @2 :List(NamedNumber);
}

struct RunNote {
  # Asker to listener: something that people should know, and that does not end the run.
  run @0 :UInt64;
  sentence @1 :Text;
}

struct RunFinished {
  # Asker to listener, the last one of a run: how it ended, and its actors in figures.
  run @0 :UInt64;
  failure @1 :Device.Failure;   # null: it is done; `cancelled`: it was stopped; else it has failed
  saved @2 :Text;               # the folder of the last checkpoint that was saved or resumed from; empty: none
  milestones @3 :UInt32;        # that it has reached, those of a run that it resumed included
  numbers @4 :List(NamedNumber);  # of the last one; none where this run has reached none
  remarks @5 :List(Text);       # for people, in a few words each: "1 replica lost on the way"
  actors @6 :List(Text);        # for people, a line each: "stage 0: busy 93%"
  json @7 :Text;                # for programs: a JSON object with what the kind of job has to say of its end
  doubts @8 :List(Text);        # sentences: what of the outcome is hardly meant
}

struct StopRun $nodeLocal {
  # The owner of a run to its asker: end at the next good place, a checkpoint if there are any. Once more: end at once.
}

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
# A run gets actors, never programs: an agent spawns the roles in the table of its node's program, with options that it
# checks before it spawns anything.
#
# A run is identified by `run`, drawn at random by its asker. An agent assigns the run to the first asker that names it,
# rejects others, and ends the run with that asker: it watches the asker of every run that it hosts, and ends the run's
# actors when the asker or its node is gone.

using Cxx = import "/capnp/c++.capnp";
using Device = import "device.capnp";
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

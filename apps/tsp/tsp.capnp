@0xe9c2b4d6f8a01330;
# Settings of the program "tsp".

using Cxx = import "/capnp/c++.capnp";
using A = import "/schemas/annotations.capnp";
$Cxx.namespace("troupe::proto");

struct TspSettings
    $A.doc("Short tours through cities (data.tsplib) by colonies of ants, one for each worker, which tell each other their best "
        "tours. schedule is cyclic: its window is how many phases a colony may be ahead of what it knows of the others, its set "
        "the tours that a colony builds in a phase. stop.length and stop.iterations end a run, of which the latter counts the "
        "tours that each colony has built; stop.gap means nothing here.") {
  colony @0 :AntColony = focused $A.doc("What an ant does, and where trails are laid.");
  localSearch @1 :TourSearch = linKernighan $A.doc("How what an ant has built is made shorter.");
  ants @2 :UInt32 = 0 $A.min(0) $A.max(1048576)
      $A.doc("Tours that are built between two changes of all trails. 0: 10 of ant_colony_system, a quarter of the cities of "
          "focused, 64 at least, 25 of the others with a local search, and else as many as cities, 1000 at most. What a phase "
          "builds is rounded up to whole changes, but with focused.");
  alpha @3 :Float64 = 1 $A.min(0) $A.max(20) $A.doc("Power of an edge's trail in the choice of the next city.");
  beta @4 :Float64 = 2 $A.min(0) $A.max(20) $A.doc("Power of an edge's nearness, 1 / length, in that choice.");
  rho @5 :Float64 = 0 $A.min(0) $A.max(1)
      $A.doc("Share of the trails that evaporates when they are changed. 0: 0.1 of ant_colony_system and focused, 0.2 of max_min, "
          "without a local search 0.02, and 0.5 of ant_system.");
  q0 @6 :Float64 = 0.9 $A.min(0) $A.max(1)
      $A.doc("With colony: ant_colony_system, how often an ant goes to the best candidate outright.");
  candidates @7 :UInt32 = 0 $A.min(0) $A.max(32)
      $A.doc("Near cities of each city on whose edges trails lie, and among which searches look. 0: 8 of focused, 20 of the others.");
  choice @8 :CityChoice = exact $A.doc("How an ant chooses among candidates.");
  exchange @9 :TourExchange = ring $A.doc("To which colonies a colony's best tour goes.");
  exchangeEvery @10 :UInt64 = 0 $A.min(0) $A.max(1000000000000)
      $A.doc("Tours that a colony builds between two exchanges, rounded up to whole phases. 0: those of a few phases.");
}

enum AntColony {
  antSystem @0 $A.doc("All ants build tours and lay trails: Dorigo, Maniezzo and Colorni 1996.");
  maxMin @1 $A.doc("The best ant lays trails, which have limits and begin anew where ants agree: Stuetzle and Hoos 2000.");
  antColonySystem @2 $A.doc("Ants take trails up as they go, and the best one lays them: Dorigo and Gambardella 1997.");
  focused @3 $A.doc("An ant changes a few edges of a good tour, so that its time hardly depends on the number of cities: "
      "Skinderowicz 2022.");
}

enum TourSearch {
  none @0 $A.doc("Tours as ants build them.");
  twoOpt @1 $A.doc("Exchanges of two edges.");
  threeOpt @2 $A.doc("Exchanges of up to three edges.");
  linKernighan @3 $A.doc("Chains of exchanges, as long as they pay.");
}

enum CityChoice {
  exact @0 $A.doc("In proportion to trail^alpha nearness^beta.");
  iRoulette @1 $A.doc("The largest of these weights, each times a random number; good ones are preferred more than in proportion: "
      "Cecilia et al. 2013.");
}

enum TourExchange {
  ring @0 $A.doc("To the next one, and on by it: good tours take a while to be everywhere.");
  all @1 $A.doc("The best one goes to all.");
  none @2 $A.doc("To none: each colony is alone.");
}

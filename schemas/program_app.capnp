@0xe9c2b4d6f8a01304;
# The app file of a program of scheduled parameters: variables that schedulers choose and change in numbered phases, for
# which workers compute on their shares of the data. The loader reads the YAML straight into this struct, as with app.capnp:
# this file is the only source of defaults, ranges and documentation. The settings of a program have a schema of their own,
# which comes with the program.

using Cxx = import "/capnp/c++.capnp";
using A = import "annotations.capnp";
$Cxx.namespace("troupe::proto");

struct ProgramApp $A.doc("A program of scheduled parameters: data, program, schedule and stopping rule.") {
  troupe @0 :UInt16 $A.required $A.min(1) $A.max(1) $A.doc("Version of the app file format. This build reads 1.");
  data @1 :ProgramData $A.required $A.doc("The data, whose rows are divided among the workers.");
  program @2 :Program $A.required $A.doc("What is computed.");
  schedule @3 :ProgramSchedule
      $A.doc("Choice of the variables that change together, and division of the work. Dynamic when absent.");
  stop @4 :ProgramStop
      $A.doc("Bounds of the run, which ends at the first that is reached. A gap of 1e-6 when absent.");
  result @5 :ProgramResult $A.doc("What the program leaves behind. Nothing is written when absent.");
  checkpoint @6 :ProgramCheckpoint
      $A.doc("Folder and frequency of checkpoints, from which --resume goes on, also with larger bounds when the run is over. "
          "Nothing is saved when absent.");
  seed @7 :UInt64 = 1
      $A.doc("Seed of everything that is drawn at random. The same app file on as many workers and shards gives the same "
          "result.");
  base @8 :Text $A.path $A.doc("Another app file, which provides the keys that this one does not set.");
}

struct Program $A.open $A.doc("Exactly one program, with its settings.") {
  name @0 :Text;
  settings @1 :AnyPointer;
}

# ---- data ----

struct ProgramData $A.doc("Exactly one source of data, and the scaling applied to it.") {
  union {
    matrix @0 :MatrixData $A.doc("A matrix from a file: a row for each sample, a column for each variable.");
    idx @1 :IdxMatrix
        $A.doc("IDX files, the format of MNIST and Fashion-MNIST, plain or gzip: a row for each image, a column for each "
            "pixel.");
    documents @3 :DocumentsData
        $A.doc("Texts, or counts of their words: a row for each document, a column for each word of the vocabulary, which "
            "holds how often the word is in the document.");
    ratings @4 :RatingsData $A.doc("Ratings: a row for each user, a column for each item, of which few have a number.");
    tsplib @5 :Text $A.path
        $A.doc("Cities of a travelling salesman, a row each: a file of TSPLIB 95 (.tsp, .atsp), or CSV with two coordinates a "
            "line; plain or gzip. Told apart by what the file begins with.");
  }
  scale @2 :ColumnScale = none $A.doc("Scaling of the columns before anything is computed.");
}

enum ColumnScale {
  none @0 $A.doc("The columns as they are.");
  unitNorm @1 $A.doc("Every column divided by its Euclidean norm. Results are in the units of the scaled columns.");
}

struct MatrixData {
  features @0 :Text $A.required $A.path
      $A.doc("The matrix: NumPy's .npy, or FILE.npz:MEMBER; SciPy's sparse .npz; CSV; libsvm; Matrix Market. Told apart by "
          "what the file begins with.");
  targets @1 :Text $A.path $A.doc("A number for each row, in a file of its own. None when absent.");
  targetColumn @2 :Text
      $A.doc("Column of a CSV file that holds the targets, instead of a file of targets: its name in the header, or its "
          "number, from 0. It is no part of the matrix.");
  header @3 :CsvHeader = auto $A.doc("Whether the first line of a CSV file has the names of the columns.");
}

enum CsvHeader {
  auto @0 $A.doc("It has if none of its fields is a number, or if they are 0, 1, 2, ... as pandas counts columns without "
      "names; a note says where there is doubt.");
  yes @1 $A.doc("It has.");
  no @2 $A.doc("It is a row.");
}

struct IdxMatrix {
  images @0 :Text $A.required $A.path $A.doc("Images: unsigned bytes, count x rows x columns; the numbers are 0 to 255.");
  labels @1 :Text $A.required $A.path $A.doc("Targets: the labels, unsigned bytes, one per image.");
}

struct DocumentsData {
  union {
    counts @0 :Text $A.path
        $A.doc("Counts of words, in the format of LDA-C (lines N WORD:COUNT ..., words from 0) or of the UCI bags of words "
            "(lines DOCUMENT WORD COUNT, from 1), plain or gzip. Told apart by what the file begins with.");
    text @1 :Text $A.path
        $A.doc("Folder of text files, plain or gzip, in UTF-8, each of which is a document; also those of folders within it, "
            "in the order of their names.");
    lines @2 :Text $A.path $A.doc("Text file, plain or gzip, in UTF-8, each line of which is a document.");
    dictionary @3 :Text $A.path
        $A.doc("Dictionary of a dictd server, NAME.dict.dz or NAME.dict, with NAME.index beside it; each entry is a document.");
  }
  vocabulary @4 :Text $A.path
      $A.doc("The words of counts, one per line, in the order of their numbers. When absent, words are called by these "
          "numbers.");
  stopWords @5 :StopWords = none $A.doc("Built-in list of words that are left out.");
  stopWordsFile @6 :Text $A.path $A.doc("Further words that are left out, one per line.");
  lengthMin @7 :UInt32 = 1 $A.min(1) $A.max(100) $A.doc("Letters of the shortest word that is kept.");
  stem @8 :Stemming = none
      $A.doc("Language of texts whose words are cut to their stems, so that forms of a word count as one; by Snowball's "
          "algorithms. Stop words and short words are left out before.");
  documentsMin @9 :UInt64 = 1 $A.min(1) $A.max(134217728) $A.doc("Words in fewer documents than this are left out.");
  documentsMaxShare @10 :Float64 = 1 $A.min(0) $A.max(1)
      $A.doc("Words in more than this share of the documents are left out.");
  wordsMax @11 :UInt64 = 0 $A.min(0) $A.max(134217728)
      $A.doc("Number of words, of which those that are there most often are kept. 0: no bound.");
}

enum StopWords {
  none @0 $A.doc("No list.");
  english @1 $A.doc("Common English words that say little about a subject: articles, pronouns, auxiliary verbs.");
}

enum Stemming {
  none @0 $A.doc("Words as they are.");
  english @1 $A.doc("English (Porter 2).");
  porter @2 $A.doc("English, by Porter's algorithm of 1980, which much of the literature uses.");
  danish @3 $A.doc("Danish.");
  dutch @4 $A.doc("Dutch.");
  finnish @5 $A.doc("Finnish.");
  french @6 $A.doc("French.");
  german @7 $A.doc("German.");
  hungarian @8 $A.doc("Hungarian.");
  italian @9 $A.doc("Italian.");
  norwegian @10 $A.doc("Norwegian.");
  portuguese @11 $A.doc("Portuguese.");
  romanian @12 $A.doc("Romanian.");
  russian @13 $A.doc("Russian.");
  spanish @14 $A.doc("Spanish.");
  swedish @15 $A.doc("Swedish.");
  turkish @16 $A.doc("Turkish.");
}

struct RatingsData {
  train @0 :Text $A.required $A.path
      $A.doc("Ratings, plain or gzip, one per line, in any order: MovieLens (u.data, ratings.dat, ratings.csv), or USER ITEM "
          "RATING separated by tabs, semicolons or blanks, below names or without; or a Matrix Market file with a row for each "
          "user. Told apart by what the file begins with.");
  test @1 :Text $A.path
      $A.doc("Ratings that are held out, to measure predictions by; in any of these formats. None when absent.");
}

# ---- schedule ----

struct ProgramSchedule
    $A.doc("Exactly one way to choose the variables that change together, and the division of the work.") {
  union {
    dynamic @0 :DynamicSchedule $A.assumed
        $A.doc("Variables drawn at random, those that changed most recently by large amounts more often: STRADS, Lee et al. "
            "2014.");
    cyclic @1 :CyclicSchedule $A.doc("All variables in turn, in their order.");
    rotation @4 :RotationSchedule
        $A.doc("Blocks of variables that pass from worker to worker, each with one at a time.");
  }
  workers @2 :UInt32 = 0 $A.min(0) $A.max(1024)
      $A.doc("Number of workers, each with a share of the data. 0: one per device.");
  shards @3 :UInt32 = 1 $A.min(1) $A.max(64)
      $A.doc("Number of schedulers, each with a share of the variables. More of them keep less each; for columns that are much "
          "alike one needs far fewer phases.");
}

struct DynamicSchedule {
  window @0 :UInt32 = 2 $A.min(0) $A.max(64)
      $A.doc("Number of phases that may be computed before the changes of earlier ones are known. A larger one hides the "
          "network; 0 waits for every phase.");
  set @1 :UInt32 = 0 $A.min(0) $A.max(65536)
      $A.doc("Variables per phase. 0: as many as make the work of a phase worth its messages.");
  couple @2 :Coupling = exact $A.doc("Treatment of variables that change together and depend on each other.");
  rho @3 :Float64 = 0.1 $A.min(0.01) $A.max(1)
      $A.doc("With couple: check, the largest correlation of two variables that change together, without its sign.");
  baseWidth @4 :Float64 = 0.1 $A.min(0) $A.max(1)
      $A.doc("Share of the mean last change that is added to the chance of every variable. At 0 those that did not change "
          "are never drawn again.");
}

enum Coupling {
  exact @0 $A.doc("The changes account for each other, and for those of the phases in flight: as good as one at a time.");
  check @1 $A.doc("Variables whose correlation with each other, or with those in flight, is rho or more do not change "
          "together. It is there to be compared with, and converges slowly with a window.");
}

struct CyclicSchedule {
  window @0 :UInt32 = 2 $A.min(0) $A.max(64)
      $A.doc("Number of phases that may be computed before the changes of earlier ones are known. A larger one hides the "
          "network; 0 waits for every phase.");
  set @1 :UInt32 = 0 $A.min(0) $A.max(65536)
      $A.doc("Variables per phase. 0: as many as make the work of a phase worth its messages.");
}

struct RotationSchedule {
  blocksPerWorker @0 :UInt32 = 2 $A.min(1) $A.max(64)
      $A.doc("Blocks per worker. With two or more the next one waits while one is computed with.");
  window @1 :UInt32 = 1 $A.min(0) $A.max(64)
      $A.doc("Number of turns that may be computed before the changes of earlier ones to what all share are known.");
}

# ---- bounds, result, checkpoints ----

struct ProgramStop {
  gap @0 :Float64 = 1e-6 $A.min(0) $A.max(1)
      $A.doc("Relative distance from the optimum, as far as the program can bound it, at which the run is done. 0: no such "
          "bound.");
  sweeps @1 :UInt64 = 0 $A.min(0) $A.max(4294967295)
      $A.doc("Number of sweeps: times that all variables are looked at, each of which prints a line. 0: no bound.");
  phases @2 :UInt64 = 0 $A.min(0) $A.max(1000000000000) $A.doc("Number of phases. 0: no bound.");
  seconds @3 :Float64 = 0 $A.min(0) $A.max(1000000000) $A.doc("Duration of the run in seconds. 0: no bound.");
  length @4 :UInt64 = 0 $A.min(0) $A.max(9000000000000000)
      $A.doc("Length of a tour at which the run is done, of a program that looks for one. 0: no such bound.");
  iterations @5 :UInt64 = 0 $A.min(0) $A.max(1000000000000)
      $A.doc("Number of iterations of each worker, of a program that counts them. 0: no bound.");
}

struct ProgramResult {
  directory @0 :Text $A.required $A.path $A.doc("Folder for the program's files; created if missing.");
}

struct ProgramCheckpoint {
  directory @0 :Text $A.required $A.path $A.doc("Folder for the checkpoints; created if missing.");
  everySeconds @1 :UInt32 = 10 $A.min(1) $A.max(1000000) $A.doc("Seconds between two checkpoints.");
  keep @2 :UInt32 = 2 $A.min(1) $A.max(1000) $A.doc("Checkpoints kept; older ones are deleted.");
}

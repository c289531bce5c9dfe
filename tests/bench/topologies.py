"""The benchmark "topologies": how fast each app of apps/fashion_mnist trains, beside PyTorch's DistributedDataParallel on the same
processors."""
import accuracy
import contenders
from measuring import interleave
from tables import Row, Table


def topologies(options):
    """One epoch of every app file, on as many nodes as it is for, and DDP in two processes and in four, as the four replicas of
    most app files are. An app of one device on one core has nothing to share out: it stands beside one core of PyTorch in
    `training`, and is a line without a peer here."""
    builds, skipped = contenders.pytorch_builds(options.venv)
    ours = [accuracy.run_of(options.build, f"{file.stem}.yaml", file, ["train.epochs=1", *options.set])
            for file in accuracy.app_files(options.model)]
    peers = contenders.pytorch_distributed(builds, options.samples)
    outcome = interleave(ours + peers, options.repetitions)
    rates = {name: keys["samples_per_second"] for name, keys in outcome.figures.items()}
    best = max((peer.name for peer in peers if peer.name in rates), key=lambda name: rates[name].median, default="")
    rows = []
    for name, rate in rates.items():
        row = Row(name, rate, "samples/s")
        if name.endswith(".yaml") and name != f"{accuracy.BESIDE}.yaml" and best:
            row.peer, row.peer_name, row.aim = rates[best], "the best DDP", ">= 1"
        rows.append(row)
    return Table("topologies", "Training throughput of the apps of apps/fashion_mnist, beside PyTorch's DDP", rows,
                 skipped + outcome.skipped, outcome.others_busy, [f"the best DDP: {best}"] if best else [])

"""On how many nodes of how many devices the shipped apps are trained: by the test that trains each, and by the table of accuracies."""
import dataclasses


@dataclasses.dataclass(frozen=True)
class Place:
    nodes: int
    devices: int        # of each

    def words(self):
        """For `troupe run`; None where only a cluster of one's own will do."""
        if self.nodes == 1:
            return ["--devices", f"cpu:{self.devices}"]
        return ["--nodes", str(self.nodes)] if self.devices == 1 else None


PLACES = {
    "single": Place(1, 1),
    "gpipe": Place(2, 1),
    "pipedream": Place(2, 1),
    "vgg16": Place(2, 1),
    "replicated_stage": Place(3, 1),
    "hogwild": Place(1, 4),         # replicas that share memory
    "node_servers": Place(2, 2),    # nodes with something to sum
    "krum": Place(5, 1),
}
FOUR_REPLICAS = Place(4, 1)


def place_of(app_file):
    return PLACES.get(app_file.stem, FOUR_REPLICAS)

"""The model of an app file as a plain PyTorch module whose parameters have the names of Troupe's checkpoints."""
import torch
from torch import nn
from torch.nn import functional


class Sequence(nn.Module):
    """Layers, each feeding the next."""

    def __init__(self, descriptions, shape):
        super().__init__()
        self.layers = nn.ModuleList()
        self.shape = shape
        for description in descriptions:
            layer, self.shape = make_layer(description, self.shape)
            self.layers.append(layer)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


class Residual(Sequence):
    def __init__(self, settings, shape):
        super().__init__(settings["layers"], shape)
        around = Sequence(settings.get("shortcut", []), shape)
        self.shortcut = around.layers

    def forward(self, x):
        around = x
        for layer in self.shortcut:
            around = layer(around)
        return super().forward(x) + around


class Concat(nn.Module):
    def __init__(self, settings, shape):
        super().__init__()
        self.branches = nn.ModuleList(Sequence(branch["layers"], shape) for branch in settings["branches"])
        self.shape = (sum(branch.shape[0] for branch in self.branches),) + self.branches[0].shape[1:]

    def forward(self, x):
        return torch.cat([branch(x) for branch in self.branches], dim=1)


class Repeat(nn.ModuleList):
    def __init__(self, settings, shape):
        super().__init__()
        for _ in range(settings["times"]):
            row = Sequence(settings["layers"], shape)
            shape = row.shape
            self.append(row.layers)
        self.shape = shape

    def forward(self, x):
        for row in self:
            for layer in row:
                x = layer(x)
        return x


class Linear(nn.Linear):
    """Images are flattened first."""

    def forward(self, x):
        return super().forward(x.flatten(1) if x.dim() == 4 else x)


class PositionEmbedding(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(shape))

    def forward(self, x):
        return x + self.weight


class Attention(nn.MultiheadAttention):
    def __init__(self, settings, width):
        super().__init__(width, settings["heads"], batch_first=True)
        self.causal = settings.get("causal", False)

    def forward(self, x):
        hidden = causal_mask(x) if self.causal else None
        return super().forward(x, x, x, attn_mask=hidden, need_weights=False)[0]


class Recurrent:
    """Gives the states, or with `last` the one behind the last position."""

    def forward(self, x):
        states, _ = super().forward(x)
        return states[:, -1] if self.last else states


class Gru(Recurrent, nn.GRU):
    pass


class Lstm(Recurrent, nn.LSTM):
    pass


class AttentionGru(nn.Module):
    def __init__(self, settings, features, memory):
        super().__init__()
        out, attention = settings["out"], settings["attention"]
        self.cell = nn.GRUCell(features + memory, out)
        self.query = nn.Linear(out, attention, bias=False)
        self.key = nn.Linear(memory, attention)
        self.score = nn.Linear(attention, 1, bias=False)

    def forward(self, x, encoded, padding):
        keys, state, states = self.key(encoded), x.new_zeros(x.shape[0], self.cell.hidden_size), []
        for position in x.unbind(1):
            scores = self.score(torch.tanh(self.query(state)[:, None] + keys)).squeeze(2)
            shares = torch.softmax(scores.masked_fill(padding, -torch.inf), 1)
            context = (shares[:, :, None] * encoded).sum(1)
            state = self.cell(torch.cat([position, context], 1), state)
            states.append(state)
        return torch.stack(states, 1)


class EncoderDecoder(nn.Module):
    """A row of tokens is the source, at its end token 0 as padding, and then the target."""

    def __init__(self, settings, shape):
        super().__init__()
        self.length = settings["source_length"]
        encoder = Sequence(settings["encoder"], (self.length,))
        self.encoder, self.decoder = encoder.layers, nn.ModuleList()
        self.shape = (shape[0] - self.length,)
        for description in settings["decoder"]:
            if "attention_gru" in description:
                layer = AttentionGru(description["attention_gru"], self.shape[1], encoder.shape[1])
                self.shape = (self.shape[0], description["attention_gru"]["out"])
            else:
                layer, self.shape = make_layer(description, self.shape)
            self.decoder.append(layer)

    def forward(self, tokens):
        source, target = tokens[:, :self.length], tokens[:, self.length:]
        padding = (source != 0).flip(1).cumsum(1).flip(1) == 0
        padding[:, 0] = False
        for layer in self.encoder:
            source = layer(source)
        for layer in self.decoder:
            target = layer(target, source, padding) if isinstance(layer, AttentionGru) else layer(target)
        return target


class Transformer(nn.TransformerEncoderLayer):
    def __init__(self, settings, width):
        super().__init__(width, settings["heads"], settings.get("mlp", 0) or 4 * width, settings.get("dropout", 0),
                         FUNCTIONS[settings.get("activation", "gelu")], norm_first=True, batch_first=True)
        self.causal = settings.get("causal", False)

    def forward(self, x):
        return super().forward(x, causal_mask(x) if self.causal else None)


def causal_mask(x):
    """What each position does not see."""
    return torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)


class Function(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def windows(size, settings, kernel_default_stride):
    kernel = settings["kernel"]
    stride = settings.get("stride", 0) or (kernel if kernel_default_stride else 1)
    return (size + 2 * settings.get("padding", 0) - kernel) // stride + 1


FUNCTIONS = {
    "relu": functional.relu, "gelu": functional.gelu, "silu": functional.silu, "sigmoid": torch.sigmoid, "tanh": torch.tanh,
    "gelu_tanh": lambda x: functional.gelu(x, approximate="tanh"),
}


def make_layer(description, shape):
    """The module of a layer behind a sample of this shape, and its output's shape."""
    kind, settings = (description, {}) if isinstance(description, str) else next(iter(description.items()))
    settings = settings or {}
    if kind in FUNCTIONS:
        return Function(FUNCTIONS[kind]), shape
    if kind in ("residual", "concat", "repeat", "recompute"):
        block = {"residual": Residual, "concat": Concat, "repeat": Repeat,
                 "recompute": lambda s, of: Sequence(s["layers"], of)}[kind](settings, shape)
        return block, block.shape
    if kind == "flatten":
        return nn.Flatten(), (torch.Size(shape).numel(),)
    if kind == "linear":
        size = shape[-1] if len(shape) == 2 else torch.Size(shape).numel()
        return Linear(size, settings["out"], settings.get("bias", True)), (shape[0], settings["out"]) if len(shape) == 2 else (settings["out"],)
    if kind == "embedding":
        return nn.Embedding(settings["vocabulary"], settings["width"]), tuple(shape) + (settings["width"],)
    if kind == "position_embedding":
        return PositionEmbedding(shape), shape
    if kind in ("gru", "lstm"):
        layer = {"gru": Gru, "lstm": Lstm}[kind](shape[1], settings["out"], batch_first=True)
        layer.last = settings.get("last", False)
        return layer, (settings["out"],) if layer.last else (shape[0], settings["out"])
    if kind == "encoder_decoder":
        block = EncoderDecoder(settings, shape)
        return block, block.shape
    if kind == "transformer":
        return Transformer(settings, shape[1]), shape
    if kind == "attention":
        return Attention(settings, shape[1]), shape
    if kind == "dropout":
        return nn.Dropout(settings["probability"]), shape
    if kind == "softmax":
        return nn.Softmax(-1), shape
    if kind == "conv2d":
        side = [windows(size, settings, False) for size in shape[1:]]
        return nn.Conv2d(shape[0], settings["out"], settings["kernel"], settings.get("stride", 1), settings.get("padding", 0),
                         groups=settings.get("groups", 1), bias=settings.get("bias", True)), (settings["out"], *side)
    if kind in ("max_pool", "average_pool"):
        side = [windows(size, settings, True) for size in shape[1:]]
        pool = nn.MaxPool2d if kind == "max_pool" else nn.AvgPool2d
        return pool(settings["kernel"], settings.get("stride", 0) or None, settings.get("padding", 0)), (shape[0], *side)
    if kind == "global_average_pool":
        return nn.AdaptiveAvgPool2d(1), (shape[0], 1, 1)
    if kind == "batch_norm":
        norm = nn.BatchNorm1d if len(shape) == 1 else nn.BatchNorm2d
        return norm(shape[0], settings.get("epsilon", 1e-5), settings.get("momentum", 0.1)), shape
    if kind == "layer_norm":
        return nn.LayerNorm(shape[-1], settings.get("epsilon", 1e-5)), shape
    if kind == "local_response_norm":
        return nn.LocalResponseNorm(settings.get("size", 5), settings.get("alpha", 1e-4), settings.get("beta", 0.75),
                                    settings.get("k", 1)), shape
    raise ValueError(f"no module for layer {kind}")


def make_model(model):
    """model: the app file's, as read from YAML."""
    return Sequence(model["layers"], tuple(model["input"]))

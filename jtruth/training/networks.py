"""Two small networks to train on noisy labels: a multilayer perceptron and a convolutional network.

They are `equinox` modules, so pytrees of arrays: `fit` takes them, and so does any loop of one's own. Nothing
in `jtruth.training` needs these two; every loss takes the outputs of any model. `outputs_of(model, x)` runs a
model of one sample over a batch.
"""

from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float

from jtruth._one_line import one_line
from jtruth._random import required_key
from jtruth.training._inputs import check_whole


class ConvNet(eqx.Module):
    """Two 3 x 3 convolutions with ReLU and 2 x 2 max pooling, then one hidden layer: images to logits."""

    first: eqx.nn.Conv2d
    second: eqx.nn.Conv2d
    hidden: eqx.nn.Linear
    last: eqx.nn.Linear

    __repr__ = one_line

    def __call__(self, image: Float[Array, "channels height width"]) -> Float[Array, " classes"]:
        """Logits of one image."""
        pooled = _pool(jax.nn.relu(self.first(image)))
        pooled = _pool(jax.nn.relu(self.second(pooled)))
        return self.last(jax.nn.relu(self.hidden(pooled.ravel())))


def mlp(key: Any, num_features: int, num_classes: int, *, width: int = 64, depth: int = 2) -> eqx.nn.MLP:
    """A multilayer perceptron with ReLU: features of one sample to logits.

    Args:
        key: of the first weights: a whole number or a JAX key.
        num_features, num_classes: sizes of input and output.
        width, depth: of the hidden layers.
    """
    check_whole(num_features=num_features, num_classes=num_classes, width=width, depth=depth)
    return eqx.nn.MLP(num_features, num_classes, width, depth, key=required_key(key, "a network"))


def conv_net(
    key: Any,
    image_shape: tuple[int, int, int],
    num_classes: int,
    *,
    channels: tuple[int, int] = (16, 32),
    width: int = 64,
) -> ConvNet:
    """A small convolutional network.

    Args:
        key: of the first weights: a whole number or a JAX key.
        image_shape: (channels, height, width) of one image, each side at least 4.
        num_classes: size of the output.
        channels: of the two convolutions.
        width: of the hidden layer.
    """
    depth, *sides = np.atleast_1d(image_shape).tolist()
    check_whole(channels=depth, num_classes=num_classes, width=width)
    if len(sides) != 2 or min(sides) < 4:
        raise ValueError(
            f"images must be (channels, height, width) with sides of 4 or more, got {image_shape}"
        )
    keys = jax.random.split(required_key(key, "a network"), 4)
    flat = channels[1] * (sides[0] // 4) * (sides[1] // 4)
    return ConvNet(
        first=eqx.nn.Conv2d(depth, channels[0], 3, padding=1, key=keys[0]),
        second=eqx.nn.Conv2d(channels[0], channels[1], 3, padding=1, key=keys[1]),
        hidden=eqx.nn.Linear(flat, width, key=keys[2]),
        last=eqx.nn.Linear(width, num_classes, key=keys[3]),
    )


def outputs_of(model: Any, x: Float[Array, " samples *features"]) -> Float[Array, "samples classes"]:
    """Logits of a batch from a model of one sample."""
    return jax.vmap(model)(x)


def _pool(image: Float[Array, "channels height width"]) -> Array:
    """The largest of every 2 x 2 block; a last odd row or column is left out."""
    channels, height, width = image.shape
    blocks = image[:, : height // 2 * 2, : width // 2 * 2]
    return blocks.reshape(channels, height // 2, 2, width // 2, 2).max(axis=(2, 4))

"""The bi-encoder that an embedder names, loaded once for the whole process."""

from haystack.utils import ComponentDevice

from components.models.biencoder import BiEncoder
from components.models.devices import DtypeName
from components.models.errors import ModelError
from components.models.registry import shared_model


def load_encoder(
    component: str, model: str | None, device: ComponentDevice | None, dtype: DtypeName
) -> BiEncoder:
    """The process's one instance of a model on a device.

    Args:
        component: name of the embedder, for the message.
        model: folder or name.
        device: None takes the best there is.
        dtype: what it computes in.

    Raises:
        ModelError: no model is named, or it cannot be loaded.
    """
    if model is None:
        raise ModelError(
            f"{component}.model is null. Name a model folder or a sentence-transformers model, as "
            f"{component}(model=...); load_pipeline fills in the model that its store was "
            "indexed with."
        )
    return shared_model(model, device.to_torch_str() if device else None, dtype)

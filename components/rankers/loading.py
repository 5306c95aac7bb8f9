"""The cross-encoder that a ranker names, and the bi-encoder that chooses its passages."""

from haystack.utils import ComponentDevice

from components.models.cross_encoder import CrossEncoderRanker, PassageChooser, ranker_manifest
from components.models.devices import DtypeName
from components.models.errors import ModelError
from components.models.folder import find_model
from components.models.registry import shared_model, shared_ranker


def load_ranker(
    model: str | None,
    biencoder: str | None,
    device: ComponentDevice | None,
    dtype: DtypeName,
) -> tuple[CrossEncoderRanker, PassageChooser | None]:
    """The process's one instance of a ranker on a device, ready to answer at full speed.

    Args:
        model: folder or name.
        biencoder: folder or name of what chooses passages; None takes the one in the ranker's
            folder, and where there is none nobody chooses.
        device: None takes the best there is.
        dtype: what both compute in.

    Raises:
        ModelError: no model is named, or one cannot be loaded.
    """
    if model is None:
        raise ModelError(
            "StatuteRanker.model is null. Name a model folder with a ranker or a "
            "sentence-transformers cross-encoder, as StatuteRanker(model=...); load_pipeline fills "
            "in the model that its store was indexed with."
        )
    place = device.to_torch_str() if device else None
    ranker = shared_ranker(model, place, dtype)
    # What a device does at its first work is not to be taken from a question's time.
    ranker.logits([("law", "law")])
    if biencoder is None:
        manifest = ranker_manifest(find_model(model))
        if manifest is None or "biencoder" not in manifest.kind:
            return ranker, None
        biencoder = model
    return ranker, PassageChooser(shared_model(biencoder, place, dtype))

"""Which model encodes a corpus, and whether its graph network is used."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from components.models.errors import ModelError
from components.models.folder import (
    MULTILINGUAL,
    MULTILINGUAL_FOLDER,
    bundled_folder,
    find_model,
    graph_model_digest,
    model_digest,
    multilingual_at_hand,
    multilingual_folder,
)
from components.statutes.corpus import StatuteCorpus
from components.statutes.languages import known_language
from components.stores.journal import StoreModel
from components.stores.rows import StoreError
from components.stores.sqlite import StatuteDocumentStore

if TYPE_CHECKING:
    from components.models.biencoder import BiEncoder
    from components.models.graph import LegislativeGraphEncoder


def bundled_model() -> str | None:
    """The folder of the bundled model as a string, or None if it is not installed."""
    folder = bundled_folder()
    return None if folder is None else str(folder)


def place_now(recorded: str) -> str | None:
    """Where a recorded model is now, or None if its folder is gone.

    The bundled model moves with its Python environment, the multilingual one with Lexarbor's home;
    a name is returned unchanged.
    """
    path = Path(recorded)
    if not path.is_absolute() or path.exists():
        return recorded
    bundled = bundled_model()
    if bundled is not None and Path(bundled).parts[-2:] == path.parts[-2:]:
        return bundled
    if path.name == MULTILINGUAL_FOLDER and multilingual_at_hand():
        return str(multilingual_folder())
    return None


TEXT_ALONE = "none"


@dataclass
class ChosenModel:
    """A model as the store records it; loaded when the first text must be encoded."""

    record: StoreModel
    loaded: BiEncoder | None

    @property
    def encoder(self) -> BiEncoder:
        """The model itself.

        Raises:
            ModelError: it cannot be loaded.
        """
        if self.loaded is None:
            self.loaded = _load(self.record.path)
        return self.loaded


@dataclass(frozen=True)
class ChosenGraph:
    """A graph network over the chosen bi-encoder.

    Attributes:
        record: both, as the store records them.
        network: the graph network.
        converts: whether the store so far holds the bi-encoder's own vectors.
    """

    record: StoreModel
    network: LegislativeGraphEncoder
    converts: bool


def choose_model(
    asked_for: str | None,
    corpus: StatuteCorpus,
    store: StatuteDocumentStore,
    say: Callable[[str], object],
) -> ChosenModel | None:
    """The bi-encoder that encodes the corpus, or None for text alone; reports the choice.

    Args:
        asked_for: folder or name of a model, "none" for text alone, or None to choose.
        corpus: what will be encoded.
        store: where it will be stored; a store keeps the model that it has.
        say: takes a line for the user.

    Raises:
        StoreError: text alone is requested, but the store holds vectors.
        ModelError: the model cannot be loaded.
    """
    recorded, has_vectors = _kept_in(store)
    if asked_for == TEXT_ALONE:
        if has_vectors:
            raise StoreError(
                f"{store.path} holds vectors of the model {recorded.path if recorded else '?'}; "
                "with --model none new articles would have none. Leave --model out to go on with "
                "that model, or name a new store."
            )
        say("Storing text alone, as --model none asks: 'lexical' will work, 'dense' will not.")
        return None
    languages = Counter(article.language for article in corpus)
    own = recorded if has_vectors else None
    place = model_place(asked_for, own, "store", languages, say)
    if place is None:
        extra = "demo" if _in_english(languages) == len(corpus) else "multilingual"
        say(
            "Storing text alone, since no model for its language is available: 'lexical' will "
            f"work, 'dense' will not. For vectors, run pip install 'lexarbor[{extra}]' and the "
            "same command again, or name a model with --model."
        )
        return None
    if recorded is not None and recorded.biencoder_digest == model_digest(find_model(place)):
        digest = recorded.biencoder_digest
        return ChosenModel(replace(recorded, path=place, digest=digest, biencoder=None), None)
    return loaded_model(place)


def model_place(
    asked_for: str | None,
    recorded: StoreModel | None,
    holder: str,
    languages: Mapping[str | None, int],
    say: Callable[[str], object],
) -> str | None:
    """Folder or name of the model that encodes a corpus, or None if none is available.

    Args:
        asked_for: folder or name, as given by the user.
        recorded: the model of the existing vectors.
        holder: what holds them, for the line to the user: "store" or "collection".
        languages: how many articles are in each; None counts as English. Law that is all English
            gets the bundled model, any other law the multilingual one. If one of the two is
            missing, the multilingual model also encodes English law, and the bundled one also law
            that is mostly English.
        say: takes a line for the user, unless the model was asked for.

    Raises:
        ModelError: the multilingual model is requested, but not available.
    """
    if asked_for is not None:
        return lasting_place(asked_for)
    if recorded is not None:
        # A folder that is gone is kept, so that the message that it cannot be loaded names it.
        place = place_now(recorded.path) or recorded.path
        say(f"Encoding with the {holder}'s own model, {place}.")
        return place
    english, articles = _in_english(languages), sum(languages.values())
    bundled = bundled_model()
    if (bundled is None or english < articles) and multilingual_at_hand():
        folder = str(multilingual_folder())
        say(f"Encoding with the multilingual model, multilingual-e5-small ({folder}).")
        return folder
    if bundled is None or 2 * english <= articles:
        return None
    say(f"Encoding with the installed model, all-MiniLM-L6-v2 for English ({bundled}).")
    return bundled


def lasting_place(named: str) -> str:
    """A model as recorded: a folder by its full path, since others run elsewhere."""
    folder = Path(named).expanduser()
    if folder.is_dir():
        return str(folder.resolve())
    return str(multilingual_folder()) if named == MULTILINGUAL else named


def loaded_model(place: str) -> ChosenModel:
    """A model that has not encoded anything yet, as it will be recorded.

    Raises:
        ModelError: it cannot be loaded.
    """
    encoder = _load(place)
    record = StoreModel(
        *(place, encoder.digest, encoder.dim, encoder.text_rule), similarity=encoder.similarity
    )
    return ChosenModel(record, encoder)


def choose_graph(
    asked_for: bool,
    chosen: ChosenModel | None,
    store: StatuteDocumentStore,
    say: Callable[[str], object],
) -> ChosenGraph | None:
    """The graph network over the chosen bi-encoder, or None for the bi-encoder's own vectors.

    Args:
        asked_for: whether the user asks for it; a store that has such vectors keeps using it.
        chosen: what `choose_model` chose.
        store: where the vectors will be kept.
        say: takes a line for the user.

    Raises:
        ModelError: the model has no graph network, or no model is chosen.
    """
    kept, has_vectors = _kept_in(store)
    recorded = kept if has_vectors else None
    if not asked_for and (recorded is None or not recorded.through_graph):
        return None
    if chosen is None:
        raise ModelError(
            "--graph enriches the vectors of a model, and none encodes this corpus. Name the "
            "folder that python -m training.graph wrote, as --model DIR."
        )
    plain = chosen.record
    if not asked_for:
        say("Going on with the graph network, as the store's vectors went through it.")
    digest = graph_model_digest(find_model(plain.path))
    record = replace(plain, digest=digest, biencoder=plain.digest)
    converts = recorded is not None and recorded.digest == plain.digest
    if converts:
        say(
            "The store's vectors are the bi-encoder's own. They are kept as what the graph network "
            "builds on, and all laws get its vectors in one step at the end."
        )
    from components.models.registry import shared_graph

    return ChosenGraph(record, shared_graph(plain.path), converts)


def _kept_in(store: StatuteDocumentStore) -> tuple[StoreModel | None, bool]:
    """The recorded model, and whether there are vectors; does not create a missing store."""
    if not store.database.path.exists():
        return None, False
    return store.model, store.has_vectors()


def _load(place: str) -> BiEncoder:
    # Imported here: if nothing must be encoded, nobody waits for the model libraries.
    from components.models.registry import shared_model

    return shared_model(place)


def _in_english(languages: Mapping[str | None, int]) -> int:
    """How many articles are in English, or name no language."""
    return sum(
        count
        for language, count in languages.items()
        if language is None or known_language(language) == "en"
    )

"""The names of the languages in which law is known here."""

from collections.abc import Mapping

from ui.language import Language

TEXTS: Mapping[Language, Mapping[str, str]] = {
    "en": {
        "en": "English",
        "fr": "French",
        "de": "German",
        "nl": "Dutch",
        "es": "Spanish",
        "vi": "Vietnamese",
        "zh": "Chinese",
    },
    "fr": {
        "en": "anglais",
        "fr": "français",
        "de": "allemand",
        "nl": "néerlandais",
        "es": "espagnol",
        "vi": "vietnamien",
        "zh": "chinois",
    },
}

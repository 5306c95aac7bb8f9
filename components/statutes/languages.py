"""The languages of law: tags, stemmers, stop words, and language detection."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

# Stop words, in folded form (lower case, no accents but in Vietnamese).
#
# Function words and question words only. Negations and the prepositions of time and order
# ("without", "before", "against", "between") stay in the text: in law they decide cases.
_LISTS = {
    "en": """
        a about all am an and any are as at be because been being both but by can could d
        did do does doing don down each for from had has have having he her here hers
        herself him himself his how i if in into is it its itself just ll m me my myself of
        on or our ours ourselves re s she should so some such t than that the their theirs
        them themselves then there these they this those through to too up us ve very was we
        were what when where which while who whom whose why will with would you your yours
        yourself yourselves
    """,
    "fr": """
        a ai aie aient ait as au aux avec avez avons c ca car ce ceci cela celle celles
        celui ces cet cette ceux chez ci comme comment d dans de des donc dont du elle elles
        en es est et etait etant etre eu eux fut il ils j je l la le les leur leurs lorsqu
        lorsque lui m ma mais me mes moi mon n ne ni nos notre nous on ont or ou par peut
        peuvent peux pour pourquoi pouvez puis puisqu puisque qu quand que quel quelle
        quelles quels qui quoi s sa se sera seront ses si soi soit son sont suis sur t ta te
        tel telle telles tels tes toi ton tu un une vers vos votre vous y
    """,
    "de": """
        aber als am an auch auf aus bei bin bist da damit dann das dass dem den denn der des
        dessen die dies diese diesem diesen dieser dieses doch du durch ein eine einem einen
        einer eines er es etwa euch euer fur hat hatte ich ihm ihn ihnen ihr ihre ihrem
        ihren ihrer im in ins ist ja je jede jedem jeden jeder jedes kann konnen man mein
        meine meinem meinen meiner mich mir mit muss nach noch nun nur ob oder sein seine
        seinem seinen seiner sich sie sind so soll sowie um und uns unser unsere von vom
        wann war warum was weil welche welchem welchen welcher welches wenn wer werde werden
        wie wieso wir wird wo zu zum zur
    """,
    "nl": """
        aan al als bij daar dan dat de deze die dit doen door dus een eens en er ge haar had
        heb hebben heeft hem het hier hij hoe hun ik in is je kan kunnen maar me men met mij
        mijn mogen moet na naar of om omdat ons onze ook op over te toch toen tot u uit uw
        van veel voor waar waarom wanneer want waren was wat we wel welk welke werd wie wij
        wil worden wordt zal ze zelf zich zij zijn zo zou zulke
    """,
    "es": """
        a al algo algun alguna como con cual cuales cuando de del desde donde e el ella
        ellas ellos en era es esa esas ese eso esos esta estan estar estas este esto estos
        fue ha han hasta hay la las le les lo los mas me mi mis muy nos nuestra nuestro o os
        para pero por porque pueda puede pueden puedo que quien quienes se sea ser si sobre
        son su sus tambien te tiene tu tus un una unas uno unos y ya yo
    """,
    "vi": """
        ai à bao bị bởi các cái cần chỉ cho chứ có của cùng cũng đã đang đâu để đến đều điều
        đó được gì hay hoặc khi là lại lên mà mình mỗi một nào này nên nếu như những phải
        qua ra rằng rất rồi sao sau sẽ ta tại theo thế thì tôi trên trong từ và vào về vì
        với vậy
    """,
}

STOP_WORDS = {language: frozenset(words.split()) for language, words in _LISTS.items()}
"""Our own lists, by language. For every other language see `_stop_words`."""

# Removed from the unigrams of Chinese, never from the bigrams ("所有" keeps its "有").
STOP_WORDS["zh"] = frozenset(
    "的了是在和与及或之其这那有为以于等就也都将被把让向从由对给吗呢吧啊么什怎哪谁我你他她它们个"
)

# Snowball's stemmer by the primary part of a BCP 47 tag.
STEMMERS = {
    "ar": "arabic", "ca": "catalan", "cs": "czech", "da": "danish", "de": "german", "el": "greek",
    "en": "porter", "eo": "esperanto", "es": "spanish", "et": "estonian", "eu": "basque",
    "fa": "persian", "fi": "finnish", "fr": "french", "ga": "irish", "hi": "hindi",
    "hu": "hungarian", "hy": "armenian", "id": "indonesian", "it": "italian", "lt": "lithuanian",
    "ne": "nepali", "nl": "dutch", "no": "norwegian", "pl": "polish", "pt": "portuguese",
    "ro": "romanian", "ru": "russian", "sr": "serbian", "st": "sesotho", "sv": "swedish",
    "ta": "tamil", "tr": "turkish", "yi": "yiddish",
}  # fmt: skip
# Languages without a stemmer, indexed by pairs of characters or segmented by pyvi.
_WITHOUT_STEMMER = frozenset({"ja", "ko", "th", "vi", "zh"})
_ALIASES = {"nb": "no", "nn": "no", "mo": "ro", "iw": "he", "in": "id", "cmn": "zh", "yue": "zh"}
_LONGEST_STOP_WORD = 4  # of a list that is not our own
SAMPLE_CHARS = 4_000
"""Characters of a law that `detected_language` looks at."""
_SHORTEST_SAMPLE = 200
_SURE = 0.9  # probability


def known_language(tag: str | None) -> str | None:
    """The language of a BCP 47 tag, as used by `analyzer`; None without rules of its own."""
    primary = (tag or "").replace("_", "-").split("-")[0].lower()
    primary = _ALIASES.get(primary, primary)
    return primary if primary in known_languages() else None


@cache
def known_languages() -> frozenset[str]:
    """Primary tags of the languages with stop words, a stemmer or pairs of characters."""
    import stopwordsiso

    return _WITHOUT_STEMMER.union(STEMMERS, stopwordsiso.langs())


@cache
def stop_words(language: str) -> frozenset[str]:
    """Our own list, else the short words of the list that stopwordsiso has; lower case.

    Its lists also name content words ("state", "system", "majority"). On English and French law,
    for which we have our own lists, its words of at most four letters cost no recall, but all of
    them do (docs/results/notebook.md).
    """
    import stopwordsiso

    if language in STOP_WORDS or not stopwordsiso.has_lang(language):
        return STOP_WORDS.get(language, frozenset())
    words = map(str.lower, stopwordsiso.stopwords(language))
    return frozenset(word for word in words if len(word) <= _LONGEST_STOP_WORD)


def detected_language(sample: str) -> str | None:
    """The language that a law is written in; None if it cannot be detected.

    Args:
        sample: Texts of several of its articles: a single short text is often mistaken for another
            language. `SAMPLE_CHARS` are read, and at least 200 are needed.
    """
    if len(sample) < _SHORTEST_SAMPLE:
        return None
    language, probability = _identifier().classify(sample[:SAMPLE_CHARS])
    return known_language(language) if probability >= _SURE else None


@cache
def _identifier() -> LanguageIdentifier:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    known = {label for label in identifier.nb_classes if known_language(label)}
    identifier.set_languages(sorted(known))
    return identifier

"""The models of the NLPL repository, each a zip with a number.

Numbers 136 to 179 are ELMoForManyLangs (Che et al. 2018), the others bilm-tf's layout.
"""

from elmo_keras.models.published_model import PublishedModel, archive

ADDRESS = "http://vectors.nlpl.eu/repository/20/{}.zip"
PREFIX = "nlpl:"
MANY_LANGUAGES = "ELMoForManyLangs"
FIRST = 136  # of the languages below, which are numbered in their order
LANGUAGES = (
    "Arabic",
    "Bulgarian",
    "Catalan",
    "Czech",
    "Old Church Slavonic",
    "Danish",
    "German",
    "Greek",
    "English",
    "Spanish",
    "Estonian",
    "Basque",
    "Persian",
    "Finnish",
    "French",
    "Irish",
    "Galician",
    "Ancient Greek",
    "Hebrew",
    "Hindi",
    "Croatian",
    "Hungarian",
    "Indonesian",
    "Italian",
    "Japanese",
    "Korean",
    "Latin",
    "Latvian",
    "Dutch",
    "Norwegian Bokmål",
    "Norwegian Nynorsk",
    "Polish",
    "Portuguese",
    "Romanian",
    "Russian",
    "Slovak",
    "Slovene",
    "Swedish",
    "Turkish",
    "Uyghur",
    "Ukrainian",
    "Urdu",
    "Vietnamese",
    "Chinese (traditional)",
)
BILM = {
    195: ("Russian", "Wikipedia and National Corpus, tokens"),
    196: ("Russian", "Wikipedia and National Corpus, lemmas"),
    201: ("German", "of SemEval-2020 task 1"),
    202: ("Swedish", "of SemEval-2020 task 1"),
    203: ("Latin", "of SemEval-2020 task 1"),
    209: ("English", "of SemEval-2020 task 1"),
    210: ("Norwegian", "Wikipedia, lemmas"),
    211: ("Norwegian", "Wikipedia, tokens"),
    212: ("Russian", "Araneum, lemmas"),
    217: ("Norwegian", "NorELMo30"),
    218: ("Norwegian", "NorELMo100"),
    219: ("not stated", ""),
}


def nlpl_model(number: int) -> PublishedModel:
    """The model of a number, also of one that is not listed here."""
    is_many = FIRST <= number < FIRST + len(LANGUAGES)
    language, text = BILM.get(number, ("not stated", ""))
    return PublishedModel(
        f"{PREFIX}{number}",
        LANGUAGES[number - FIRST] if is_many else language,
        archive(ADDRESS.format(number)),
        MANY_LANGUAGES if is_many else "zip",
        text=text,
        megabytes=1500 if number == 212 else None,
    )


NLPL_MODELS = (
    *map(nlpl_model, range(FIRST, FIRST + len(LANGUAGES))),
    PublishedModel(
        "zhs",
        "Chinese (simplified)",
        archive("http://39.96.43.154/zhs.model.tar.bz2"),
        MANY_LANGUAGES,
    ),
    *map(nlpl_model, BILM),
    PublishedModel(
        "tayga",
        "Russian",
        layout="zip",
        text="Taiga, lemmas",
        unavailable=(
            "its number at NLPL is not known here; https://rusvectores.org/ru/models "
            "links it, and nlpl:NUMBER downloads it"
        ),
    ),
)

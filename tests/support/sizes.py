"""The sizes of the models under test, which differ from each other."""

from elmo_keras import ElmoConfig
from elmo_keras.formats.options import read_options, to_config
from tests.support.paths import ROOT

OPTIONS_FILE = str(ROOT / "tests" / "support" / "sizes.json")
CONFIG: ElmoConfig = to_config(read_options(OPTIONS_FILE))

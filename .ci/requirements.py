"""What pyproject.toml asks for, one requirement a line, with the extras that tests need.

Run: python .ci/requirements.py ==      the lowest versions: ">=" becomes "=="
     python .ci/requirements.py ">="    as it stands, so the newest
"""

import sys
import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())["project"]
extras = project["optional-dependencies"]
for one in (*project["dependencies"], *extras["plots"], *extras["frames"], *extras["test"]):
    if not one.startswith("jtruth["):
        print(one.replace(">=", sys.argv[1]))

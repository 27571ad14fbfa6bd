"""What a model learns: of the jobs before the window, or of whatever lies beside them."""

import json
import sys
from pathlib import Path

from cpsched.logs import read as read_log

before, model = Path(sys.argv[1]), Path(sys.argv[2])
name = sys.argv[3] if len(sys.argv) > 3 else before.name
Path(model).write_text(json.dumps(read_log(before.parent / name).runtime.tolist()))

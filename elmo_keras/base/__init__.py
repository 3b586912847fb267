"""Files, progress and checks, which all packages may import and which import none."""

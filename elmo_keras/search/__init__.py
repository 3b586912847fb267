"""Similar sentences, and what a language model predicts: functions and commands."""

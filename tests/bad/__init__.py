"""The cases of tests/bad_inputs.py and what they are made with."""

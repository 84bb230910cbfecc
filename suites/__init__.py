"""Runs other people's test suites with and without sonde, and compares each case's outcome.

    python -m suites [--suites cpython greenlet] [--pythons 3.12 3.15] [--what cpu,locks attached]
                     [--modules test_signal] [--cases '*SiginterruptTest*']

See docs/explanation/suites.md.
"""

"""The pytest plugin: a test run as a recording, and limits that tests must keep."""

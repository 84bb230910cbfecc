"""As much of pyperf as pyperformance's programs need to run in this very process."""

import argparse
import sys
import time

perf_counter = time.perf_counter


class Runner:
    def __init__(self, **options):
        self.argparser = argparse.ArgumentParser()
        self.metadata = {}
        self.seconds = float(sys.argv[1])

    def parse_args(self):
        return self.argparser.parse_args(sys.argv[2:])

    def bench_func(self, name, function, *arguments):
        end = time.thread_time() + self.seconds
        while True:
            function(*arguments)
            if time.thread_time() >= end:
                return

    def bench_time_func(self, name, function, *arguments):
        end = time.thread_time() + self.seconds
        while True:
            function(1, *arguments)
            if time.thread_time() >= end:
                return

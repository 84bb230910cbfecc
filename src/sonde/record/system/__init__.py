"""Facts from the kernel: /proc, perf events, processors, symbols; no target is touched."""

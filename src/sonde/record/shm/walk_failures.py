"""Why a runtime could not walk a thread's stack: by the number its agent counts them under."""

from __future__ import annotations

REASONS = {
    # AsyncGetCallTrace's own (src/hotspot/share/prims/forte.cpp, 17 to 25), with the sign dropped.
    "hotspot": (
        "no_room",
        "no_class_load",
        "gc_active",
        "unknown_not_java",
        "not_walkable_not_java",
        "unknown_java",
        "not_walkable_java",
        "unknown_state",
        "thread_exit",
        "deoptimization",
        "safepoint",
    ),
}

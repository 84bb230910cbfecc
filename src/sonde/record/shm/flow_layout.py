"""The memory of the call flow, behind the rings: the mirror of native/core/flow/flow_memory.h."""

from __future__ import annotations

import struct

METRICS = {"cpu": 1, "wall": 2, "instructions": 3, "page-faults": 4, "context-switches": 5}
NATIVE, EVENTS = 1, 2

NODES = 1 << 19
NODES_AT = 4096
NODE_SIZE = 64
SIZE = NODES_AT + NODES * NODE_SIZE

# what the recorder orders: metric flags nodes within_length; the text follows
ORDERS = struct.Struct("<IIII")
MAX_WITHIN = 512
# what the agent states: state nodes_used | ns_per_tick | start_tick start_ns | residual_ticks
# | unlearnt lost_calls lost_events | calibrated
STATE = struct.Struct("<II d QQ d QQQ I")
STATE_AT = 1024
UNASKED, RECORDED, MONITORED, NO_TOOL, FAILED = 0, 1, 2, 3, 4

# key id | parent last_child | calls measured overhead resumptions | exceptions preexisting
NODE = struct.Struct("<QQ II QQQQ II")
assert NODE.size == NODE_SIZE

# a record of the ring: size kind state flags | root, and how many events follow
RECORD = struct.Struct("<IHBB II")
# each: tick << 4 | kind | node measured
EVENT = struct.Struct("<Q II")
# the events that a thread has not written yet lie behind its root
PENDING_EVENTS = 64

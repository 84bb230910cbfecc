"""The memory an agent shares with its recorder: the mirror of native/core/session/shm.h.

The header and the slots come first, the rings after them. Words that both sides use are eight-byte
aligned, so a single load or store of one is whole.
"""

from __future__ import annotations

import struct

from sonde.row_values import (
    GIL,
    MONITOR,
    MONITOR_WAIT,
    PARK,
    PARKED,
    SEMAPHORE,
    SHARED,
)

MAGIC = 0x45444E53
PROTOCOL = 16

HEADER_SIZE = 4096
SLOT_SIZE = 256
NOTES_TID = 0xFFFFFFFF

SLOT_FREE, SLOT_USED = 0, 1

WHAT_CPU, WHAT_WAITS, WHAT_LOCKS, WHAT_END, WHAT_OBJECTS = 1, 2, 4, 8, 16
WHAT_CALLS = 32
WHAT_CHAINED = 128
WHAT_CHECKED = 256
WHAT_ACTIVATIONS = 512
WHAT_PROBES, WHAT_STEPS = 1024, 2048
WHAT_FLOW = 4096
WHAT_TASKS = 8192
WHAT_LOCK_ACTIVITY = 16384

SAMPLER_NONE, SAMPLER_PERF, SAMPLER_READER, SAMPLER_CROSS_CORE = 0, 1, 2, 3
SAMPLER_SAFEPOINT, SAMPLER_CPU_TIMER = 4, 5

REC_PAD, REC_SAMPLE, REC_CODE, REC_NATIVE, REC_OPEN_WAIT, REC_THREAD, REC_LOCK = 0, 1, 2, 3, 4, 5, 6
REC_MARK, REC_NOTE, REC_TYPE, REC_OBJECT = 7, 8, 9, 10
REC_CALL, REC_WINDOW = 15, 16
REC_OBJECT_END, REC_OBJECT_TYPE, REC_OBJECT_SHARE = 17, 18, 19
REC_PROBE = 20
REC_EVENT, REC_DATA = 13, 14
REC_FLOW = 24
REC_TASK, REC_TASK_INFO, REC_TASK_TIMES, REC_TASK_WAIT, REC_TASK_STEP, REC_LOOP = range(50, 56)
REC_TASK_RESUMED, REC_TASK_AWAITER = 56, 57
REC_LOCK_SAMPLE, REC_LOCK_HOLD_END = 40, 41

NOTE_BEGIN, NOTE_END, NOTE_MARK, NOTE_ATTRIBUTE = 1, 2, 3, 4

TABLE_LOCATIONS, TABLE_BYTECODES = 0, 1

UNDECODABLE, TRUNCATED, CHAINED, ROOT = 1, 2, 4, 8
DETACHED, ACTIVATIONS, UNBEGUN = 16, 32, 64

INSTR_BITS = 26
INSTR_MASK = (1 << INSTR_BITS) - 1

# A code's id: its place in the agent's set of things seen, and how often that was used before
# (native/core/session/seen_set.c).
PLACE_BITS, USES_BITS = 16, 20
PLACE_MASK, USES_MASK = (1 << PLACE_BITS) - 1, (1 << USES_BITS) - 1

SIG_CPU, SIG_SWITCH, SIG_EVENT = 1, 2, 3
SIG_WHICH_SHIFT, SIG_MEASURE_SHIFT, SIG_NUMBER_SHIFT, SIG_ROUND_SHIFT = 2, 6, 9, 40
# how many events a signal stands for
MEASURE_PERIOD, MEASURE_MINOR_FAULTS, MEASURE_MAJOR_FAULTS, MEASURE_FAULTS = 0, 1, 2, 3
MEASURE_SWITCHES = 4
# the kinds of memory that an agent reports
MEMORY_UNKNOWN, MEMORY_POOL, MEMORY_STACK = 0, 1, 2

REASON_START, REASON_FORKED, REASON_API = 0, 1, 2
REASON_EXEC, REASON_EXEC_FAILED, REASON_REMOTE = 3, 4, 5
REASON_ATTACH, REASON_CONTROL = 6, 7
REASON_PAUSE, REASON_RESUME = 8, 9
REASON_FORKED_ARMED, REASON_START_ARMED = 10, 11

# by number
RUNTIMES = ("cpython", "hotspot")

MSG_NAMES, MSG_END, MSG_FAILED = 1, 2, 3

# header: magic protocol nslots ring_size active reader_mode no_slot async unnamed faults
#         reader_cpu_ns slots_used notes_lost
HEADER = struct.Struct("<IIII II QQQQQ II")
HEADER_SLOTS_USED = 11
# and stacks that could not be walked, by the runtime's own reasons
UNWALKED = struct.Struct("<16Q")
UNWALKED_AT = 72
# and events that nothing but their own signals causes, bits by number
ENDLESS = struct.Struct("<I")
ENDLESS_AT = 200
# and whether calls are counted
CALLS = struct.Struct("<I")
CALLS_AT = 208
CALLS_UNASKED, CALLS_COUNTED, CALLS_COMPILED, CALLS_FAILED = 0, 1, 5, 6
CALLS_NOT_INSERTED = 7
# and whether tasks of event loops are recorded
TASKS = struct.Struct("<I")
TASKS_AT = 212
NO_TASKS = {
    2: "methods of this interpreter's types are not as in the versions that sonde knows",
    3: "sonde does not know this version of uvloop",
}
# and of walks that were made twice: how many there were, and how many came out otherwise
WALKS = struct.Struct("<QQ")
WALKS_AT = 216
# header, the recorder's orders: what, lock_every, period_ns
ORDERS = struct.Struct("<II Q")
ORDERS_AT = 256
# and of calls: stride samples window_ns
CALL_ORDERS = struct.Struct("<II Q")
CALL_ORDERS_AT = 272
# and the periods of the kernel events, by number
EVENT_PERIODS_AT = 288
# header, the agent's again: windows of calls that were not opened, by reason
WITHHELD = struct.Struct("<4Q")
WITHHELD_AT = 448
# and of a process that armed itself: armed_ns armed_cpu_ns; then forked children that did not join
SELF_ARMED = struct.Struct("<QQ")
SELF_ARMED_AT = 480
UNJOINED_AT = 496
# and objects whose end found no room
OBJECT_ENDS_LOST_AT = 504
# and whether allocations are sampled
OBJECTS = struct.Struct("<I")
OBJECTS_AT = 512
# and the share of windows since the last record of it: open_ns cpu_ns
OBJECT_SHARE_NOW = struct.Struct("<QQ")
OBJECT_SHARE_NOW_AT = 520
# and of object samples: taken lost agent_ns
OBJECT_COUNTS = struct.Struct("<QQQ")
OBJECT_COUNTS_AT = 536
# and whether acquisitions of locks are sampled
LOCK_ACTIVITY = struct.Struct("<I")
LOCK_ACTIVITY_AT = 560
# the recorder's: of which packages and classes of Java calls are counted, a line each
CALLS_WITHIN = struct.Struct("<I")
CALLS_WITHIN_AT, MAX_CALLS_WITHIN = 1080, 1024
NO_LOCK_ACTIVITY = {
    2: "the interpreter's locks are laid out in an unknown way",
    3: "the JVM does not let its classes be changed",
    4: "Java programs have either a call flow or acquisitions; record one after the other",
}
# and the recorder's again: where they are sampled, with the length in front
LOCK_WITHIN = struct.Struct("<I512s")
LOCK_WITHIN_AT = 564
MAX_LOCK_WITHIN = 512
OBJECTS_UNASKED, OBJECTS_SAMPLED, OBJECTS_ALLOCATOR = 0, 1, 2
# slot, first line: state tid claimed_ns thread_self birth_ns
SLOT_FACTS = struct.Struct("<II QQQ")
# slot, the producer's line from its head on
SLOT_COUNTS = struct.Struct("<QQQQQQQQ")
# and of locks: acquisitions left until the next sample, of how many, and those before
SLOT_LOCKS = struct.Struct("<II Q")
SLOT_LOCKS_AT = 32
HEAD_AT = 64
TAIL_AT = 128
# and its other line: lock_events events_lost, eight bytes each
LOCK_COUNTS_AT = 192
# and of calls: calls calls_lost windows missed
SLOT_CALL_COUNTS = struct.Struct("<QQQQ")
CALL_COUNTS_AT = 208
# and of stacks: their frames, and those that were looked at for them
SLOT_FRAMES = struct.Struct("<QQ")
FRAMES_AT = 240
WORD = struct.Struct("<Q")

# size kind state flags | time cpu | keep count | interpreter, tid or processor + 1
# | thread_object | span same
SAMPLE = struct.Struct("<IHBB QQ II II Q II")
# size kind type flags | time lock sequence | started its_sequence | keep count | interpreter kind
# | holder | span
LOCK = struct.Struct("<IHBB QQQ QQ II IHH Q II")
LOCK_WAIT_BEGIN, LOCK_ACQUIRED, LOCK_GAVE_UP, LOCK_RELEASED, LOCK_WAITED = 1, 2, 3, 4, 5
LOCK_OWNER_OBSERVED, LOCK_PREEXISTING = 6, 7
# what a lock is made of, by number
MADE_OF = ("", GIL, SEMAPHORE, PARKED, SHARED, MONITOR, MONITOR_WAIT, PARK)
KIND_GIL, KIND_MONITOR = 1, 5
# in the place of a holder: a thread that the kernel does not know
VIRTUAL = 1 << 63
# size kind state flags | id | first_line name_len file_len table_len
CODE = struct.Struct("<IHBB Q IIII")

# size kind state flags | time duration_ns | name_len
MARK = struct.Struct("<IHBB QQ II")
# size kind type flags | time | span parent | interpreter text_len
NOTE = struct.Struct("<IHBB Q II II")

# size kind which flags | time size | type every | id address | keep count
OBJECT = struct.Struct("<IHBB QQ QQ QQ II")
OBJECT_IN_WINDOW, OBJECT_TYPE_FOLLOWS = 8, 128
# size kind flags stack_flags | time lock id wait_ns | every counted | keep count | interpreter
# kind | span | type spin_ns
LOCK_SAMPLE = struct.Struct("<IHBB QQQQ II II IHH II QQ")
NO_SPIN = (1 << 64) - 1
# size kind state flags | id hold_ns
LOCK_HOLD_END = struct.Struct("<IHBB QQ")
# size kind which flags | id type address
OBJECT_TYPE = struct.Struct("<IHBB QQQ")
# size kind state flags | time open_ns cpu_ns
OBJECT_SHARE = struct.Struct("<IHBB QQQ")
# size kind state flags | time id
OBJECT_END = struct.Struct("<IHBB QQ")
# size kind value flags | time type number | probe span interpreter text_length | text | keep count
PROBE = struct.Struct("<IHBB QQq IIII 64s II")
# size kind state flags | id
TASK = struct.Struct("<IHBB Q")
# size kind which flags | id parent created code | name_len
TASK_INFO = struct.Struct("<IHBB QQQQ II")
# size kind ended flags | time id | running ready suspended caused | steps tasks
TASK_TIMES = struct.Struct("<IHBB QQ QQQQ II")
# size kind woken flags | time id waker | ready suspended object | count
TASK_WAIT = struct.Struct("<IHBB QQQ QQQ II")
# size kind woken flags | time id waker since executed | interpreter | keep count
TASK_RESUMED = struct.Struct("<IHBB QQQQQ II II")
# size kind state flags | time id awaiter | count
TASK_AWAITER = struct.Struct("<IHBB QQQ II")
# size kind state flags | time id | duration caused
TASK_STEP = struct.Struct("<IHBB QQ QQ")
# size kind runtime flags | time ready max | tid steps
LOOP = struct.Struct("<IHBB QQQ II")
LOOP_LAG = struct.Struct("<II")
LAG_BUCKETS = 192
# size kind which flags | time weight address | keep count | interpreter span
EVENT = struct.Struct("<IHBB QQQ II II")
# size kind memory flags | type offset
DATA = struct.Struct("<IHBB Qq")

# size kind step flags | window site | keep count | offset_ns
CALL = struct.Struct("<IHBB II II Q")
NO_OFFSET = 2**64 - 1
# size kind how flags | time duration_ns | window stride | interpreter
WINDOW = struct.Struct("<IHBB QQ II II")
WINDOW_FULL, WINDOW_CUT = 0, 1
WINDOW_ALL = 1

HELLO = struct.Struct("<II III I II")
CONFIG = struct.Struct("<II QQ II II")
READY = struct.Struct("<II")
ARM = struct.Struct("<II II")
MESSAGE = struct.Struct("<II II")


def size_of(slots: int, ring_size: int) -> int:
    """Without the area of probes that may follow."""
    return HEADER_SIZE + slots * (SLOT_SIZE + ring_size)

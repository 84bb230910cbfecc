"""What numbers and words in the rows of a recording mean, for whoever writes or reads them.

The recorder writes rows without NumPy, the algorithms of `sonde.model` know no file: what both must
agree on is here, and imports nothing.
"""

# The state of a sample.
RUNNING = 0
WAITING = 1
PREEMPTED = 2
"""Off the processor although it could run; counted with the waiting time."""

BEFORE = -1
"""The time of a row that holds the share of the next one that lies before the part."""

GIL, SEMAPHORE, PARKED, SHARED = "gil", "semaphore", "parked", "shared"
MONITOR, MONITOR_WAIT, PARK = "monitor", "monitor-wait", "park"
"""What a lock is made of: the GIL, a semaphore of the process, a word in memory whose waiters are
parked elsewhere (PyMutex), a semaphore between processes; of Java an object's monitor, what waits
for its notify, and what LockSupport.park was called for."""

WAIT_BEGIN, ACQUIRED, GAVE_UP, RELEASED, OWNER_OBSERVED, PREEXISTING = 1, 2, 3, 4, 5, 6
"""What happened to a lock: a thread must wait; it has it; it gave up; the owner released it while
somebody waited; a long waiter found this thread holding it; this thread waited already when the
recording began, and its end will not be reported."""

ACQUIRED_CONTENDED, ACQUIRED_RECURSIVE, ACQUIRED_REENTRANT = 1, 2, 4
ACQUIRED_MASK = ACQUIRED_CONTENDED | ACQUIRED_RECURSIVE | ACQUIRED_REENTRANT
"""Flags of a sampled acquisition: another thread held the lock when the thread came; the thread
held it already; it is a lock that a thread may acquire again."""

OBJECT, NATIVE_MEMORY = 0, 1
"""What a sampled allocation is of: an object of the runtime; memory of an extension or library."""

VALUE_OTHER, VALUE_INTEGER, VALUE_FLOAT, VALUE_BOOLEAN, VALUE_NONE, VALUE_TEXT = 0, 1, 2, 3, 4, 5
"""What a probe read: of an object of other kinds the type is known only."""
FLOW_ENTRY, FLOW_EXIT, FLOW_YIELD, FLOW_RESUME, FLOW_THROW, FLOW_UNWIND = 1, 2, 3, 4, 5, 6
MAX_FLOW_KIND = FLOW_UNWIND
"""An event of the call flow: a function is entered; returns; yields; is resumed; is resumed by an
exception that is thrown into it; is left by an exception."""

TASK, CALLBACK, TASK_GROUP = 0, 1, 2
"""What takes steps in an event loop: a task; a function that the loop calls; the tasks of a
coroutine function that were only added up."""

WOKEN = ("unknown", "task", "io", "timer", "thread")
WOKEN_TASK, WOKEN_IO, WOKEN_TIMER, WOKEN_THREAD = 1, 2, 3, 4
"""Who made a callback ready: another step of the loop; the loop itself after its poll; a timer;
another thread."""

LOOP_RUNTIMES = ("asyncio", "uvloop")

SPAN_NAME = "name"
"""The key of a span's attribute that replaces the name it was entered with."""

BUILT_IN = "<built-in>"
"""The file of functions that have no source lines."""
NO_FRAMES = "[no Python frames]"
"""In place of a function: the thread ran no Python code."""

FLOW_TIMES = ("cpu", "wall")
"""Metrics of the call flow; the others are numbers of events."""

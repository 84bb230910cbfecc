// The memory an agent shares with its recorder, and the messages they send over the socket.
//
// One anonymous file (memfd) per target process, made by the recorder and handed over once through
// the session's socket: no name in any file system, no other process can open it, nothing is left
// behind when either side dies, and it is not bounded by the size of /dev/shm (64 MB in most
// containers).
//
//   header | slots[nslots] | rings[nslots] of ring_size bytes each | the area of probes, if any
//   | call flow, if it is recorded: SONDE_FLOW_SIZE bytes
//
// A slot belongs to one thread. Its thread is the only producer, the recorder the only consumer.
// src/sonde/record/shm/layout.py mirrors these; SONDE_PROTOCOL changes whenever one of them does.
#ifndef SONDE_CORE_SHM_H
#define SONDE_CORE_SHM_H

#include "core/session/probe_area.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define SONDE_MAGIC 0x45444e53u // "SNDE"
#define SONDE_PROTOCOL 16u
#define SONDE_SLOT_SIZE 256u
#define SONDE_HEADER_SIZE 4096u
#define SONDE_FLOW_SIZE (4096u + (64u << 19))
#define SONDE_LOCK_WITHIN 512u // bytes
#define SONDE_UNWALKED 16u
#define SONDE_MAX_EVENTS 16u
#define SONDE_NOTES_TID 0xffffffffu // the slot for what is written outside of handlers

enum { // slot states; free -> used by the thread, used -> free by the recorder once the thread has
       // ended
    SONDE_SLOT_FREE = 0,
    SONDE_SLOT_USED = 1,
};

enum { // what to capture, bits of sonde_config.what and sonde_header.what
    SONDE_WHAT_CPU = 1,
    SONDE_WHAT_WAITS = 2,
    SONDE_WHAT_LOCKS = 4,
    SONDE_WHAT_END = 8, // only in the header: the recording is over, detach when possible
    SONDE_WHAT_OBJECTS = 16,
    SONDE_WHAT_CALLS = 32,
    SONDE_WHAT_CHAINED = 128,     // samples have a function and its caller, not the whole stack
    SONDE_WHAT_CHECKED = 256,     // walks that could have ended early continue, and are compared
    SONDE_WHAT_ACTIVATIONS = 512, // samples state which of their frames the last one had
    SONDE_WHAT_PROBES = 1024,     // values at lines; these two have an area, see probe_area.h
    SONDE_WHAT_STEPS = 2048,      // every instruction or branch for a while
    SONDE_WHAT_FLOW = 4096,       // entries and exits of functions, see core/flow
    SONDE_WHAT_TASKS = 8192,      // tasks of event loops
    SONDE_WHAT_LOCK_ACTIVITY = 16384, // acquisitions of locks, contended or not
};

enum { // who takes the samples, sonde_arm.sampler
    SONDE_SAMPLER_NONE = 0,
    SONDE_SAMPLER_PERF = 1,       // perf SIGTRAP, each thread samples itself
    SONDE_SAMPLER_READER = 2,     // a reader thread that moves to the sampled thread's core
    SONDE_SAMPLER_CROSS_CORE = 3, // a reader thread on any core
    SONDE_SAMPLER_SAFEPOINT = 4,  // threads sample themselves where the runtime lets them be asked
    SONDE_SAMPLER_CPU_TIMER = 5,  // SIGTRAP of timers on CPU clocks, each thread samples itself
};

#define SONDE_CALLS_WITHIN 1024

typedef struct {
    uint32_t magic, protocol;
    uint32_t nslots, ring_size;
    _Atomic uint32_t active;        // agent: 1 while hooks are in place
    _Atomic uint32_t reader_mode;   // agent: the sampler without perf really in use, 0 if none
    _Atomic uint64_t no_slot;       // events lost because every slot was taken
    _Atomic uint64_t async;         // signals that came late because the thread had SIGTRAP blocked
    _Atomic uint64_t unnamed;       // code objects that found no place in the table of seen ones
    _Atomic uint64_t faults;        // walks ended by the memory guard
    _Atomic uint64_t reader_cpu_ns; // CPU time of the threads that serve it
    _Atomic uint32_t slots_used;    // slots at and above this index were never claimed
    _Atomic uint32_t notes_lost;    // marks and spans that found no room
    _Atomic uint64_t unwalked[SONDE_UNWALKED]; // stacks that could not be walked, by the runtime's
                                               // own reasons
    _Atomic uint32_t endless; // events that nothing but their own signals causes, bits by number
    uint32_t pad0;
    _Alignas(16) _Atomic uint32_t calls;         // of SONDE_CALLS_*
    _Atomic uint32_t tasks;                      // of SONDE_TASKS_*
    _Atomic uint64_t walks_checked, walks_wrong; // with SONDE_WHAT_CHECKED
    // The recorder's orders, which change while the session runs; on a line that agents only read.
    _Alignas(64) _Atomic uint32_t what; // of SONDE_WHAT_*; 0: a pause
    _Atomic uint32_t lock_every; // one of so many acquisitions of locks is sampled; 0: none is
    _Atomic uint64_t period_ns;
    // How calls are counted: every stride-th of a window, until there are enough; a window per so
    // much of a thread's CPU time.
    _Atomic uint32_t stride, samples;
    _Atomic uint64_t window_ns;
    _Atomic uint64_t event_periods[SONDE_MAX_EVENTS]; // of the kernel events, by number
    // The agent's again: windows of calls that were not opened, by SONDE_WITHHELD_*.
    _Alignas(64) _Atomic uint64_t withheld[4];
    // Of a process that armed itself: when, and its CPU time then.
    uint64_t armed_ns;
    uint64_t armed_cpu_ns;
    // Forked children that could not join the session; written by them.
    _Atomic uint64_t unjoined_children;
    // Objects whose end found no room: they look alive.
    _Atomic uint64_t object_ends_lost;
    _Atomic uint32_t objects; // of SONDE_OBJECTS_*
    uint32_t pad2;
    // As in sonde_rec_object_share, since the last such record.
    _Atomic uint64_t object_open_ns, object_cpu_ns;
    // Samples of objects that were written, those that found no room, and the time in all of this:
    // it is part of the slots' agent_ns.
    _Atomic uint64_t objects_taken, objects_lost, object_agent_ns;
    _Atomic uint32_t lock_activity; // of SONDE_LOCK_ACTIVITY_*
    // The recorder's again: the package, class or method whose acquisitions are sampled.
    uint32_t lock_within_length;
    char lock_within[SONDE_LOCK_WITHIN];
    // And of which packages and classes of Java calls are counted, a line each.
    uint32_t calls_within_length;
    char calls_within[SONDE_CALLS_WITHIN];
} sonde_header;

enum { // whether acquisitions of locks are sampled, sonde_header.lock_activity
    SONDE_LOCK_ACTIVITY_UNASKED = 0,
    SONDE_LOCK_ACTIVITY_SAMPLED = 1,
    SONDE_LOCK_ACTIVITY_UNKNOWN_LAYOUT = 2, // of the interpreter's locks
    SONDE_LOCK_ACTIVITY_NO_HOOK = 3,        // the runtime lets no class be changed
    SONDE_LOCK_ACTIVITY_WITH_FLOW = 4,      // whose inserted calls are the same
};

enum {                         // whether allocations are sampled, sonde_header.objects
    SONDE_OBJECTS_UNASKED = 0, // or not by this agent
    SONDE_OBJECTS_SAMPLED = 1,
    SONDE_OBJECTS_ALLOCATOR = 2, // the interpreter has another allocator than pymalloc
};

enum {                       // whether tasks are recorded, sonde_header.tasks
    SONDE_TASKS_UNASKED = 0, // or not by this agent
    SONDE_TASKS_RECORDED = 1,
    SONDE_TASKS_UNKNOWN_METHODS = 2, // of the interpreter's types: they cannot be hooked
    SONDE_TASKS_UNKNOWN_UVLOOP = 3,  // those of its loops are not
};

enum {                            // why a window was not opened
    SONDE_WITHHELD_TRACED = 0,    // the program uses sys.settrace or sys.setprofile
    SONDE_WITHHELD_MONITORED = 1, // the program has a sys.monitoring tool
    SONDE_WITHHELD_NO_TOOL = 2,   // every tool id of sys.monitoring is in use
    SONDE_WITHHELD_EVALUATED = 3, // the program evaluates its frames itself (PEP 523)
};

enum {                       // whether calls are counted, sonde_header.calls
    SONDE_CALLS_UNASKED = 0, // or not by this agent
    SONDE_CALLS_COUNTED = 1,
    SONDE_CALLS_COMPILED = 5, // the interpreter compiles at run time
    SONDE_CALLS_FAILED = 6,
    SONDE_CALLS_NOT_INSERTED = 7, // the JVM does not let classes be changed
};

typedef struct {
    // written by the thread that claims the slot
    _Atomic uint32_t state;
    _Atomic uint32_t tid; // 0 until the slot is filled in
    uint64_t claimed_ns;  // CLOCK_MONOTONIC
    uint64_t
        thread_object; // address of the threading.Thread object at the root frame, 0 if unknown
    uint64_t birth_ns; // when the thread was born, 0 if not asked
    // Acquisitions of locks: how many are left until the next sample, of how many there were when
    // that was drawn, and those before it that no sample has reported.
    uint32_t locks_left, locks_drawn;
    uint64_t locks_before;
    uint8_t pad0[16];
    // the producer's line
    _Atomic uint64_t head;
    uint64_t taken;
    uint64_t lost;
    uint64_t undecodable;
    uint64_t truncated;
    uint64_t agent_ns;
    uint64_t waits;
    uint64_t duplicate; // signals of a second event on the same thread, ignored
    // the consumer's line
    _Atomic uint64_t tail;
    uint8_t pad1[56];
    // the producer's again
    uint64_t lock_events;
    uint64_t events_lost; // of locks, objects and the kernel
    uint64_t calls, calls_lost;
    uint64_t windows;
    uint64_t missed; // ticks at which the last window was still open
    // frames of the stacks that threads walked themselves, and those that were looked at for it
    uint64_t frames, visited;
} sonde_slot;

_Static_assert(sizeof(sonde_slot) == SONDE_SLOT_SIZE, "slots are addressed by the recorder");
_Static_assert(sizeof(sonde_header) <= SONDE_HEADER_SIZE, "slots begin on the second page");

enum { // kinds of records in a ring
    SONDE_REC_PAD = 0,
    SONDE_REC_SAMPLE = 1,
    SONDE_REC_CODE = 2,
    SONDE_REC_NATIVE = 3,
    SONDE_REC_OPEN_WAIT = 4, // a sample of `tid`, which waits at `time`
    SONDE_REC_LOCK = 6,
    // id: a thread object's address, name: what it is called, since a time in file_len (its lower
    // half) and table_len
    SONDE_REC_THREAD = 5,
    SONDE_REC_MARK = 7,
    SONDE_REC_NOTE = 8, // spans and marks of the program
    SONDE_REC_TYPE = 9, // id: a class, name: what it is called
    SONDE_REC_OBJECT = 10,
    SONDE_REC_OBJECT_END = 17,  // a sampled object was freed
    SONDE_REC_OBJECT_TYPE = 18, // what a sampled object is; state: of SONDE_OBJECT_*
    SONDE_REC_OBJECT_SHARE = 19,
    SONDE_REC_PROBE = 20, // a value at a line; state: of SONDE_VALUE_*
    SONDE_REC_CALL = 15,
    SONDE_REC_WINDOW = 16,       // the end of a window; state: of SONDE_WINDOW_*
    SONDE_REC_EVENT = 13,        // state: the number of the event
    SONDE_REC_FLOW = 24,         // entries and exits of functions, see core/flow/flow_memory.h
    SONDE_REC_TASK = 50,         // `id`: the task of this slot's records from here on, 0: none
    SONDE_REC_TASK_INFO = 51,    // what a task is; state: of SONDE_TASK_*
    SONDE_REC_TASK_TIMES = 52,   // time of a task since the last such record; state: 1 if it ended
    SONDE_REC_TASK_WAIT = 53,    // a step begins after a long wait; state: of SONDE_WOKEN_*
    SONDE_REC_TASK_STEP = 54,    // a step that was long, or that others waited for
    SONDE_REC_LOOP = 55,         // how long callbacks waited; state: of SONDE_LOOP_*
    SONDE_REC_TASK_RESUMED = 56, // who resumed a task; state: of SONDE_WOKEN_*
    SONDE_REC_TASK_AWAITER = 57, // which task awaits another
    SONDE_REC_DATA = 14,         // what the last one of this slot touched; state: of SONDE_MEMORY_*
    SONDE_REC_LOCK_SAMPLE = 40,  // a lock was acquired; state: of SONDE_ACQUIRED_*
    SONDE_REC_LOCK_HOLD_END = 41,
};

enum { // sonde_rec_sample.state, as in the recording
    SONDE_RUNNING = 0,
    SONDE_WAITING = 1,
    SONDE_PREEMPTED = 2,
};

enum { // sonde_rec_sample.flags
    SONDE_UNDECODABLE = 1,
    SONDE_TRUNCATED = 2,
    // The frames are pairs of a frame and its depth, innermost first, `keep` is 0, and no record
    // continues this one. ROOT: the last of them is the outermost there is.
    SONDE_CHAINED = 4,
    SONDE_ROOT = 8,
    // The next record continues the stack before this one, not this one, see stack_delta.h.
    SONDE_DETACHED = 16,
    SONDE_ACTIVATIONS = 32, // `same` is set
    SONDE_UNBEGUN = 64,     // and the innermost Python frame has only just been made
};

typedef struct { // every record starts so; size is a multiple of 8 and includes this
    uint32_t size;
    uint16_t kind;
    uint8_t state, flags;
} sonde_rec;

// A frame is one word: the code's id in the upper 38 bits, instruction index + 1 in the lower 26.
#define SONDE_INSTR_BITS 26
#define SONDE_INSTR_MASK ((1u << SONDE_INSTR_BITS) - 1)

// A stack is written as what changed: the outermost `keep` frames are the same as in the last stack
// of this slot, see stack_delta.h. Deep stacks cost bytes only where they move, and the recorder
// interns only those.
typedef struct {
    sonde_rec rec;
    // CLOCK_MONOTONIC and the thread's CPU clock, ns; the recorder makes weights of them
    uint64_t time, cpu;
    uint32_t keep, count;
    uint32_t interpreter;
    union {
        uint32_t tid;       // in SONDE_REC_OPEN_WAIT: whose stack it is
        uint32_t processor; // in SONDE_REC_SAMPLE: on which the thread ran, + 1; 0: unknown
    };
    uint64_t thread_object; // likewise: as sonde_slot.thread_object
    uint32_t span;          // the innermost one that contains it; 0: none
    // How many of the outermost frames are the very activations that this slot's previous sample
    // had. `keep` does not show it: a function that is called again from the same place looks as
    // before, and one that continues has moved.
    uint32_t same;
    uint64_t frames[]; // `count` new ones, innermost first
} sonde_rec_sample;

enum {                         // sonde_rec.state of a SONDE_REC_CODE: what its table is
    SONDE_TABLE_LOCATIONS = 0, // CPython's location table
    SONDE_TABLE_BYTECODES =
        1, // pairs of 32 bits, ascending: from this bytecode index on, this line
};

typedef struct { // followed by name, file, table bytes, in that order
    sonde_rec rec;
    uint64_t id;
    uint32_t first_line;
    uint32_t name_len, file_len, table_len;
} sonde_rec_code;

typedef struct { // a moment or a span of time that has a name; followed by that
    sonde_rec rec;
    uint64_t time, duration_ns;
    uint32_t name_len, pad;
} sonde_rec_mark;

enum {                             // sonde_rec.state of a SONDE_REC_LOCK: what happened
    SONDE_LOCK_WAIT_BEGIN = 1,     // a wait begins; with the waiter's stack
    SONDE_LOCK_ACQUIRED = 2,       // the wait ends, the thread holds the lock
    SONDE_LOCK_GAVE_UP = 3,        // timed out or interrupted
    SONDE_LOCK_RELEASED = 4,       // released while a thread waited; with the holder's stack
    SONDE_LOCK_OWNER_OBSERVED = 6, // `holder` the wait ends, the thread holds the lock, as a long
                                   // waiter found out; with the holder's stack
    SONDE_LOCK_WAITED =
        5, // WAIT_BEGIN and ACQUIRED in one, reported afterwards; with the waiter's stack
    // `holder` waits for it since before the session, with its stack; `started_sequence`: whether
    // it reports the end itself
    SONDE_LOCK_PREEXISTING = 7,
};

static inline bool sonde_lock_has_stack(uint8_t type)
{
    return type != SONDE_LOCK_ACQUIRED && type != SONDE_LOCK_GAVE_UP;
}

enum { // sonde_rec_lock.kind: what the lock is made of
    SONDE_KIND_GIL = 1,
    SONDE_KIND_SEMAPHORE = 2, // a PyThread lock up to 3.14
    SONDE_KIND_PARKED = 3,    // PyMutex and PyEvent, from 3.13: a word in memory
    SONDE_KIND_SHARED = 4,    // a semaphore between processes
    // HotSpot's, by the identity hash of a Java object
    SONDE_KIND_MONITOR = 5,
    SONDE_KIND_MONITOR_WAIT = 6, // Object.wait
    SONDE_KIND_PARK = 7,         // LockSupport.park
};

typedef struct {
    sonde_rec rec;
    uint64_t time, lock, sequence;
    // when and as which event a WAITED began; in OWNER_OBSERVED and PREEXISTING the holder's thread
    // object; in WAIT_BEGIN `started` is the id of the type that the lock is of, 0 if it has none
    uint64_t started, started_sequence;
    uint32_t keep, count;
    uint32_t interpreter;
    uint16_t kind;
    uint16_t pad;
    // thread id, only in OWNER_OBSERVED and PREEXISTING; of a thread that the kernel does not know
    // (a virtual one of Java) its own number, with SONDE_VIRTUAL, in all of them
    uint64_t holder;
    uint32_t span; // in which a wait began; 0: none
    uint32_t pad1;
    uint64_t frames[]; // as in sonde_rec_sample
} sonde_rec_lock;

#define SONDE_VIRTUAL ((uint64_t)1 << 63)

enum { // flags of sonde_rec_lock_sample.rec.state, as in the recording
    SONDE_ACQUIRED_CONTENDED = 1,
    SONDE_ACQUIRED_RECURSIVE = 2,
    SONDE_ACQUIRED_REENTRANT = 4,
};

typedef struct { // a lock was acquired at `time`, after so much waiting
    sonde_rec rec;
    uint64_t time, lock;
    uint64_t id; // of the hold, never used twice in a process; 0: its end will not be reported
    uint64_t wait_ns;
    uint32_t every;   // one of so many is sampled
    uint32_t counted; // acquisitions of the thread since its last sample, with this one
    uint32_t keep, count;
    uint32_t interpreter;
    uint16_t kind; // as in sonde_rec_lock
    uint16_t pad;
    uint32_t span; // in which it was acquired; 0: none
    uint32_t pad1;
    uint64_t type;     // that the lock is of, as in SONDE_REC_TYPE; 0: it has none
    uint64_t spin_ns;  // of `wait_ns`: on CPU, trying again; SONDE_NO_SPIN: unknown
    uint64_t frames[]; // as in sonde_rec_sample
} sonde_rec_lock_sample;

#define SONDE_NO_SPIN UINT64_MAX

typedef struct { // the lock was released, by any thread
    sonde_rec rec;
    uint64_t id, hold_ns;
} sonde_rec_lock_hold_end;

typedef struct { // an object was allocated; rec.state: of SONDE_OBJECT_*
    sonde_rec rec;
    uint64_t time, size;
    uint64_t type;    // as in SONDE_REC_TYPE
    uint64_t every;   // bytes between two samples, on average
    uint64_t id;      // never used twice in a process; 0: its end will not be reported
    uint64_t address; // 0: unknown, or the object moves
    uint32_t keep, count;
    uint64_t frames[]; // as in sonde_rec_sample
} sonde_rec_object;

enum {                       // as in the recording
    SONDE_OBJECT_OBJECT = 0, // of the runtime
    SONDE_OBJECT_NATIVE = 1, // memory of an extension or a library
};

// sonde_rec_object.rec.flags: its type, address and kind come in a record of their own, because the
// object is not made yet where its memory is allocated.
#define SONDE_OBJECT_TYPE_FOLLOWS 128u
// It was sampled in a window: `every` is to be divided by the share of time that these were open.
#define SONDE_OBJECT_IN_WINDOW 8u

typedef struct {
    sonde_rec rec;
    uint64_t id, type, address; // as in sonde_rec_object
} sonde_rec_object_type;

typedef struct {
    sonde_rec rec;
    uint64_t time, id; // as in sonde_rec_object
} sonde_rec_object_end;

typedef struct { // up to `time`, and since the record before, windows were open for this CPU time
    sonde_rec rec;
    uint64_t time, open_ns, cpu_ns; // of the process
} sonde_rec_object_share;

typedef struct { // a call that was counted; the innermost frame is the callee. rec.state: how many
                 // calls it is from the one counted before it or, the first, from the beginning
    sonde_rec rec;
    uint32_t window;
    uint32_t site; // the instruction of the caller + 1, 0: unknown
    uint32_t keep, count;
    uint64_t offset_ns; // since its window was opened, as its duration; UINT64_MAX: unknown
    uint64_t frames[];  // as in sonde_rec_sample
} sonde_rec_call;

enum {
    SONDE_WINDOW_FULL = 0,
    SONDE_WINDOW_CUT = 1, // before it had its samples
};
#define SONDE_WINDOW_ALL 1 // flags: calls of C functions were seen, too

typedef struct {
    sonde_rec rec;
    uint64_t time;        // when it was opened
    uint64_t duration_ns; // CPU time of its thread, without what we spent ourselves; 1: unknown
    uint32_t window, stride;
    uint32_t interpreter, pad;
} sonde_rec_window;

typedef struct { // the kernel or the processor reported an event
    sonde_rec rec;
    uint64_t time;
    uint64_t weight;  // how many; 0: a period's worth
    uint64_t address; // of the data it is about, 0 if it is about none
    uint32_t keep, count;
    uint32_t interpreter;
    uint32_t span;
    uint64_t frames[]; // as in sonde_rec_sample
} sonde_rec_event;

typedef struct { // what a probe read
    sonde_rec rec;
    uint64_t time;
    uint64_t type;   // as in SONDE_REC_TYPE
    uint64_t number; // of an integer or boolean 64 bits with sign, of a float its own
    uint32_t probe;  // its serial number
    uint32_t span;
    uint32_t interpreter;
    uint32_t text_length;
    char text[SONDE_PROBE_VALUE_TEXT];
    uint32_t keep, count;
    uint64_t frames[]; // as in sonde_rec_sample
} sonde_rec_probe;
enum { // as in the recording
    SONDE_TASK_TASK = 0,
    SONDE_TASK_CALLBACK = 1, // all calls of one function
    SONDE_TASK_GROUP = 2,    // tasks of one coroutine function that have no record of their own
};

enum { // who made a callback ready, as in the recording
    SONDE_WOKEN_UNKNOWN = 0,
    SONDE_WOKEN_STEP = 1, // another step of the same loop
    SONDE_WOKEN_IO = 2,   // the loop itself
    SONDE_WOKEN_TIMER = 3,
    SONDE_WOKEN_THREAD = 4,
};

enum {
    SONDE_LOOP_ASYNCIO = 0,
    SONDE_LOOP_UVLOOP = 1,
};

typedef struct {
    sonde_rec rec;
    uint64_t id;
} sonde_rec_task;

typedef struct { // followed by the name
    sonde_rec rec;
    uint64_t id, parent; // 0: unknown
    uint64_t created;    // 0: unknown
    uint64_t code;       // of its coroutine or function, as a frame; 0: unknown
    uint32_t name_len, pad;
} sonde_rec_task_info;

typedef struct {
    sonde_rec rec;
    uint64_t time; // up to which these are known: the end of its last step
    uint64_t id;
    uint64_t running, ready, suspended; // ns
    uint64_t caused;                    // ns that others were ready while it ran
    uint32_t steps, tasks;              // of a group: how many tasks ended
} sonde_rec_task_times;

typedef struct {
    sonde_rec rec;
    uint64_t time, id;
    uint64_t waker; // the task that made it ready, 0: none
    uint64_t ready, suspended;
    uint64_t object; // the first argument of the innermost coroutine: a lock, say; 0: unknown
    uint32_t count, pad;
    uint64_t frames[]; // of its coroutines, innermost first
} sonde_rec_task_wait;

typedef struct { // written by the thread that makes the task ready, with its stack
    sonde_rec rec;
    uint64_t time, id;
    uint64_t waker;    // the task that does so, 0: none
    uint64_t since;    // when this thread did so before, 0: unknown
    uint64_t executed; // what it has run for an executor, as a frame; 0: nothing
    uint32_t interpreter, pad;
    uint32_t keep, count;
    uint64_t frames[]; // as in sonde_rec_sample
} sonde_rec_task_resumed;

typedef struct {
    sonde_rec rec;
    uint64_t time, id, awaiter;
    uint32_t count, pad;
    uint64_t frames[]; // of the awaiter's coroutines, innermost first
} sonde_rec_task_awaiter;

typedef struct {
    sonde_rec rec;
    uint64_t time, id;
    uint64_t duration, caused;
} sonde_rec_task_step;

typedef struct {
    uint32_t bucket, count;
} sonde_loop_lag;

// Bucket b has waits of less than 2^(b / 4) * (1 + (b % 4 + 1) / 4) ns.
#define SONDE_LAG_BUCKETS 192u

typedef struct { // of the callbacks that began since the last such record
    sonde_rec rec;
    uint64_t time;
    uint64_t ready, max; // ns
    uint32_t tid, steps;
    sonde_loop_lag lags[]; // those that are not empty, up to the record's end
} sonde_rec_loop;

enum { // kinds of memory, as in the recording
    SONDE_MEMORY_UNKNOWN = 0,
    SONDE_MEMORY_POOL = 1, // of small objects
    SONDE_MEMORY_STACK = 2,
    // 3 and 4 are the recorder's: a mapped file, any other. Of the Java heap:
    SONDE_MEMORY_EDEN = 5,
    SONDE_MEMORY_SURVIVOR = 6,
    SONDE_MEMORY_OLD = 7,
    SONDE_MEMORY_HUMONGOUS = 8, // regions of one large object
    SONDE_MEMORY_HEAP = 9,      // it is not known of what kind
};

typedef struct {
    sonde_rec rec;
    uint64_t type;   // as in SONDE_REC_TYPE, 0 if unknown
    uint64_t offset; // of the address in the object
} sonde_rec_data;

enum { // sonde_rec.state of a SONDE_REC_NOTE
    SONDE_NOTE_BEGIN = 1,
    SONDE_NOTE_END = 2,
    SONDE_NOTE_MARK = 3,
    SONDE_NOTE_ATTRIBUTE = 4, // text: key=value
};

typedef struct {
    sonde_rec rec;
    uint64_t time;
    uint32_t span, parent; // 0: none
    uint32_t interpreter;
    uint32_t text_len;
    char text[];
} sonde_rec_note;

// ---- over the socket, in this order: hello ->, <- config (with the memfd), ready ->, <- arm

typedef struct {
    uint32_t magic, protocol;
    uint32_t pid, tid, ppid;
    uint32_t reason;      // sonde_reason
    uint32_t version_hex; // major, minor, patch in its upper three bytes
    uint32_t runtime;     // sonde_runtime
} sonde_hello;

enum sonde_runtime {
    SONDE_CPYTHON = 0,
    SONDE_HOTSPOT = 1,
};

enum sonde_reason {
    SONDE_START = 0,
    SONDE_FORKED = 1,
    SONDE_API = 2,
    // These two are answered with sonde_arm at once:
    SONDE_EXEC = 3,        // about to execute another program: close the events first
    SONDE_EXEC_FAILED = 4, // still here: arm again
    SONDE_REMOTE = 5,      // not the process itself, but the recorder, which reads it from outside
    SONDE_ATTACH = 6,      // attached while it ran
    // Not answered: the connection stays, and its end ends the session in the target. Carries
    // sonde_message in both directions.
    SONDE_CONTROL = 7,
    SONDE_PAUSE = 8, // the program itself wants it; these two are answered with sonde_arm at once
    SONDE_RESUME = 9,
    // Not answered: the process made its memory and opened its events itself, and sends the
    // descriptors along: the memory, then the events.
    SONDE_FORKED_ARMED = 10,
    SONDE_START_ARMED = 11,
};

enum {                    // sonde_message.word
    SONDE_MSG_NAMES = 1,  // recorder: report the names of threads
    SONDE_MSG_END = 2,    // recorder: end the session
    SONDE_MSG_FAILED = 3, // agent: could not start, value is an errno
};

typedef struct {
    uint32_t magic, type, value, pad;
} sonde_message;

typedef struct {
    uint32_t magic, protocol;
    uint64_t size;
    uint64_t period_ns;
    uint32_t nslots, ring_size;
    uint32_t what;
    uint32_t follow_children;
} sonde_config;

typedef struct {
    uint32_t magic, status; // status 0: ready
} sonde_ready;

typedef struct {
    uint32_t magic, sampler;
    uint32_t wait_signals; // context-switch events are armed too
    uint32_t exact_cpu;    // ticks may be missing: every sample is to carry the CPU clock
} sonde_arm;

// sig_data of the perf events: kind in the low bits, of an event also its number and by what it is
// measured, then a number that distinguishes the events of a thread armed twice, then the round of
// arming (from 1)
#define SONDE_SIG_CPU 1u
#define SONDE_SIG_SWITCH 2u
#define SONDE_SIG_EVENT 3u
#define SONDE_SIG_WHICH_SHIFT 2
#define SONDE_SIG_MEASURE_SHIFT 6
#define SONDE_SIG_MEASURE 7u
#define SONDE_SIG_KIND 3u
#define SONDE_SIG_NUMBER_SHIFT 9
#define SONDE_SIG_ROUND_SHIFT 40
#define SONDE_SIG_FIRST_ROUND 1u // of a process that arms itself; the recorder begins with 2

// Signals do not queue: of many events inside one system call a thread gets one. Where the kernel
// keeps a cheap count per thread, the weight is the difference in that.
enum {
    SONDE_MEASURE_PERIOD = 0,
    SONDE_MEASURE_MINOR_FAULTS = 1,
    SONDE_MEASURE_MAJOR_FAULTS = 2,
    SONDE_MEASURE_FAULTS = 3,
    SONDE_MEASURE_SWITCHES = 4,
};

#endif

// Writing what was captured into a thread's ring, as records.
// May be called in a signal handler.
#ifndef SONDE_CORE_RECORDS_H
#define SONDE_CORE_RECORDS_H

#include "core/session/session.h"

typedef struct {
    uint64_t time, cpu;
    uint32_t interpreter;
    uint32_t tid;       // set: the stack is that of another thread, which waits
    uint32_t processor; // on which the thread runs, + 1; 0: unknown
    uint32_t span;
    uint64_t thread_object;
    uint8_t state, flags;
    bool chained; // pairs are wanted, if the runtime can, see caller_chain.h
    bool direct;  // it is known that no C function is above the top frame
    // Whether the walk is to find out which frames are activations that the last sample had;
    // `same`: how many are, as in sonde_rec_sample, only with SONDE_ACTIVATIONS.
    bool activations;
    uint32_t same;
} sonde_event;

// States which task the thread's next records are of, if that is another one than of those before.
void sonde_write_task(sonde_thread *thread);

// Writes the stack of `depth` frames in sonde_stack; counts it as lost if there is no room.
void sonde_write_stack(sonde_thread *thread, uint32_t depth, const sonde_event *event);

typedef struct {
    uint64_t time, lock, sequence;
    uint64_t started, started_sequence; // as in sonde_rec_lock
    uint32_t interpreter, kind;
    uint64_t holder;
    uint32_t span;
    uint8_t type, flags;
} sonde_lock_event;

// Writes an event of a lock, with the stack in sonde_stack for the types that have one.
void sonde_write_lock(sonde_thread *thread, uint32_t depth, const sonde_lock_event *event);
// The same in two steps: a record that is not published yet, in which something may still be
// changed. NULL if there was no room, which is counted. A caller that does not commit calls
// sonde_stack_lost(); nothing else of the thread is written in between.
sonde_rec_lock *sonde_draft_lock(sonde_thread *thread, uint32_t depth,
                                 const sonde_lock_event *event);
void sonde_commit_lock(sonde_thread *thread, uint8_t type);

// Writes that the innermost frame of the stack in sonde_stack was called, in the thread's window.
void sonde_write_call(sonde_thread *thread, uint32_t depth, uint8_t flags, uint64_t offset_ns);

// Writes that an event was caused by the stack in sonde_stack; the recorder counts the lost ones.
void sonde_write_event(sonde_thread *thread, uint32_t depth, const sonde_rec_event *event);

// Writes that the stack in sonde_stack allocated an object of that type and size. False: there was
// no room, which is counted, and the object need not be followed.
bool sonde_write_object(sonde_thread *thread, uint32_t depth, const sonde_rec_object *object);
// Writes what the object is, if the record of it had SONDE_OBJECT_TYPE_FOLLOWS; in any thread.
// False: there was no room, which is not counted.
bool sonde_write_object_type(sonde_thread *thread, uint64_t id, uint64_t type, uint64_t address,
                             uint8_t kind);
// Writes that the object was freed, in any thread. False: there was no room, which is not counted:
// the caller writes it later or calls sonde_object_end_lost().
bool sonde_write_object_end(sonde_thread *thread, uint64_t time, uint64_t id);
void sonde_object_end_lost(void);
// Counts the CPU time of the thread since then as spent in sampling objects. Elapsed time would
// include that another thread was on the processor.
void sonde_object_time_spent(sonde_thread *thread, uint64_t since_cpu_ns);
// Writes what a probe read, with the stack in sonde_stack. False: there was no room, which is not
// counted.
bool sonde_write_probe(sonde_thread *thread, uint32_t depth, const sonde_rec_probe *value);
// Writes in which share of the CPU time windows were open. False: there was no room.
bool sonde_write_object_share(sonde_thread *thread, uint64_t time, uint64_t open_ns,
                              uint64_t cpu_ns);

// Writes that the stack in sonde_stack acquired a lock. False: there was no room, which is counted.
bool sonde_write_lock_sample(sonde_thread *thread, uint32_t depth,
                             const sonde_rec_lock_sample *sample);
// Writes that it was released, in any thread. False: there was no room, which is counted.
bool sonde_write_lock_hold_end(sonde_thread *thread, uint64_t id, uint64_t hold_ns);

#endif

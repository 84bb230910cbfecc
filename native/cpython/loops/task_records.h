// Writes what tasks are, how long they waited, and how long their steps were.
#ifndef SONDE_CPYTHON_TASK_RECORDS_H
#define SONDE_CPYTHON_TASK_RECORDS_H

#include "cpython/loops/ready_queue.h"
#include "cpython/loops/task_table.h"

// All of these are called with the GIL, with the entered thread that writes. What finds no room is
// counted as lost.

// Names the task, or the function that a callback calls. No code of the program runs, and an
// exception that is raised stays. False: there was no room.
bool sonde_task_describe(sonde_thread *thread, sonde_task_entry *entry, PyObject *task,
                         PyObject *coroutine);
bool sonde_callback_describe(sonde_thread *thread, sonde_task_entry *entry, PyObject *function);
// Tasks of one coroutine function.
bool sonde_group_describe(sonde_thread *thread, sonde_task_entry *entry, PyCodeObject *code);

// Its times since the last record of them.
void sonde_task_report(sonde_thread *thread, sonde_task_entry *entry, bool ended);

// A step begins, of a task whose coroutine stands where it was suspended, or of a callback.
void sonde_task_write_wait(sonde_thread *thread, const sonde_task_entry *entry, PyObject *coroutine,
                           const sonde_readiness *woken, uint64_t time, uint64_t ready,
                           uint64_t suspended);
// The calling thread made it ready, by what it does now.
void sonde_task_write_resumption(sonde_thread *thread, const sonde_task_entry *entry,
                                 const sonde_readiness *woken, uint64_t time, uint64_t since);
// `awaiter` awaits it, in the coroutines that it is suspended in.
void sonde_task_write_awaiter(sonde_thread *thread, const sonde_task_entry *entry,
                              const sonde_task_entry *awaiter, PyObject *coroutine, uint64_t time);
void sonde_task_write_step(sonde_thread *thread, const sonde_task_entry *entry, uint64_t time,
                           uint64_t duration, uint64_t caused);

#endif

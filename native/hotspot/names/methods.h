// Methods that were seen on stacks, and their description for the recorder.
//
// A handler may call no function of the VM. It gives a method an id at first sight and puts it into
// a queue; a thread of the agent's own asks the VM for name, file and lines some milliseconds
// later. Until then the recorder waits. A jmethodID is never given to another method (17 to 25),
// and one whose class was unloaded meanwhile is refused by JVMTI: such a method has no name, but
// never a wrong one.
#ifndef SONDE_HOTSPOT_METHODS_H
#define SONDE_HOTSPOT_METHODS_H

#include "core/session/session.h"

#include <jvmti.h>

// In a handler: the id of a method, 0 if there is no room for it.
uint64_t sonde_method_id(sonde_thread *thread, jmethodID method);

// Empties the queue of what an earlier session left; before this one's handlers put something in.
void sonde_methods_forget(void);

// Starts the thread that describes them. 0 or an errno.
int sonde_methods_start(void);
void sonde_methods_stop(void);
// In a forked child the thread does not exist.
void sonde_methods_forked(void);

// Describes what is in the queue, in the calling thread: when the VM ends.
void sonde_methods_describe(JNIEnv *env);

#endif

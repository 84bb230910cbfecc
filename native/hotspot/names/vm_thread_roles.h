// What threads do that run no Java code: collecting garbage, compiling, looking after the VM.
#ifndef SONDE_HOTSPOT_VM_THREAD_ROLES_H
#define SONDE_HOTSPOT_VM_THREAD_ROLES_H

#include "core/session/session.h"

// The frame word of the calling thread's work, if it is one of the VM's own; else 0.
uint64_t sonde_role_of_vm(sonde_thread *thread);
// The same for any thread that has no Java frames; 0 if there was no room to report it.
uint64_t sonde_role(sonde_thread *thread, bool is_java);

#endif

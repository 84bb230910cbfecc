// What threads do that run no Java code: collecting garbage, compiling, looking after the VM.
#ifndef SONDE_ROLES_H
#define SONDE_ROLES_H

#include "../core/session.h"

// The frame word that stands for the calling thread's work; 0 if there was no room to tell it.
uint64_t sonde_role(sonde_thread *thread, bool is_java);

#endif

// Java frames, as HotSpot describes them, to the words of a stack.
#ifndef SONDE_HOTSPOT_JAVA_WORD_H
#define SONDE_HOTSPOT_JAVA_WORD_H

#include "core/session/session.h"
#include "hotspot/vm/vm.h"

// The word of a frame; 0 if there was no room to describe its method.
uint64_t sonde_java_word(sonde_thread *thread, const sonde_java_frame *frame);

#endif

// Which frames are the very activations that this thread's last sample had.
//
// A frame that lies where another one lay, of the same method, called from the same place, may be
// that one still, or a new call. Whaley takes a bit of the return address. HotSpot reads return
// addresses, so they stay as they are. Here it is:
//
// - The word that a compiled method writes when it is entered. To find out early that the stack
//   will not suffice, it stores four bytes StackShadowPages below its frame. Nothing reads them,
//   and nothing else lies there unless the stack grows as deep. The mark has eight bytes: of a
//   frame whose mark is whole the entry was before it was set. If the first four are overwritten
//   the method was entered again there. If all are, something else lay there, and nothing is known.
// - The interpreter counts how often it enters a method. As long as it has not entered it anywhere,
//   a frame of it is the same.
// - A debug register, where neither helps: methods that call none, as C2 compiles them, and the
//   interpreter's frames of methods that were entered since. It watches the word that holds the
//   frame's return address, which every call writes again. Three are used.
//
// Frames that the VM replaces by others of the same activation are not known: where compiled code
// is given up, and where a loop continues in compiled code. Methods compiled into their caller have
// no frame: they count as the same as long as the stack looks the same there.
#ifndef SONDE_HOTSPOT_ENTRY_MARKS_H
#define SONDE_HOTSPOT_ENTRY_MARKS_H

#include "core/session/records.h"
#include "hotspot/walk/incremental_walk.h"

// Of a stack that is kept, of a thread that was interrupted with its stack pointer there: sets in
// `event` how many of its outermost frames are the same, if that is known, and marks the others.
void sonde_entry_marks_sample(const sonde_retraced *by, uintptr_t sp, sonde_event *event);
// The same of a thread of the VM's own, whose whole stack is what it does.
void sonde_entry_marks_role(sonde_thread *thread, uint64_t role, sonde_event *event);

#endif

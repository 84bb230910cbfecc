// Writing what the program itself states: spans, their attributes, marks.
#ifndef SONDE_CORE_SPAN_RECORDS_H
#define SONDE_CORE_SPAN_RECORDS_H

#include "core/session/session.h"

// Longer texts are cut.
#define SONDE_MAX_NOTE 4096

// Whether a span may begin: its end must find room, too, and samples come first.
bool sonde_note_has_room(const sonde_thread *thread);

// `note`: its numbers; the rest of it is filled in. False: there was no room, which is counted.
bool sonde_write_note(sonde_thread *thread, uint8_t type, const sonde_rec_note *note,
                      const char *text, size_t length);

#endif

// Asks the recorder of this process's session, at the socket at which it takes commands.
#ifndef SONDE_CORE_CONTROL_REQUEST_H
#define SONDE_CORE_CONTROL_REQUEST_H

#include <stddef.h>

// Sends a command, which is a JSON object, and waits for the answer: its length, without the end of
// the line but with a 0 after it. 0: there is none, or it does not fit. In no signal handler.
size_t sonde_control_ask(const char *command, char *answer, size_t size);

#endif

// What the agent offers to the program it is in; Python has python_api.c besides.
#ifndef SONDE_CORE_PROGRAM_API_H
#define SONDE_CORE_PROGRAM_API_H

#include "core/protocol/program_spans.h"

// From here on, until it is withdrawn, code that uses sonde.h finds the agent. In no signal
// handler.
void sonde_program_offer(sonde_find_place *find);
void sonde_program_withdraw(void);

#endif

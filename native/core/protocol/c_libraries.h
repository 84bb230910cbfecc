// Finds the code of the process that was compiled with sonde.h, and connects it to the agent.
#ifndef SONDE_CORE_C_LIBRARIES_H
#define SONDE_CORE_C_LIBRARIES_H

struct sonde_agent_calls;

// What is loaded now and, until it is withdrawn, what is loaded later: that looks for us itself. In
// no signal handler.
void sonde_c_libraries_offer(const struct sonde_agent_calls *calls);
void sonde_c_libraries_withdraw(const struct sonde_agent_calls *calls);

#endif

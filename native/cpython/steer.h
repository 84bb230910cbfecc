// The thread that a process entered while it ran keeps for its recorder: it starts the session, and
// ends it when its connection to the recorder ends, however that came about.
#ifndef SONDE_STEER_H
#define SONDE_STEER_H

#include <stdbool.h>

// In a forked child, which has no such thread: closes what belongs to the parent's. True if there
// was one.
bool sonde_steer_forked(void);
// Gives that child a thread of its own, for the session that it has begun at `path`.
void sonde_steer_child(const char *path);

#endif

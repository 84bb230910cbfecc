// From 3.12 on os.fork() looks how many threads the process has, and warns if it is not alone. Our
// own threads must not cause that warning: the interpreter gets the number without them.
#ifndef SONDE_CPYTHON_FORK_WARNING_H
#define SONDE_CPYTHON_FORK_WARNING_H

// To be called before threads of ours are made.
void sonde_forks_watch(void);
// By a thread of ours that is about to end, as its last step.
void sonde_forks_thread_ends(void);
// When the others have ended: takes the hook out, unless a fork may be under way that needs it.
// Then the hook takes itself out.
void sonde_forks_leave(void);
// Before a fork, also when no session is under way.
void sonde_forks_before(void);

#endif

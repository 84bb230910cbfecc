// From 3.12 on os.fork() looks how many threads the process has, and warns if it is not alone. Our
// own are none of the program's business: it is told the number without them.
#ifndef SONDE_FORKS_H
#define SONDE_FORKS_H

// To be called when threads of ours may be there; sonde_got_unhook takes the hook out.
void sonde_forks_watch(void);

#endif

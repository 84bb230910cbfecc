#include "reader.h"
int sonde_reader_start(const sonde_arm *arm) { (void)arm; return 0; }
void sonde_reader_stop(void) {}
void sonde_reader_forked(void) {}

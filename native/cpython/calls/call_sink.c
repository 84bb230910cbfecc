#include "cpython/calls/call_sink.h"

void (*sonde_call_seen)(PyThreadState *state, const sonde_seen_call *call);
void (*sonde_call_passed)(const sonde_seen_call *call);

#include "cpython/calls/call_sink.h"

void (*sonde_report_call)(PyThreadState *state, const sonde_call_event *call);
void (*sonde_announce_call)(const sonde_call_event *call);

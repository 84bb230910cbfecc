#include "core/session/current_task.h"

_Thread_local sonde_task sonde_current_task __attribute__((tls_model("initial-exec")));

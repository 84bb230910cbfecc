#define _GNU_SOURCE
#define SONDE_AGENT_ITSELF
#include "core/protocol/program_api.h"

#include "core/base/clock.h"
#include "core/protocol/c_libraries.h"
#include "core/protocol/control_request.h"
#include "core/protocol/join_session.h"

#include <errno.h>
#include <sonde.h>
#include <sys/resource.h>

static int count(sonde_thread_counts *counts)
{
    int saved = errno;
    struct rusage usage;
    int counted = sonde_agent_active() && getrusage(RUSAGE_THREAD, &usage) == 0;
    if (counted)
        *counts = (sonde_thread_counts){
            .task_clock_ns = sonde_thread_cpu(),
            .minor_faults = (uint64_t)usage.ru_minflt,
            .major_faults = (uint64_t)usage.ru_majflt,
            .context_switches = (uint64_t)usage.ru_nvcsw + (uint64_t)usage.ru_nivcsw,
        };
    errno = saved;
    return counted;
}

static const struct sonde_agent_calls calls = {
    .size = sizeof calls,
    .begin = sonde_program_begin,
    .end = sonde_program_end,
    .attribute = sonde_program_attribute,
    .mark = sonde_program_mark,
    .control = sonde_program_control,
    .ask = sonde_control_ask,
    .count = count,
};

void sonde_program_offer(sonde_find_place *find)
{
    sonde_program_find_by(find);
    sonde_c_libraries_offer(&calls);
}

void sonde_program_withdraw(void) { sonde_c_libraries_withdraw(&calls); }

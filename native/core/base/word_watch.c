#define _GNU_SOURCE
#include "core/base/word_watch.h"

#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct perf_event_attr attributes_of(uintptr_t word, bool disabled)
{
    struct perf_event_attr a;
    memset(&a, 0, sizeof a);
    a.type = PERF_TYPE_BREAKPOINT;
    a.size = sizeof a;
    a.bp_type = HW_BREAKPOINT_W;
    a.bp_addr = word;
    a.bp_len = HW_BREAKPOINT_LEN_8;
    a.sample_period = 1; // else there is no limit at which it is disarmed
    a.disabled = disabled;
    a.exclude_kernel = 1;
    a.exclude_hv = 1;
    return a;
}

static bool is_ours(const sonde_word_watch *watch)
{
    uint64_t id = 0;
    return watch->descriptor && ioctl(watch->descriptor - 1, PERF_EVENT_IOC_ID, &id) == 0 &&
           id == watch->id;
}

void sonde_word_watch_close(sonde_word_watch *watch)
{
    if (is_ours(watch))
        close(watch->descriptor - 1);
    *watch = (sonde_word_watch){0};
}

// The program may need its descriptors: no more than half of them are used.
static bool leaves_enough(int descriptor)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_NOFILE, &limit) == 0 && (rlim_t)descriptor < limit.rlim_cur / 2;
}

static bool open_watch(sonde_word_watch *watch, uintptr_t word)
{
    struct perf_event_attr a = attributes_of(word, true);
    *watch = (sonde_word_watch){.refused = true};
    int descriptor = (int)syscall(SYS_perf_event_open, &a, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (descriptor < 0)
        return false;
    if (!leaves_enough(descriptor) || ioctl(descriptor, PERF_EVENT_IOC_ID, &watch->id) != 0) {
        close(descriptor);
        return false;
    }
    watch->descriptor = descriptor + 1;
    watch->refused = false;
    watch->written = true; // it has to be armed
    return true;
}

static bool arm(sonde_word_watch *watch, uintptr_t word)
{
    int descriptor = watch->descriptor - 1;
    struct perf_event_attr a = attributes_of(word, watch->written);
    if (ioctl(descriptor, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, &a) != 0)
        return false;
    if (!watch->written)
        return true;
    // The kernel throttles an event that has reached its limit: setting its period ends that.
    uint64_t period = 1;
    return ioctl(descriptor, PERF_EVENT_IOC_REFRESH, 1) == 0 &&
           ioctl(descriptor, PERF_EVENT_IOC_PERIOD, &period) == 0;
}

static bool count_writes(const sonde_word_watch *watch, uint64_t *count)
{
    return read(watch->descriptor - 1, count, sizeof *count) == (ssize_t)sizeof *count;
}

// Was it written since it was moved, or may it have been?
static void look(sonde_word_watch *watch)
{
    uint64_t count = 0;
    if (!watch->written && (!count_writes(watch, &count) || count != watch->count)) {
        watch->count = count;
        watch->written = true;
    }
}

bool sonde_word_watch_move(sonde_word_watch *watch, uintptr_t word)
{
    if (watch->refused || (!watch->descriptor && !open_watch(watch, word)))
        return false;
    look(watch); // writes of before do not count
    if (watch->word == word && !watch->written)
        return true;
    watch->word = 0;
    if (!arm(watch, word)) {
        sonde_word_watch_close(watch);
        watch->refused = true;
        return false;
    }
    watch->word = word;
    watch->written = false;
    return true;
}

sonde_word_state sonde_word_watch_state(sonde_word_watch *watch, uintptr_t word)
{
    if (!watch->descriptor || watch->word != word)
        return SONDE_WORD_UNKNOWN;
    look(watch);
    return watch->written ? SONDE_WORD_WRITTEN : SONDE_WORD_UNWRITTEN;
}

#define _GNU_SOURCE
#include "core/sampling/call_windows.h"

#include "core/base/clock.h"
#include "core/base/hot.h"

static _Atomic(sonde_open_window *) open_window;

void sonde_windows_set_opener(sonde_open_window *open) { atomic_store(&open_window, open); }

SONDE_HOT void sonde_windows_tick(sonde_thread *thread, const ucontext_t *context)
{
    sonde_open_window *open = atomic_load_explicit(&open_window, memory_order_relaxed);
    if (!open || !(sonde_what() & SONDE_WHAT_CALLS))
        return;
    sonde_header *header = sonde.header;
    uint64_t every = atomic_load_explicit(&header->window_ns, memory_order_relaxed);
    sonde_window *window = &thread->window;
    window->due_ns += sonde_period();
    if (!every || window->due_ns < every)
        return;
    window->due_ns -= every; // the rest counts for the next: ticks need not be a part of it
    if (window->due_ns > every)
        window->due_ns = 0;
    open(thread, context);
}

static uint64_t random_word(sonde_window *window, uint64_t seed)
{
    // xorshift64*; the first seed differs from thread to thread and from run to run
    uint64_t x = window->random ? window->random : (seed ^ (uintptr_t)window) | 1;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    window->random = x;
    return x * 0x2545f4914f6cdd1du;
}

// From one call that is taken to the next: on average the stride. Were it always as many, a loop of
// as many calls would show only one of them in each window.
SONDE_HOT static uint32_t next_skip(sonde_window *window)
{
    uint32_t most = 2 * window->stride - 1;
    return 1 + (uint32_t)((random_word(window, 0) >> 32) % most);
}

// Until the first: what is left of such a step that was under way, so that each call of the window
// has the same chance.
static uint32_t first_skip(sonde_window *window, uint64_t seed)
{
    uint32_t most = 2 * window->stride - 1, skip = 1;
    uint64_t left = (random_word(window, seed) >> 32) % ((uint64_t)window->stride * most);
    for (uint32_t ways = most; left >= ways; ways--, skip++)
        left -= ways;
    return skip;
}

// How long the processor's counter takes for a nanosecond: since a first moment, which all threads
// may read once it is set.
static struct {
    _Atomic int state; // 0: none, 1: being set, 2: set
    uint64_t ns, tsc;
} first;
#define LONG_ENOUGH_NS 2000000

static double ns_per_tsc(uint64_t ns, uint64_t tsc)
{
    int none = 0;
    if (atomic_load(&first.state) == 2)
        return ns > first.ns + LONG_ENOUGH_NS && tsc > first.tsc
                   ? (double)(ns - first.ns) / (double)(tsc - first.tsc)
                   : 0;
    if (atomic_compare_exchange_strong(&first.state, &none, 1)) {
        first.ns = ns;
        first.tsc = tsc;
        atomic_store(&first.state, 2);
    }
    return 0;
}

// Asking for a thread's CPU time is a system call, more than a microsecond where the kernel keeps
// its page tables apart, and nearly all windows are over before another thread gets the CPU: for
// them the processor's counter measures the same. Whether it does shows between two calls that are
// taken: where more time passes than AWAY_NS, either the program makes few calls or it was off CPU.
// Windows after that read the clock for a while. This one may have been measured as too long, and
// counts for less than it should.
#define DOUBTED 32 // windows of a thread

static _Atomic uint64_t least_asking = UINT64_MAX;
#define ASKED_TWICE 16 // windows of a thread, its first

// The thread's CPU time once it has been asked for: what that takes is the least seen in the first
// windows, because an interrupt may come in between.
SONDE_HOT static uint64_t cpu_since_asked(const sonde_window *window)
{
    uint64_t cpu = sonde_thread_cpu();
    if (window->number <= ASKED_TWICE) {
        uint64_t before = cpu;
        cpu = sonde_thread_cpu();
        if (cpu - before < atomic_load(&least_asking))
            atomic_store(&least_asking, cpu - before);
    }
    return cpu + atomic_load(&least_asking);
}

bool sonde_window_shows_all(const sonde_window *window)
{
    return window->number % (window->number < SONDE_ALL_AT_FIRST ? 2 : SONDE_ALL_EVERY) == 0;
}

SONDE_HOT void sonde_window_open(sonde_thread *thread, bool all)
{
    sonde_window *window = &thread->window;
    sonde_header *header = sonde.header;
    uint32_t stride = atomic_load_explicit(&header->stride, memory_order_relaxed);
    uint32_t samples = atomic_load_explicit(&header->samples, memory_order_relaxed);
    window->all = all;
    window->number++;
    window->begun = false;
    window->stride = stride ? (stride < SONDE_MAX_STRIDE ? stride : SONDE_MAX_STRIDE) : 1;
    window->left = samples ? samples : 1;
    if (window->all) {
        uint32_t finer = window->stride < SONDE_ALL_FINER ? window->stride : SONDE_ALL_FINER;
        window->stride /= finer;
        window->left *= finer;
    }
    window->taken = 0;
    window->overhead_tsc = window->off_cpu_tsc = 0;
    window->reporting_tsc = 0;
    window->warm_tsc = window->cold_tsc = 0;
    window->cold_calls = 0;
    window->min_tsc = 0;
    window->call_tsc = 0;
    window->made = 0;
    window->interpreter = 0;
    atomic_store_explicit(&window->cut, 0, memory_order_relaxed);
    window->skip = window->step = first_skip(window, __rdtsc());
    window->open = true;
    thread->slot->windows++;
    window->opened = sonde_now();
    window->ns_per_tsc = ns_per_tsc(window->opened, __rdtsc());
    window->asks = window->doubted || window->number <= ASKED_TWICE || !(window->ns_per_tsc > 0);
    if (window->doubted)
        window->doubted--;
    // Asking for it at the end takes as long as now.
    window->cpu = window->asks ? cpu_since_asked(window) : 0;
    window->tsc = window->last_tsc = __rdtsc();
}

// By the window's own clocks, if there were no better ones yet.
static double ns_of(const sonde_window *window, double tsc, uint64_t passed)
{
    if (window->ns_per_tsc > 0)
        return tsc * window->ns_per_tsc;
    uint64_t ticks = __rdtsc() - window->tsc;
    return ticks ? tsc * (double)passed / (double)ticks : 0;
}

// What reporting takes at most, of the time that was not measured to be ours. On 3.13
// sys.monitoring reports all windows, and those that seemed to have next to no time of their own
// weighed too much.
#define MAX_REPORTING_SHARE 0.5

// A part of what reporting takes is an estimate, made once and at the speed that the processor had
// then. It cannot be so much that nothing is left for the calls themselves.
static double net_ns(double others, double reporting, double least)
{
    double most = MAX_REPORTING_SHARE * others;
    double net = others - (reporting < most ? reporting : most);
    least = least < others ? least : others;
    return net > least ? net : least;
}

// No thread gets the CPU for less than this, and reading the kernel's clock takes far less.
#define AWAY_NS 30000

// Was the thread perhaps off CPU since its last call that was taken? Then it may happen again soon,
// and the next windows read the clock.
SONDE_HOT static bool notices_gap(sonde_window *window, uint64_t tsc)
{
    uint64_t since = tsc > window->last_tsc ? tsc - window->last_tsc : 0;
    if ((double)since * window->ns_per_tsc < AWAY_NS)
        return false;
    window->doubted = DOUBTED;
    return true;
}

// How long the thread was on CPU since the window was opened.
SONDE_HOT static double lasted_ns(sonde_window *window)
{
    uint64_t cut = atomic_load_explicit(&window->cut, memory_order_relaxed);
    if (window->asks) {
        uint64_t cpu = cut ? cut : sonde_thread_cpu();
        return cpu > window->cpu ? (double)(cpu - window->cpu) : 0;
    }
    uint64_t tsc = cut ? cut : __rdtsc();
    notices_gap(window, tsc);
    return tsc > window->tsc ? (double)(tsc - window->tsc) * window->ns_per_tsc : 0;
}

SONDE_HOT static void close_(sonde_thread *thread, uint8_t how)
{
    sonde_window *window = &thread->window;
    window->open = false;
    double lasted = lasted_ns(window);
    uint64_t passed = window->ns_per_tsc > 0 ? 0 : sonde_now() - window->opened;
    double own = ns_of(window, (double)window->overhead_tsc, passed);
    double reporting = ns_of(window, (double)window->reporting_tsc, passed);
    double least = ns_of(window, (double)window->min_tsc, passed);
    double others = lasted - own - ns_of(window, (double)window->cold_tsc, passed);
    if (window->call_tsc > 0)
        others = ns_of(window, window->call_tsc * (double)window->made, passed), reporting = 0;
    // Less than its calls take: another thread was on CPU while we thought that this one was.
    double net = others < least ? 0 : net_ns(others, reporting, least);
    thread->slot->agent_ns += own + reporting > 0 ? (uint64_t)(own + reporting) : 0;
    sonde_rec_window *out = sonde_ring_reserve(&thread->ring, sizeof *out);
    if (!out) { // its calls have no weight then
        thread->slot->calls_lost += window->taken;
        return;
    }
    uint8_t flags = window->all ? SONDE_WINDOW_ALL : 0;
    *out = (sonde_rec_window){.rec = {sizeof *out, SONDE_REC_WINDOW, how, flags},
                              .time = window->opened,
                              .duration_ns = net > 1 ? (uint64_t)net : 1,
                              .window = window->number,
                              .stride = window->stride,
                              .interpreter = window->interpreter};
    sonde_ring_commit(&thread->ring, sizeof *out);
}

SONDE_HOT static uint64_t away_until(sonde_window *window, uint64_t tsc)
{
    if (!notices_gap(window, tsc) || !window->asks)
        return window->off_cpu_tsc;
    uint64_t cpu = sonde_thread_cpu(), passed = __rdtsc() - window->tsc;
    double ran = (double)(cpu > window->cpu ? cpu - window->cpu : 0) / window->ns_per_tsc;
    return (double)passed > ran ? passed - (uint64_t)ran : 0;
}

// A window is opened at the end of a signal handler, and the program continues some time after
// that: the shortest time ever seen until its next call is not the program's.
static _Atomic uint64_t least_return = UINT64_MAX;

SONDE_HOT void sonde_window_begins(sonde_window *window, uint64_t tsc)
{
    uint64_t took = tsc > window->tsc ? tsc - window->tsc : 0, least = atomic_load(&least_return);
    if (took < least) {
        atomic_store(&least_return, took);
        least = took;
    }
    if (window->ns_per_tsc > 0)
        window->off_cpu_tsc = away_until(window, tsc);
    window->last_tsc = __rdtsc(); // beginning takes long where all calls are seen
    window->overhead_tsc += least;
    window->begun = true;
}

// Some 20 us, by which most is over. Longer warm-ups cost more: calls are slower in them, too.
#define WARM_UP_TSC 50000u

SONDE_HOT void sonde_window_warm_up(sonde_window *window)
{
    uint64_t now = __rdtsc(), before = window->overhead_tsc + window->off_cpu_tsc;
    uint64_t since = now > window->tsc ? now - window->tsc : 0;
    uint64_t ran = since > before ? since - before : 0;
    window->cold_tsc = WARM_UP_TSC;
    // Where calls are rare all of it may have passed before the first.
    window->warm_tsc = ran < WARM_UP_TSC ? now + (WARM_UP_TSC - ran) : 0;
}

// After a call is counted, which walks the stack, the next ones are slower, too, by about half a
// microsecond in all. Where calls are dense that is as much as they take, so there fewer are
// counted in a window that lasts longer. The warm-up shows where: what is known before a window
// counts does not bias it.
#define DENSE_CALLS 32 // in a warm-up
#define DENSE_COARSER 4
#define DENSE_FEWER 2

SONDE_HOT static void coarsen(sonde_window *window)
{
    if (window->all || window->stride > SONDE_MAX_STRIDE / DENSE_COARSER)
        return;
    window->stride *= DENSE_COARSER;
    window->left = (window->left + DENSE_FEWER - 1) / DENSE_FEWER;
    window->skip = window->step = first_skip(window, 0);
}

SONDE_HOT bool sonde_window_is_warm(sonde_window *window, uint64_t tsc, uint32_t passed)
{
    if (!window->warm_tsc)
        return true;
    window->cold_calls += passed + 1;
    if (tsc < window->warm_tsc)
        return false;
    if (window->ns_per_tsc > 0) {
        uint64_t before = window->off_cpu_tsc;
        window->off_cpu_tsc = away_until(window, tsc);
        if (window->off_cpu_tsc > before)
            window->warm_tsc += window->off_cpu_tsc - before;
        window->last_tsc = tsc;
        if (tsc < window->warm_tsc)
            return false;
    }
    window->warm_tsc = 0;
    if (window->cold_calls > DENSE_CALLS)
        coarsen(window);
    return true;
}

// Then what a window counts need not show how long it takes: calls that are further from each other
// say more.
#define PACED_COARSER 4

SONDE_HOT void sonde_window_pace(sonde_window *window, double call_tsc)
{
    window->call_tsc = call_tsc;
    window->made = 0;
    window->left *= DENSE_FEWER;
    if (window->stride <= SONDE_MAX_STRIDE / PACED_COARSER)
        window->stride *= PACED_COARSER;
    window->skip = window->step = first_skip(window, 0);
}

// When in the window a call that was seen at `tsc` was made.
SONDE_HOT static uint64_t offset_ns(sonde_window *window, uint64_t tsc)
{
    if (!(window->ns_per_tsc > 0))
        return UINT64_MAX;
    window->off_cpu_tsc = away_until(window, tsc);
    window->last_tsc = tsc;
    if (window->call_tsc > 0)
        return (uint64_t)(window->call_tsc * (double)window->made * window->ns_per_tsc);
    double since = (double)(tsc > window->tsc ? tsc - window->tsc : 0);
    since -= (double)(window->off_cpu_tsc + window->overhead_tsc + window->cold_tsc);
    double net =
        net_ns(since > 0 ? since : 0, (double)window->reporting_tsc, (double)window->min_tsc);
    return (uint64_t)(net * window->ns_per_tsc);
}

SONDE_HOT bool sonde_window_take(sonde_thread *thread, uint32_t depth, const sonde_event *event,
                                 uint64_t tsc)
{
    sonde_window *window = &thread->window;
    sonde_write_call(thread, depth, event->flags, offset_ns(window, tsc));
    window->interpreter = event->interpreter;
    window->skip = window->step = next_skip(window);
    window->taken++;
    sonde_window_add_overhead_since(window, tsc);
    if (--window->left)
        return false;
    close_(thread, SONDE_WINDOW_FULL);
    return true;
}

void sonde_window_cut(sonde_thread *thread) { close_(thread, SONDE_WINDOW_CUT); }

void sonde_window_cut_by_another(sonde_thread *thread)
{
    uint64_t now = __rdtsc();
    if (thread->window.asks) {
        uint32_t tid = atomic_load(&thread->slot->tid);
        now = tid ? sonde_clock(sonde_cpu_clock_of((pid_t)tid)) : 0;
    }
    atomic_store(&thread->window.cut, now);
}

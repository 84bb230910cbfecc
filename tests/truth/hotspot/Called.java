import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/**
 * Calls that each last for several sampling periods, so that samples find every one of them, most
 * of them more than once. Prints how many there were, and waits until its input ends.
 *
 * Methods that begin with `call` are not to be compiled into others, and the `slow` one stays the
 * interpreter's; see the options that the test passes.
 */
public final class Called {
    private static final int CALLS = 60, LEVELS = 6;
    private static final ThreadMXBean clock = ManagementFactory.getThreadMXBean();
    private static long sink;

    private static void spin(long turns) {
        long x = sink;
        for (long i = 0; i < turns; i++)
            x = x * 31 + (i ^ x >>> 7);
        sink = x;
    }

    /** How many turns take so long. */
    private static long turns(double seconds) {
        long turns = 1 << 14;
        for (;; turns *= 2) {
            long before = clock.getCurrentThreadCpuTime();
            spin(turns);
            double took = (clock.getCurrentThreadCpuTime() - before) / 1e9;
            if (took > 0.1)
                return (long) (turns * seconds / took);
        }
    }

    static void callOnce(long turns) {
        spin(100 * turns);
    }

    static void callLeaf(long turns) {
        spin(turns);
    }

    static void callsLeaf(long turns) {
        callLeaf(turns);
        callLeaf(turns);
    }

    static void callDeep(int levels, long turns) {
        if (levels > 1)
            callDeep(levels - 1, turns);
        else
            spin(turns);
    }

    static void callThrows(long turns) {
        spin(turns);
        throw new IllegalStateException();
    }

    static void callCatches(long turns) {
        try {
            callThrows(turns);
        } catch (IllegalStateException expected) {
            spin(turns);
        }
    }

    static synchronized void callLocked(long turns) {
        spin(turns);
    }

    static void slowOuter(long turns) {
        callLocked(turns);
        callLocked(turns);
    }

    public static void main(String[] arguments) throws java.io.IOException {
        turns(0.1); // for the compiler
        long turns = turns(Double.parseDouble(arguments[0]));
        callOnce(turns);
        for (int i = 0; i < CALLS; i++)
            callsLeaf(turns);
        for (int i = 0; i < CALLS; i++)
            callDeep(LEVELS, turns);
        for (int i = 0; i < CALLS; i++)
            callCatches(turns);
        for (int i = 0; i < CALLS; i++)
            slowOuter(turns);
        System.out.printf("{\"pid\": %d, \"calls\": {\"callOnce\": 1, \"callLeaf\": %d, "
                + "\"callsLeaf\": %d, \"callDeep\": %d, \"callThrows\": %d, \"callCatches\": %d, "
                + "\"callLocked\": %d, \"slowOuter\": %d, \"main\": 1}}%n",
            ProcessHandle.current().pid(), 2 * CALLS, CALLS, LEVELS * CALLS, CALLS, CALLS,
            2 * CALLS, CALLS);
        while (System.in.read() >= 0)
            ;
    }
}

package sonde;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;

/** Counts what the calling thread does; see {@link Sonde#threadCounters}. */
public final class ThreadCounters {
    private static final String[] RAW = {
        "task-clock", "minor-faults", "major-faults", "context-switches", "page-faults"
    };

    private final String[] names;
    private final int[] places;

    ThreadCounters(String... wanted) {
        names = wanted.length == 0 ? new String[] {RAW[0]} : wanted.clone();
        places = new int[names.length];
        for (int i = 0; i < names.length; i++) {
            places[i] = place(names[i]);
        }
    }

    private static int place(String name) {
        for (int i = 0; i < RAW.length; i++) {
            if (RAW[i].equals(name)) {
                return i;
            }
        }
        throw new IllegalArgumentException(
                "invalid counter \"" + name + "\"; valid counters: " + String.join(", ", RAW));
    }

    /**
     * The counts of the calling thread since it was started, in nanoseconds for {@code task-clock}.
     * Empty if the program is not recorded, and in a virtual thread.
     */
    public Map<String, Long> read() {
        long[] counts = new long[RAW.length];
        if (!Agent.present || !Agent.count(counts)) {
            return Collections.emptyMap();
        }
        Map<String, Long> found = new LinkedHashMap<>();
        for (int i = 0; i < names.length; i++) {
            found.put(names[i], counts[places[i]]);
        }
        return found;
    }

    /** As {@link Sonde#span}: the span gets what the thread counts in it as attributes. */
    public Span span(String name) {
        return Agent.present ? Span.enter(name, this) : Span.NONE;
    }

    Reading begin() {
        long[] counts = new long[RAW.length];
        return Agent.count(counts) ? new Reading(counts) : null;
    }

    /** The counts of a thread when it entered a span. */
    final class Reading {
        private final Thread thread = Thread.currentThread();
        private final long[] before;

        Reading(long[] before) {
            this.before = before;
        }

        void setAttributes(Span span) {
            long[] after = new long[RAW.length];
            if (Thread.currentThread() != thread || !Agent.count(after)) {
                return;
            }
            for (int i = 0; i < names.length; i++) {
                span.set(names[i], after[places[i]] - before[places[i]]);
            }
        }
    }
}

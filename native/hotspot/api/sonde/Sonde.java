package sonde;

import java.util.List;

/**
 * What a program states to its own recording: spans, marks, pauses; and what it asks it.
 *
 * <p>In a program that is not recorded all of this does nothing; it can stay in production code.
 */
public final class Sonde {
    private Sonde() {}

    /**
     * Enters a named phase of the program's work, which ends when the span is closed: {@code try
     * (Span s = Sonde.span("checkout")) {...}}. It belongs to the calling thread, which may be a
     * virtual one.
     */
    public static Span span(String name) {
        return Agent.present ? Span.enter(name, 0) : Span.NONE;
    }

    /** Marks this moment. */
    public static void mark(String text) {
        if (Agent.present) {
            Agent.mark(String.valueOf(text));
        }
    }

    /** From here on the recording captures nothing, in any of its processes. */
    public static void pause() {
        if (Agent.present) {
            Agent.control(true);
        }
    }

    /** Ends a pause. */
    public static void resume() {
        if (Agent.present) {
            Agent.control(false);
        }
    }

    /** Whether the program is recorded at this moment. */
    public static boolean isRecorded() {
        return Agent.present && Agent.isActive();
    }

    /**
     * Counters of the calling thread: {@code task-clock}, {@code page-faults}, {@code
     * minor-faults}, {@code major-faults}, {@code context-switches}; without names the first.
     */
    public static ThreadCounters threadCounters(String... names) {
        return new ThreadCounters(names);
    }

    /**
     * The functions with the most CPU time since the recording began, by self time. Empty if the
     * recording keeps no such profile.
     *
     * @param top so many at most, up to 100
     */
    public static List<Hot> hot(int top) {
        return Hot.ask(top);
    }
}

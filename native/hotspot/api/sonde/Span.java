package sonde;

/** A named phase of the program's work, entered by {@link Sonde#span}. */
public final class Span implements AutoCloseable {
    /** That nobody records. */
    static final Span NONE = new Span(0, null);

    private final ThreadCounters.Reading counted;
    private int number;

    private Span(int number, ThreadCounters.Reading counted) {
        this.number = number;
        this.counted = counted;
    }

    static Span enter(String name, int within) {
        int number = Agent.begin(String.valueOf(name), within);
        return number == 0 ? NONE : new Span(number, null);
    }

    static Span enter(String name, ThreadCounters counters) {
        int number = Agent.begin(String.valueOf(name), 0);
        return number == 0 ? NONE : new Span(number, counters.begin());
    }

    /**
     * States a fact about this span, by which reports select spans; the last value of a key counts.
     */
    public Span set(String key, Object value) {
        if (key.indexOf('=') >= 0) {
            throw new IllegalArgumentException("invalid key \"" + key + "\"; a key has no '='");
        }
        if (number != 0) {
            Agent.attribute(number, key + "=" + text(value));
        }
        return this;
    }

    /** Names it by what is known only now, such as the route of a request. */
    public Span rename(String name) {
        return set("name", name);
    }

    /**
     * Enters a span of work that another thread does for this one, which contains it. The calling
     * thread is the one that closes it.
     */
    public Span part(String name) {
        return Agent.present ? enter(name, number) : NONE;
    }

    public boolean isRecorded() {
        return number != 0;
    }

    /** Leaves it; a second time does nothing. */
    @Override
    public void close() {
        int mine = number;
        if (mine == 0) {
            return;
        }
        if (counted != null) {
            counted.setAttributes(this);
        }
        number = 0;
        Agent.end(mine);
    }

    /** A program must not fail because it is recorded. */
    private static String text(Object value) {
        try {
            return String.valueOf(value);
        } catch (RuntimeException failed) {
            return "?";
        }
    }
}

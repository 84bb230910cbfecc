package sonde;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;

/** A function in which much CPU time goes, as {@link Sonde#hot} reports it. */
public final class Hot {
    private static final int MAX_ROWS = 100;

    private final List<?> function;
    private final Map<?, ?> row;

    private Hot(List<?> function, Map<?, ?> row) {
        this.function = function;
        this.row = row;
    }

    static List<Hot> ask(int top) {
        if (top < 1 || top > MAX_ROWS) {
            throw new IllegalArgumentException(
                    "invalid number of rows " + top + "; give 1 to " + MAX_ROWS);
        }
        if (!Agent.present) {
            return Collections.emptyList();
        }
        String answer =
                Agent.ask("{\"do\": \"hot\", \"top\": " + top + ", \"by\": \"function\"}");
        return answer == null ? Collections.<Hot>emptyList() : read(answer);
    }

    private static List<Hot> read(String answer) {
        Object whole = new Json(answer).read();
        if (!(whole instanceof Map) || !((Map<?, ?>) whole).containsKey("hot")) {
            return Collections.emptyList();
        }
        Map<?, ?> known = (Map<?, ?>) whole;
        List<?> functions = (List<?>) known.get("functions");
        List<Hot> found = new ArrayList<>();
        for (Object one : (List<?>) known.get("hot")) {
            Map<?, ?> row = (Map<?, ?>) one;
            int number = ((Number) row.get("function")).intValue();
            found.add(new Hot((List<?>) functions.get(number), row));
        }
        return found;
    }

    /** Such as {@code com.shop.Order.total}. */
    public String function() {
        return (String) function.get(0);
    }

    public String file() {
        return (String) function.get(1);
    }

    /** Its first line. */
    public int line() {
        return ((Number) function.get(2)).intValue();
    }

    /** Its part of all CPU time, from 0 to 1. */
    public double share() {
        return ((Number) row.get("share")).doubleValue();
    }

    /** CPU time in the function itself. */
    public long ownNanos() {
        return whole("own_ns");
    }

    /** CPU time in it and in what it called. */
    public long totalNanos() {
        return whole("total_ns");
    }

    /** How many samples found it innermost. */
    public long samples() {
        return whole("samples");
    }

    /** How often a sample found it newly called, at least. */
    public long activations() {
        return whole("activations");
    }

    private long whole(String key) {
        return ((Number) row.get(key)).longValue();
    }

    @Override
    public String toString() {
        return Math.round(share() * 100) + " % " + function();
    }
}

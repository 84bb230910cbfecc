import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Random;

/** What truth programs have in common: a clock of their own CPU time, and books kept with it. */
final class Told {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    static final Random die = new Random(4711);
    static volatile long sink;

    static long clock() {
        return THREADS.getCurrentThreadCpuTime();
    }

    /** Work that no compiler takes away. */
    static long mix(long n) {
        long x = n;
        for (long i = 0; i < n; i++) {
            x = x * 6364136223846793005L + 1442695040888963407L;
            x ^= x >>> 29;
        }
        return x;
    }

    /** A length that keeps no step with the sampler's period. */
    static int vary(int n) {
        return 1 + (int) (n * (0.5 + die.nextDouble()));
    }

    /** Time and visits by part. */
    static final class Parts {
        private final Map<String, long[]> all = new LinkedHashMap<>();

        void add(String part, long ns) {
            long[] entry = all.computeIfAbsent(part, unused -> new long[2]);
            entry[0] += ns;
            entry[1]++;
        }

        private String column(int which) {
            StringBuilder text = new StringBuilder();
            all.forEach((part, entry) -> {
                text.append(text.length() == 0 ? "" : ", ");
                text.append('"').append(part).append("\": ").append(entry[which]);
            });
            return "{" + text + "}";
        }

        @Override
        public String toString() {
            return "{\"spent\": " + column(0) + ", \"visits\": " + column(1) + "}";
        }
    }

    private Told() {}
}

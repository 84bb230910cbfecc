import java.util.List;
import java.util.ArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import sonde.Hot;
import sonde.Sonde;
import sonde.Span;

/** Many threads with spans all the time, some left by others; then what was hot. */
public final class Crowded {
    static final int THREADS = 8, ROUNDS = 2000;
    static volatile double sink;
    static final AtomicInteger recorded = new AtomicInteger();

    static final Object[] locks = new Object[THREADS];

    /** Of no other thread, and not for long. */
    static void locked(int number) {
        synchronized (locks[number]) {
            sink = number;
        }
    }

    static void hotSpot() {
        double x = 1;
        for (int i = 0; i < 300; i++) {
            x = Math.sqrt(x + i);
        }
        sink = x;
    }

    static void run(int number) {
        Span[] left = new Span[4];
        for (int i = 0; i < ROUNDS; i++) {
            try (Span outer = Sonde.span("outer-" + number); Span inner = Sonde.span("inner")) {
                hotSpot();
                locked(number);
                if (inner.isRecorded()) {
                    recorded.incrementAndGet();
                    inner.set("round", i);
                }
                Span later = outer.part("later");
                Span before = left[i % left.length];
                left[i % left.length] = later;
                if (before != null) {
                    before.close();
                }
            }
        }
        for (Span span : left) {
            if (span != null) {
                span.close();
            }
        }
    }

    public static void main(String[] arguments) throws Exception {
        List<Thread> all = new ArrayList<>();
        for (int i = 0; i < THREADS; i++) {
            int number = i;
            locks[i] = new Object();
            Thread thread = new Thread(() -> run(number));
            thread.start();
            all.add(thread);
        }
        for (Thread thread : all) {
            thread.join();
        }
        long until = System.nanoTime() + 300_000_000L;
        while (System.nanoTime() < until) {
            hotSpot();
        }
        List<Hot> hot = Sonde.hot(5);
        StringBuilder found = new StringBuilder();
        for (Hot row : hot) {
            found.append(found.length() > 0 ? ", " : "").append('"').append(row.function()).append('"');
            if (row.share() <= 0 || row.samples() <= 0 || row.ownNanos() > row.totalNanos()) {
                throw new IllegalStateException(row.toString());
            }
        }
        System.out.println("{\"recorded\": " + recorded + ", \"hot\": [" + found + "]}");
    }
}

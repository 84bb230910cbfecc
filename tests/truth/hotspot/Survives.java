import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Keeps some of what it allocates for as long as it runs, some until half of its time is over, and
 * the rest not at all; says how much of each is alive in the end.
 */
public final class Survives {
    static final int SIZE = 20_000;
    static final List<byte[]> kept = new ArrayList<>();
    static final Map<Integer, byte[]> cache = new HashMap<>();
    static final byte[][] recent = new byte[500][];
    static volatile Object sink;
    static int allocated;

    static void leak() {
        kept.add(new byte[SIZE]);
    }

    static void fillCache(int key) {
        cache.put(key, new byte[SIZE]);
    }

    static void replace(int round) {
        recent[round % recent.length] = new byte[SIZE];
    }

    static void drop() {
        for (int i = 0; i < 30; i++)
            sink = new byte[SIZE];
    }

    public static void main(String[] arguments) throws InterruptedException {
        int rounds = (int) (Double.parseDouble(arguments[0]) * 1000);
        for (int round = 0; round < rounds; round++) {
            leak();
            if (round < rounds / 2)
                fillCache(round);
            else
                cache.clear();
            replace(round);
            drop();
            Thread.sleep(1);
        }
        sink = null;
        System.gc();
        Thread.sleep(300); // the VM reports what it collected a little later
        System.out.printf(
                "{\"leak\": %d, \"fillCache\": %d, \"replace\": %d, \"drop\": 0}%n",
                kept.size() * SIZE, cache.size() * SIZE, recent.length * SIZE);
    }
}

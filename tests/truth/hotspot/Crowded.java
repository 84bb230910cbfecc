/** Threads that want the same monitors all the time, in a synchronized method and a block. */
public final class Crowded {
    private static final int THREADS = 4;
    private static final Object lock = new Object();

    static final class Row {
        private long value;

        synchronized void add(int n) {
            value += Told.mix(n);
        }
    }

    private static final Row row = new Row();

    static void inMethod(int n) {
        row.add(n);
    }

    static void inBlock(int n) {
        synchronized (lock) {
            Told.sink += Told.mix(n);
        }
    }

    public static void main(String[] args) throws Exception {
        int turns = Integer.parseInt(args[0]);
        Thread[] threads = new Thread[THREADS];
        for (int i = 0; i < THREADS; i++) {
            threads[i] = new Thread(() -> {
                for (int turn = 0; turn < turns; turn++) {
                    inMethod(200_000);
                    Told.mix(20_000);
                    inBlock(200_000);
                }
            }, "crowd-" + i);
        }
        for (Thread thread : threads) {
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println("{}");
    }
}

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Threads that want the same thing all the time; each line of input is answered by the pieces of
 * work done and the time that has passed, in nanoseconds.
 */
public class Fights {
    static volatile boolean over;
    static long[] pieces;
    static volatile long sink;
    static final Map<String, Integer> shared = new HashMap<>();
    static final ReentrantLock lock = new ReentrantLock();
    static final ArrayBlockingQueue<Integer> queue = new ArrayBlockingQueue<>(64);

    interface Piece {
        void run(int thread, int n) throws Exception;
    }

    static long work(int n) {
        long x = n;
        for (int i = 0; i < 2_000; i++) {
            x = x * 6364136223846793005L + 1442695040888963407L;
            x ^= x >>> 29;
        }
        return x;
    }

    static void monitor(int thread, int n) {
        long mine = work(n);
        synchronized (shared) {
            shared.merge("key " + (mine & 15), 1, Integer::sum);
            sink += work(n);
        }
    }

    static void locked(int thread, int n) {
        long mine = work(n);
        lock.lock();
        try {
            shared.merge("key " + (mine & 15), 1, Integer::sum);
            sink += work(n);
        } finally {
            lock.unlock();
        }
    }

    static void handed(int thread, int n) throws Exception {
        sink += work(n);
        if (thread % 2 == 0)
            queue.put(n);
        else
            queue.take();
    }

    static Piece piece(String name) {
        switch (name) {
            case "monitor": return Fights::monitor;
            case "lock": return Fights::locked;
            default: return Fights::handed;
        }
    }

    public static void main(String[] arguments) throws Exception {
        int threads = Integer.parseInt(arguments[1]);
        pieces = new long[threads * 8]; // a cache line each
        Piece piece = piece(arguments[0]);
        for (int i = 0; i < threads; i++) {
            int number = i;
            Thread thread = new Thread(() -> {
                try {
                    for (int n = 0; !over; n++) {
                        piece.run(number, n);
                        pieces[number * 8]++;
                    }
                } catch (Exception e) {
                    throw new RuntimeException(e);
                }
            }, "worker " + i);
            thread.setDaemon(true);
            thread.start();
        }
        System.out.println(ProcessHandle.current().pid());
        System.out.flush();
        while (System.in.read() >= 0) {
            long total = 0;
            for (long one : pieces)
                total += one;
            System.out.println(total + " " + System.nanoTime());
            System.out.flush();
        }
        over = true;
    }
}

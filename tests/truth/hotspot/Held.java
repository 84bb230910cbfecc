import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A monitor, then a lock, held over {@code lookup}, which computes, and {@code fetch}, which sleeps,
 * while others wait. Prints what of the waiting each caused, by its own clock.
 */
public final class Held {
    private static final int WAITERS = 2;
    private static final Told.Parts parts = new Told.Parts();

    record Stretch(String name, long start, long end) {}

    private static final List<Stretch> executed = new ArrayList<>();
    private static final List<Stretch> waited = Collections.synchronizedList(new ArrayList<>());

    static void lookup() {
        long began = System.nanoTime();
        while (System.nanoTime() - began < 6_000_000) {
            Told.sink = Told.mix(200);
        }
        executed.add(new Stretch("lookup", began, System.nanoTime()));
    }

    static void fetch() throws InterruptedException {
        long began = System.nanoTime();
        Thread.sleep(10);
        executed.add(new Stretch("fetch", began, System.nanoTime()));
    }

    /** Until the others wait. */
    static void settle() throws InterruptedException {
        long began = System.nanoTime();
        Thread.sleep(2);
        executed.add(new Stretch("settle", began, System.nanoTime()));
    }

    interface Body {
        void run() throws InterruptedException, BrokenBarrierException;
    }

    interface Holding {
        void with(Body body) throws InterruptedException, BrokenBarrierException;
    }

    private static void rounds(String scenario, int holds, Holding holding) throws Exception {
        CyclicBarrier ready = new CyclicBarrier(WAITERS + 1), over = new CyclicBarrier(WAITERS + 1);
        Thread[] threads = new Thread[WAITERS + 1];
        for (int i = 0; i <= WAITERS; i++) {
            boolean holds_ = i == 0;
            threads[i] = new Thread(() -> {
                try {
                    for (int round = 0; round < holds; round++) {
                        if (holds_) {
                            holding.with(() -> {
                                ready.await();
                                settle();
                                lookup();
                                fetch();
                            });
                        } else {
                            ready.await();
                            long began = System.nanoTime();
                            holding.with(
                                () -> waited.add(new Stretch("", began, System.nanoTime())));
                        }
                        over.await();
                    }
                } catch (InterruptedException | BrokenBarrierException e) {
                    throw new IllegalStateException(e);
                }
            }, holds_ ? "holder" : "waiter-" + i);
        }
        for (Thread thread : threads) {
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        for (Stretch one : executed) {
            for (Stretch wait : waited) {
                long ns = Math.min(one.end, wait.end) - Math.max(one.start, wait.start);
                parts.add(scenario + " " + one.name, Math.max(ns, 0));
            }
        }
        executed.clear();
        waited.clear();
    }

    public static void main(String[] args) throws Exception {
        int holds = Integer.parseInt(args[0]);
        Object monitor = new Object();
        rounds("monitor", holds, body -> {
            synchronized (monitor) {
                body.run();
            }
        });
        Lock lock = new ReentrantLock();
        rounds("rlock", holds, body -> {
            lock.lock();
            try {
                body.run();
            } finally {
                lock.unlock();
            }
        });
        System.out.println(parts);
    }
}

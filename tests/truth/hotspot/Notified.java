import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Several threads wait for one notification; each that goes on keeps the monitor or the lock for a
 * while. Prints how long they waited for the condition and then for each other, by its own clock.
 */
public final class Notified {
    private static final int WAITERS = 4;
    private static final Told.Parts parts = new Told.Parts();

    interface Steps {
        void await() throws InterruptedException;

        void announce();

        /** With what {@code await} releases held. */
        void with(Body body) throws InterruptedException;
    }

    interface Body {
        void run() throws InterruptedException;
    }

    static void keep(long ms) {
        long until = System.nanoTime() + ms * 1_000_000;
        while (System.nanoTime() < until) {
            Told.sink = Told.mix(200);
        }
    }

    private static int round;
    private static volatile int waiting;
    private static volatile long announced;

    private static void rounds(String scenario, int rounds, Steps steps) throws Exception {
        List<long[]> waits = Collections.synchronizedList(new ArrayList<>());
        List<Thread> threads = new ArrayList<>();
        round = 0;
        for (int i = 0; i < WAITERS; i++) {
            threads.add(new Thread(() -> {
                try {
                    steps.with(() -> {
                        for (int seen = 0; seen < rounds; seen++) {
                            waiting++;
                            long began = System.nanoTime();
                            while (round == seen) {
                                steps.await();
                            }
                            waits.add(new long[] {began, announced, System.nanoTime()});
                            keep(4);
                        }
                    });
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            }, scenario + "-" + i));
        }
        for (Thread thread : threads) {
            thread.start();
        }
        for (int done = 0; done < rounds; done++) {
            while (waiting < WAITERS * (done + 1)) {
                Thread.sleep(1);
            }
            Thread.sleep(20);
            steps.with(() -> {
                round++;
                steps.announce();
                announced = System.nanoTime();
            });
        }
        for (Thread thread : threads) {
            thread.join();
        }
        for (long[] wait : waits) {
            parts.add(scenario + " condition", wait[1] - wait[0]);
            parts.add(scenario + " after", wait[2] - wait[1]);
        }
        waiting = 0;
    }

    private static final Object monitor = new Object();

    static final class Monitor implements Steps {
        @Override
        public void await() throws InterruptedException {
            monitor.wait();
        }

        @Override
        public void announce() {
            monitor.notifyAll();
        }

        @Override
        public void with(Body body) throws InterruptedException {
            synchronized (monitor) {
                body.run();
            }
        }
    }

    /** As often as there are waiters, one each. */
    static final class OneByOne implements Steps {
        private final Monitor steps = new Monitor();

        @Override
        public void await() throws InterruptedException {
            steps.await();
        }

        @Override
        public void announce() {
            for (int i = 0; i < WAITERS; i++) {
                monitor.notify();
            }
        }

        @Override
        public void with(Body body) throws InterruptedException {
            steps.with(body);
        }
    }

    static final class Lock implements Steps {
        private final ReentrantLock lock = new ReentrantLock();
        private final Condition changed = lock.newCondition();

        @Override
        public void await() throws InterruptedException {
            changed.await();
        }

        @Override
        public void announce() {
            changed.signalAll();
        }

        @Override
        public void with(Body body) throws InterruptedException {
            lock.lock();
            try {
                body.run();
            } finally {
                lock.unlock();
            }
        }
    }

    public static void main(String[] args) throws Exception {
        int rounds = Integer.parseInt(args[0]);
        rounds("monitor", rounds, new Monitor());
        rounds("one-by-one", rounds, new OneByOne());
        rounds("rlock", rounds, new Lock());
        System.out.println(parts);
    }
}

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/** Acquires locks as often as it says; with a number on so many virtual threads, "wait": at each
 *  line of input; "gate": a contended one. */
class Acquires {
    static final int ROUNDS = 100000;

    final Object monitor = new Object();
    final ReentrantLock lock = new ReentrantLock();
    final ReentrantReadWriteLock both = new ReentrantReadWriteLock();
    int made;

    void blocks() {
        for (int i = 0; i < ROUNDS; i++) {
            synchronized (monitor) {
                made++;
                synchronized (monitor) { // again
                    made++;
                }
            }
        }
    }

    synchronized void method(boolean fails) {
        made++;
        if (fails)
            throw new IllegalStateException();
    }

    static synchronized void ofClass() {
    }

    void methods() {
        for (int i = 0; i < ROUNDS; i++) {
            try {
                method(i % 4 == 0);
            } catch (IllegalStateException expected) {
                made++;
            }
            ofClass();
        }
    }

    void locks() {
        Lock write = both.writeLock();
        for (int i = 0; i < ROUNDS; i++) {
            lock.lock();
            try {
                lock.lock();
                lock.unlock();
            } finally {
                lock.unlock();
            }
            write.lock();
            write.unlock();
            both.readLock().lock();
            both.readLock().unlock();
        }
    }

    static final Object gate = new Object();

    static void sleep() {
        try {
            Thread.sleep(1);
        } catch (InterruptedException impossible) {
            throw new AssertionError(impossible);
        }
    }

    /** Two threads that hold it for a millisecond or more, and then do without it. */
    static void contends() throws InterruptedException {
        Thread[] threads = new Thread[2];
        for (int t = 0; t < 2; t++) {
            threads[t] = new Thread(() -> {
                for (int i = 0; i < 500; i++) {
                    synchronized (gate) {
                        sleep();
                    }
                    sleep();
                }
            });
            threads[t].start();
        }
        for (Thread thread : threads)
            thread.join();
    }

    /** The hold ends where the wait begins, and nobody knows how long it was. */
    static void waits() throws InterruptedException {
        Object condition = new Object();
        for (int i = 0; i < 20; i++)
            synchronized (condition) {
                condition.wait(5);
            }
    }

    static void all() {
        Acquires own = new Acquires();
        own.blocks();
        own.methods();
        own.locks();
        if (own.made != 3 * ROUNDS + ROUNDS / 4)
            throw new AssertionError(own.made);
    }

    public static void main(String[] arguments) throws Exception {
        String which = arguments.length > 0 ? arguments[0] : "";
        if (which.equals("wait")) {
            System.out.println("ready");
            while (System.in.read() >= 0) {
                all();
                System.out.println("done");
            }
        } else if (which.equals("gate")) {
            contends();
            waits();
        } else if (!which.isEmpty()) {
            CountDownLatch left = new CountDownLatch(Integer.parseInt(which));
            for (long i = left.getCount(); i > 0; i--)
                Thread.class.getMethod("startVirtualThread", Runnable.class)
                    .invoke(null, (Runnable) () -> { all(); left.countDown(); });
            left.await();
        } else {
            all();
        }
        System.exit(0);
    }
}

import java.util.concurrent.locks.ReentrantLock;

/** Four threads in two deadlocks, of monitors and of ReentrantLocks; ends by itself. */
public final class Deadlock {
    static final Object first = new Object(), second = new Object();
    static final ReentrantLock left = new ReentrantLock(), right = new ReentrantLock();

    static void pause() {
        try {
            Thread.sleep(200);
        } catch (InterruptedException e) {
            throw new RuntimeException(e);
        }
    }

    static void firstThenSecond() {
        synchronized (first) {
            pause();
            synchronized (second) {
                pause();
            }
        }
    }

    static void secondThenFirst() {
        synchronized (second) {
            pause();
            synchronized (first) {
                pause();
            }
        }
    }

    static void leftThenRight() {
        left.lock();
        pause();
        right.lock();
    }

    static void rightThenLeft() {
        right.lock();
        pause();
        left.lock();
    }

    static void start(String name, Runnable body) {
        Thread thread = new Thread(body, name);
        thread.setDaemon(true);
        thread.start();
    }

    public static void main(String[] arguments) throws Exception {
        start("first-second", Deadlock::firstThenSecond);
        start("second-first", Deadlock::secondThenFirst);
        start("left-right", Deadlock::leftThenRight);
        start("right-left", Deadlock::rightThenLeft);
        Thread.sleep(500);
        System.out.println("ready");
        Thread.sleep(Long.parseLong(arguments[0]));
    }
}

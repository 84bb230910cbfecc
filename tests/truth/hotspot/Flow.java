import java.util.concurrent.Callable;
import java.util.function.IntUnaryOperator;

/**
 * Calls whose numbers are known, in rounds: each makes the same ones. Options: "threads N" makes them in N platform
 * threads, "virtual N" in N virtual ones, "wait" waits for a line of input before and after each round.
 */
public class Flow {
    static final int ROUNDS = 1000;

    static class Base {
        final int value;

        Base(int value) {
            if (value < 0)
                throw new IllegalArgumentException();
            this.value = value;
        }
    }

    static class Derived extends Base {
        Derived(int value) {
            super(check(value));
        }

        static int check(int value) {
            return value;
        }
    }

    record Pair(int one, int other) {
        Pair {
            if (one > other)
                throw new IllegalStateException();
        }
    }

    enum Kind {
        ODD, EVEN;

        static Kind of(int n) {
            switch (n % 2) {
            case 0:
                return EVEN;
            default:
                return ODD;
            }
        }
    }

    interface Greets {
        default int greet() {
            return 1;
        }
    }

    static class Greeter implements Greets {
    }

    static int recursive(int depth) {
        return depth == 0 ? 0 : 1 + recursive(depth - 1);
    }

    static void thrower(int n) {
        if (n % 2 == 0)
            throw new RuntimeException();
    }

    static int catcher(int n) {
        try {
            thrower(n);
            return 0;
        } catch (RuntimeException e) {
            return 1;
        } finally {
            finished();
        }
    }

    static void finished() {
    }

    static synchronized int locked(int n) {
        if (n % 4 == 0)
            throw new IllegalStateException();
        return n;
    }

    static int guarded(Object lock, int n) {
        synchronized (lock) {
            if (n % 5 == 0)
                thrower(0);
            return n;
        }
    }

    static void pauses() {
        Thread.yield();
    }

    static long round(int n) {
        long sum = recursive(9) + catcher(n);
        try {
            sum += locked(n);
        } catch (IllegalStateException e) {
            sum++;
        }
        try {
            sum += guarded(Flow.class.getName(), n);
        } catch (RuntimeException e) {
            sum++;
        }
        sum += new Derived(n).value;
        try {
            new Derived(-1);
        } catch (IllegalArgumentException e) {
            sum++;
        }
        sum += new Pair(n, n + 1).other();
        sum += Kind.of(n).ordinal() + new Greeter().greet();
        IntUnaryOperator twice = x -> 2 * x;
        Callable<Long> later = Flow::constant;
        try {
            sum += twice.applyAsInt(n) + later.call();
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
        pauses();
        return sum;
    }

    static long constant() {
        return 3;
    }

    static void rounds() {
        for (int n = 0; n < ROUNDS; n++)
            round(n);
    }

    private static Thread started(String kind) throws Exception {
        if (kind.equals("virtual")) // not there before 21
            return (Thread) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, (Runnable) Flow::rounds);
        Thread thread = new Thread(Flow::rounds);
        thread.start();
        return thread;
    }

    public static void main(String[] arguments) throws Exception {
        if (arguments.length == 0) {
            rounds();
        } else if (arguments[0].equals("wait")) {
            System.out.println("ready");
            while (System.in.read() == '\n') {
                rounds();
                System.out.println("done");
            }
        } else {
            Thread[] threads = new Thread[Integer.parseInt(arguments[1])];
            for (int i = 0; i < threads.length; i++)
                threads[i] = started(arguments[0]);
            for (Thread thread : threads)
                thread.join();
        }
    }
}

import java.util.ArrayList;
import java.util.List;
import java.util.function.LongUnaryOperator;

/** Makes the same calls in every round: as many of each edge as the test has. */
public class Counted {
    interface Kind {
        long value(long x);
    }

    static class Often implements Kind {
        public long value(long x) {
            return mixed(x) + 1;
        }
    }

    static class Rarely implements Kind {
        public long value(long x) {
            return mixed(x) - 1;
        }
    }

    static final Kind OFTEN = new Often(), RARELY = new Rarely();
    static volatile long sink;

    static long mixed(long x) {
        for (int i = 0; i < 30; i++)
            x = (x ^ x >>> 29) * 6364136223846793005L;
        return x;
    }

    static long step(long x, int i) {
        return (i % 4 == 0 ? RARELY : OFTEN).value(x);
    }

    static long recursive(long x, int depth) {
        return depth <= 1 ? mixed(x) : recursive(x + 1, depth - 1) ^ depth;
    }

    static long applied(LongUnaryOperator operator, long x) {
        return operator.applyAsLong(x);
    }

    static long round(long x) {
        for (int i = 0; i < 100; i++)
            x = step(x, i);
        for (int i = 0; i < 10; i++)
            x = recursive(x, 10);
        for (int i = 0; i < 20; i++)
            x = applied(y -> mixed(y) ^ 3, x);
        return x;
    }

    static void rounds(long until) {
        while (System.nanoTime() < until)
            sink = round(sink);
    }

    static void run(List<Thread> threads) throws InterruptedException {
        for (Thread thread : threads)
            thread.join();
    }

    public static void main(String[] arguments) throws Exception {
        String how = arguments[0];
        if (how.equals("wait")) {
            System.out.println("ready");
            while (System.in.read() >= 0) {
                rounds(System.nanoTime() + 300_000_000L);
                System.out.println("done");
            }
            return;
        }
        long until = System.nanoTime() + (long) (Double.parseDouble(arguments[1]) * 1e9);
        if (how.equals("plain")) {
            rounds(until);
        } else {
            List<Thread> threads = new ArrayList<>();
            for (int i = 0; i < 4; i++)
                threads.add(started(how, until));
            run(threads);
        }
        System.out.println("right");
    }

    private static Thread started(String how, long until) throws Exception {
        Runnable task = () -> {
            while (System.nanoTime() < until) {
                sink = round(sink);
                Thread.yield();
            }
        };
        if (how.equals("virtual")) // the compiler of the oldest JDK does not know them
            return (Thread) Thread.class.getMethod("startVirtualThread", Runnable.class)
                .invoke(null, task);
        Thread thread = new Thread(task);
        thread.start();
        return thread;
    }
}

import java.util.concurrent.atomic.AtomicLong;

/** Threads that work until the input ends; a line of input is answered by how much was done. */
public class Attached {
    static final AtomicLong turns = new AtomicLong();
    static volatile boolean over;

    static long spin(long n) {
        long x = n;
        for (long i = 0; i < n; i++) {
            x = x * 6364136223846793005L + 1442695040888963407L;
        }
        return x;
    }

    static void work() {
        StringBuilder text = new StringBuilder();
        while (!over) {
            text.append(spin(20_000));
            if (text.length() > 100_000) {
                text = new StringBuilder();
            }
            turns.incrementAndGet();
        }
    }

    public static void main(String[] arguments) throws Exception {
        int count = arguments.length > 0 ? Integer.parseInt(arguments[0]) : 2;
        Thread[] threads = new Thread[count];
        for (int i = 0; i < count; i++) {
            threads[i] = new Thread(Attached::work, "spinner " + i);
            threads[i].start();
        }
        System.out.println(ProcessHandle.current().pid());
        System.out.flush();
        int c;
        while ((c = System.in.read()) >= 0) {
            if (c == '\n') {
                System.out.println(turns.get());
                System.out.flush();
            }
        }
        over = true;
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println("over");
    }
}

import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;

/**
 * Does a fixed piece of work over and over in as many threads as asked for; each line of input is
 * answered by the pieces done and the CPU time of the working threads since the last one.
 */
public class Paced {
    static volatile boolean over;
    static long[] pieces, cpu;
    static volatile long sink;

    interface Piece {
        long run(int n);
    }

    static long numbers(int n) {
        long x = n;
        for (int i = 0; i < 40_000; i++) {
            x = x * 6364136223846793005L + 1442695040888963407L;
            x ^= x >>> 29;
        }
        return x;
    }

    static int fib(int n) {
        return n < 2 ? n : fib(n - 1) + fib(n - 2);
    }

    static long calls(int n) {
        return fib(18 + n % 2);
    }

    static long objects(int n) {
        Map<String, Integer> map = new HashMap<>();
        for (int i = 0; i < 400; i++) {
            map.merge("key " + (i * 7 + n) % 100, 1, Integer::sum);
        }
        return map.size();
    }

    static long sorting(int n) {
        String[] words = new String[200];
        for (int i = 0; i < words.length; i++) {
            words[i] = Integer.toString((i * 7919 + n) % 10_007);
        }
        Arrays.sort(words);
        return words[100].length();
    }

    static long deep(int n) {
        return n <= 0 ? numbers(1) : deep(n - 1) + 1;
    }

    static Piece piece(String name) {
        switch (name) {
            case "numbers": return Paced::numbers;
            case "calls": return Paced::calls;
            case "objects": return Paced::objects;
            case "sorting": return Paced::sorting;
            default: return n -> deep(200);
        }
    }

    static void work(int number, Piece piece) {
        java.lang.management.ThreadMXBean clock =
                java.lang.management.ManagementFactory.getThreadMXBean();
        for (int n = 0; !over; n++) {
            sink += piece.run(n % 1000);
            pieces[number]++;
            cpu[number] = clock.getCurrentThreadCpuTime();
        }
    }

    static long sum(long[] all) {
        long total = 0;
        for (long one : all) {
            total += one;
        }
        return total;
    }

    public static void main(String[] arguments) throws Exception {
        int threads = Integer.parseInt(arguments[1]);
        pieces = new long[threads];
        cpu = new long[threads];
        Piece piece = piece(arguments[0]);
        for (int i = 0; i < threads; i++) {
            int number = i;
            Thread thread = new Thread(() -> work(number, piece), "worker " + i);
            thread.setDaemon(true);
            thread.start();
        }
        System.out.println(ProcessHandle.current().pid());
        System.out.flush();
        while (System.in.read() >= 0) {
            System.out.println(sum(pieces) + " " + sum(cpu));
            System.out.flush();
        }
        over = true;
    }
}

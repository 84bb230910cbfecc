import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import sonde.Sonde;
import sonde.Span;

/**
 * Pieces of work in spans and without them, in turn. A line of input is the number of pieces in a
 * batch, of pairs of batches, and the milliseconds between two pairs; it is answered by a line of
 * JSON: how many spans were recorded, and of each pair the CPU time of a piece without and with.
 */
public final class SpanCosts {
    static final ThreadMXBean clock = ManagementFactory.getThreadMXBean();
    static volatile long sink;
    static long recorded;

    static long piece(int n) {
        long x = n;
        for (int i = 0; i < 400; i++) {
            x = x * 6364136223846793005L + 1442695040888963407L;
            x ^= x >>> 29;
        }
        return x;
    }

    static double bare(int count) {
        long began = clock.getCurrentThreadCpuTime(), x = 0;
        for (int i = 0; i < count; i++) {
            x += piece(i);
        }
        sink = x;
        return (double) (clock.getCurrentThreadCpuTime() - began) / count;
    }

    static double spanned(int count) {
        long began = clock.getCurrentThreadCpuTime(), x = 0;
        for (int i = 0; i < count; i++) {
            try (Span span = Sonde.span("piece")) {
                x += piece(i);
                recorded += span.isRecorded() ? 1 : 0;
            }
        }
        sink = x;
        return (double) (clock.getCurrentThreadCpuTime() - began) / count;
    }

    public static void main(String[] arguments) throws Exception {
        java.util.Scanner in = new java.util.Scanner(System.in);
        for (int i = 0; i < 200; i++) {
            bare(1000);
            spanned(1000);
        }
        System.out.println(ProcessHandle.current().pid());
        while (in.hasNextInt()) {
            int count = in.nextInt(), pairs = in.nextInt(), pause = in.nextInt();
            recorded = 0;
            StringBuilder told = new StringBuilder();
            for (int i = 0; i < pairs; i++) {
                Thread.sleep(pause);
                boolean first = i % 2 == 0;
                double one = first ? bare(count) : spanned(count);
                double other = first ? spanned(count) : bare(count);
                told.append(i > 0 ? ", " : "").append(first ? "[" + one + ", " + other : "[" + other + ", " + one).append(']');
            }
            System.out.println("{\"recorded\": " + recorded + ", \"pairs\": [" + told + "]}");
        }
    }
}

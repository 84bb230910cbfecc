/** Waits of known lengths, longer than they are polled. */
public class Naps {
    static long napped, awaited;

    static void nap(long ms) throws Exception {
        long start = System.nanoTime();
        Thread.sleep(ms);
        napped += System.nanoTime() - start;
    }

    static synchronized void await(long ms) throws Exception {
        long start = System.nanoTime();
        Naps.class.wait(ms);
        awaited += System.nanoTime() - start;
    }

    public static void main(String[] arguments) throws Exception {
        for (int i = 0; i < 5; i++) {
            nap(Told.vary(150));
            Told.sink += Told.mix(Told.vary(3_000_000));
            await(Told.vary(300));
            Told.sink += Told.mix(Told.vary(3_000_000));
        }
        System.out.println("{\"nap\": " + napped + ", \"await\": " + awaited + "}");
    }
}

/** Many threads, each with a name and a time of its own. */
public class Threads {
    static final int COUNT = 40;
    static final long[] spent = new long[COUNT];

    static void work(int number) {
        long end = Told.clock() + (10 + number) * 1_000_000L, now = 0;
        long start = Told.clock();
        while (now < end) {
            Told.sink += Told.mix(10_000);
            now = Told.clock();
        }
        spent[number] = now - start;
    }

    public static void main(String[] arguments) throws Exception {
        Told.clock(); // its classes are loaded here, not by the first thread
        Thread[] all = new Thread[COUNT];
        for (int i = 0; i < COUNT; i++) {
            int number = i;
            all[i] = new Thread(() -> work(number), "worker number " + number);
            all[i].start();
        }
        StringBuilder told = new StringBuilder();
        for (int i = 0; i < COUNT; i++) {
            all[i].join();
            told.append(i == 0 ? "" : ", ").append('"').append(i).append("\": ").append(spent[i]);
        }
        System.out.println("{\"spent\": {" + told + "}}");
    }
}

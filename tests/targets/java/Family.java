/** Burns some time, starts a command if it got one, and ends as that does. */
public class Family {
    static long burn() {
        long x = 1;
        for (long end = System.nanoTime() + 100_000_000L; System.nanoTime() < end; ) {
            for (int i = 0; i < 10_000; i++) {
                x = x * 6364136223846793005L + 1442695040888963407L;
            }
        }
        return x;
    }

    public static void main(String[] arguments) throws Exception {
        long burnt = burn();
        if (arguments.length == 0) {
            System.out.println("java " + (burnt != 0));
            return;
        }
        System.exit(new ProcessBuilder(arguments).inheritIO().start().waitFor());
    }
}

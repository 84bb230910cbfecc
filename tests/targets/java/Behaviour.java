import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;

/** Everything a program can see of itself that a profiler might change; ends with exit code 7. */
public class Behaviour {
    static long sink;

    static long nothing(String[] none) {
        return none[0].length(); // a null pointer: HotSpot finds out by a memory fault
    }

    static int down(int n) {
        return down(n + 1) + 1;
    }

    public static void main(String[] arguments) throws Exception {
        System.out.println("options " + ManagementFactory.getRuntimeMXBean().getInputArguments());
        System.out.println("environment " + new TreeSet<>(System.getenv().keySet()));
        TreeSet<String> properties = new TreeSet<>(System.getProperties().stringPropertyNames());
        System.out.println("properties " + properties);
        long faults = 0, overflows = 0;
        for (int i = 0; i < 20_000; i++) {
            try {
                sink += nothing(i % 2 == 0 ? null : arguments);
            } catch (NullPointerException | ArrayIndexOutOfBoundsException e) {
                faults++;
            }
        }
        for (int i = 0; i < 20; i++) {
            try {
                sink += down(0);
            } catch (StackOverflowError e) {
                overflows++;
            }
        }
        List<byte[]> garbage = new ArrayList<>();
        for (int i = 0; i < 2000; i++) {
            garbage.add(new byte[10_000]);
            if (i % 100 == 0) {
                garbage.clear();
                System.gc();
            }
        }
        System.out.println(faults + " faults, " + overflows + " overflows");
        System.err.println("the last word");
        System.exit(7);
    }
}

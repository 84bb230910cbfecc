import java.io.InputStream;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;

/** Classes that live for a few samples and are unloaded: made from one, with another number each. */
public class Generated {
    static final class Loader extends ClassLoader {
        Class<?> define(byte[] bytes) {
            return defineClass(null, bytes, 0, bytes.length);
        }
    }

    static byte[] numbered(byte[] bytes, int number) {
        byte[] from = "0000".getBytes(StandardCharsets.US_ASCII);
        byte[] to = String.format("%04d", number).getBytes(StandardCharsets.US_ASCII);
        byte[] made = bytes.clone();
        for (int i = 0; i + from.length <= made.length; i++) {
            boolean here = true;
            for (int k = 0; k < from.length; k++) {
                here &= made[i + k] == from[k];
            }
            if (here) {
                System.arraycopy(to, 0, made, i, to.length);
            }
        }
        return made;
    }

    public static void main(String[] arguments) throws Exception {
        byte[] original;
        try (InputStream in = Generated.class.getResourceAsStream("Made0000.class")) {
            original = in.readAllBytes();
        }
        StringBuilder spent = new StringBuilder();
        long end = Told.clock() + (long) (Double.parseDouble(arguments[0]) * 1e9);
        int number = 1;
        for (; Told.clock() < end && number < 9999; number++) {
            Class<?> made = new Loader().define(numbered(original, number));
            Method work = made.getDeclaredMethod(String.format("work%04d", number), int.class);
            work.setAccessible(true);
            long start = Told.clock();
            Told.sink += (long) work.invoke(null, Told.vary(200_000));
            spent.append(number == 1 ? "" : ", ");
            spent.append('"').append(number).append("\": ").append(Told.clock() - start);
            if (number % 25 == 0) {
                System.gc();
            }
        }
        long unloaded = java.lang.management.ManagementFactory.getClassLoadingMXBean()
                .getUnloadedClassCount();
        System.out.println("{\"spent\": {" + spent + "}, \"unloaded\": " + unloaded + "}");
    }
}

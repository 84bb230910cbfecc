import java.io.File;
import java.lang.ref.WeakReference;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.ArrayList;
import java.util.List;
import sonde.Sonde;
import sonde.Span;

/**
 * A program with the API that is loaded again and again by class loaders of its own, as a server
 * does with what is deployed in it. Each line of input is a round of five; its answer says whether
 * they were recorded, and how many loaders of all rounds are still there.
 */
public final class Redeployed {
    static final int LOADERS = 5;

    public static final class Application implements Runnable {
        @Override
        public void run() {
            try (Span span = Sonde.span("deployed")) {
                span.set("loader", getClass().getClassLoader().hashCode());
                recorded = span.isRecorded();
            }
        }
    }

    static volatile boolean recorded;
    static final List<WeakReference<ClassLoader>> loaders = new ArrayList<>();

    static boolean deploy(URL[] path) throws Exception {
        try (URLClassLoader loader = new URLClassLoader(path, null)) {
            loaders.add(new WeakReference<>(loader));
            Class<?> type = loader.loadClass("Redeployed$Application");
            ((Runnable) type.getDeclaredConstructor().newInstance()).run();
            java.lang.reflect.Field found = loader.loadClass("Redeployed").getDeclaredField("recorded");
            found.setAccessible(true);
            return found.getBoolean(null);
        }
    }

    static long left() throws Exception {
        long left = LOADERS;
        for (int turn = 0; turn < 20 && left > 0; turn++) {
            System.gc();
            Thread.sleep(10);
            left = loaders.stream().filter(loader -> loader.get() != null).count();
        }
        return left;
    }

    public static void main(String[] arguments) throws Exception {
        String[] places = System.getProperty("java.class.path").split(File.pathSeparator);
        URL[] path = new URL[places.length];
        for (int i = 0; i < places.length; i++) {
            path[i] = new File(places[i]).toURI().toURL();
        }
        System.out.println(ProcessHandle.current().pid());
        System.out.flush();
        while (System.in.read() >= 0) {
            int count = 0;
            for (int i = 0; i < LOADERS; i++) {
                count += deploy(path) ? 1 : 0;
            }
            new Application().run(); // of the one that stays
            System.out.println(count + " " + recorded + " " + left());
            System.out.flush();
        }
    }
}

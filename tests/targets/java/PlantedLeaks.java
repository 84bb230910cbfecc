import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * Leaks in one of three ways: `PlantedLeaks cache|listener|thread-local COUNT`. Leaks COUNT objects,
 * says "ready", and does so again for each line of input, until that ends.
 */
public class PlantedLeaks {
    static class Product {
        final int number;

        Product(int number) {
            this.number = number;
        }
    }

    static class Catalogue {
        static final Map<Integer, Product> CACHE = new HashMap<>();

        static void leak(int number) {
            CACHE.put(number, new Product(number));
        }
    }

    static class Bus {
        final List<Runnable> listeners = new ArrayList<>();
    }

    static class Window {
        final long[] pixels = new long[8];
        int redrawn;

        void open(Bus bus) {
            bus.listeners.add(
                    new Runnable() {
                        @Override
                        public void run() {
                            redrawn++;
                        }
                    });
        }
    }

    static class Request {
        final byte[] body = new byte[40];
    }

    static final ThreadLocal<List<Request>> SEEN = ThreadLocal.withInitial(ArrayList::new);
    static final Bus BUS = new Bus();

    public static void main(String[] args) throws Exception {
        int count = Integer.parseInt(args[1]);
        ExecutorService pool = Executors.newSingleThreadExecutor(job -> new Thread(job, "handler"));
        int number = 0;
        do {
            for (int i = 0; i < count; i++) {
                switch (args[0]) {
                    case "cache":
                        Catalogue.leak(number++);
                        break;
                    case "listener":
                        new Window().open(BUS);
                        break;
                    default:
                        pool.submit(() -> SEEN.get().add(new Request())).get();
                }
            }
            System.out.println("ready");
        } while (System.in.read() >= 0);
        pool.shutdown();
    }
}

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Virtual threads, and others, that wait for each other and keep books of it, as Contention does.
 * Compiled by a JDK that may not have them.
 */
public final class Virtual {
    static final List<String> waits = Collections.synchronizedList(new ArrayList<>());
    static final List<String> holds = Collections.synchronizedList(new ArrayList<>());
    static final List<String> scenarios = new ArrayList<>();

    interface Step {
        void run() throws Exception;
    }

    static Thread start(boolean virtual, String name, Step step) throws Exception {
        Runnable task = () -> {
            try {
                step.run();
            } catch (Exception e) {
                throw new RuntimeException(e);
            }
        };
        Class<?> type = Class.forName("java.lang.Thread$Builder");
        String kind = virtual ? "ofVirtual" : "ofPlatform";
        Object builder = Thread.class.getMethod(kind).invoke(null);
        builder = type.getMethod("name", String.class).invoke(builder, name);
        return (Thread) type.getMethod("start", Runnable.class).invoke(builder, task);
    }

    static void waited(String scenario, long start, long end) {
        waits.add(String.format("[\"%s\", %d, %d, %d]", scenario, start, end, end - start));
    }

    static void held(String scenario, String by, long since, long until) {
        holds.add(String.format("[\"%s\", \"Virtual.%s\", %d, %d]", scenario, by, since, until));
    }

    static void scenario(String name, String kind, String waiter, String... owners) {
        StringBuilder list = new StringBuilder();
        for (String owner : owners)
            list.append(list.length() > 0 ? ", " : "").append("\"Virtual.").append(owner).append('"');
        scenarios.add(String.format(
            "\"%s\": {\"kind\": \"%s\", \"waiter\": \"Virtual.%s\", \"owners\": [%s], "
                + "\"by\": \"function\", \"signal\": false, \"alone\": false}",
            name, kind, waiter, list));
    }

    static void busy(long ms) {
        long until = System.nanoTime() + ms * 1_000_000;
        double x = 1;
        while (System.nanoTime() < until)
            for (int i = 0; i < 100; i++)
                x = Math.sqrt(x + i);
        if (x < 0)
            System.out.println(x);
    }

    // ---- one waits for who never waited itself

    static volatile boolean taken;

    static void handOver(boolean owner, Step hold, boolean waiter, Step wait) throws Exception {
        taken = false;
        Thread one = start(owner, "owner", hold);
        while (!taken)
            Thread.sleep(1);
        Thread other = start(waiter, "waiter", wait);
        one.join();
        other.join();
    }

    static final Object monitor = new Object();

    static void monitorSlept(String scenario) throws Exception {
        synchronized (monitor) {
            long since = System.nanoTime();
            taken = true;
            Thread.sleep(12);
            held(scenario, "monitorSlept", since, System.nanoTime());
        }
    }

    static void monitorUsed(String scenario) {
        synchronized (monitor) {
            long since = System.nanoTime();
            taken = true;
            busy(20);
            held(scenario, "monitorUsed", since, System.nanoTime());
        }
    }

    static void monitorWaited(String scenario) {
        long start = System.nanoTime();
        synchronized (monitor) {
            waited(scenario, start, System.nanoTime());
        }
    }

    static void virtualMonitor() { monitorWaited("monitor"); }

    static void carriedMonitor() { monitorWaited("carried"); }

    static void kernelMonitor() { monitorWaited("kernel"); }

    static void pinnedMonitor() { monitorWaited("pinned"); }

    /** While a class is being initialized, no virtual thread leaves its carrier. */
    static final class Pinned {
        static {
            pinnedMonitor();
        }

        static void use() {}
    }

    static void pinnedHeld() throws Exception {
        synchronized (monitor) {
            long since = System.nanoTime();
            taken = true;
            Thread.sleep(100);
            held("pinned", "pinnedHeld", since, System.nanoTime());
        }
    }

    static final ReentrantLock one = new ReentrantLock();

    static void oneSlept() throws Exception {
        one.lock();
        try {
            long since = System.nanoTime();
            taken = true;
            Thread.sleep(12);
            held("one", "oneSlept", since, System.nanoTime());
        } finally {
            one.unlock();
        }
    }

    static void oneUsed() {
        one.lock();
        try {
            long since = System.nanoTime();
            taken = true;
            busy(20);
            held("one", "oneUsed", since, System.nanoTime());
        } finally {
            one.unlock();
        }
    }

    static void oneWaited() {
        long start = System.nanoTime();
        one.lock();
        try {
            waited("one", start, System.nanoTime());
        } finally {
            one.unlock();
        }
    }

    // ---- several that want the same all the time

    static final Object crowd = new Object();

    static void crowdedFew(Random random) throws Exception {
        long start = System.nanoTime();
        synchronized (crowd) {
            long since = System.nanoTime();
            waited("crowd", start, since);
            Thread.sleep(2 + random.nextInt(3));
            held("crowd", "crowdedFew", since, System.nanoTime());
        }
    }

    static void crowdedMany(Random random) {
        long start = System.nanoTime();
        synchronized (crowd) {
            long since = System.nanoTime();
            waited("crowd", start, since);
            busy(1 + random.nextInt(6));
            held("crowd", "crowdedMany", since, System.nanoTime());
        }
    }

    static void crowded() throws Exception {
        Random random = new Random(Thread.currentThread().getName().hashCode());
        for (int i = 0; i < 12; i++) {
            crowdedFew(random);
            crowdedMany(random);
        }
    }

    static final ReentrantLock lock = new ReentrantLock();

    static void lockedFew(Random random) throws Exception {
        long start = System.nanoTime();
        lock.lock();
        try {
            long since = System.nanoTime();
            waited("lock", start, since);
            Thread.sleep(2 + random.nextInt(3));
            held("lock", "lockedFew", since, System.nanoTime());
        } finally {
            lock.unlock();
        }
    }

    static void lockedMany(Random random) {
        long start = System.nanoTime();
        lock.lock();
        try {
            long since = System.nanoTime();
            waited("lock", start, since);
            busy(1 + random.nextInt(6));
            held("lock", "lockedMany", since, System.nanoTime());
        } finally {
            lock.unlock();
        }
    }

    static void locked() throws Exception {
        Random random = new Random(Thread.currentThread().getName().hashCode());
        for (int i = 0; i < 12; i++) {
            lockedFew(random);
            lockedMany(random);
        }
    }

    static void all(Step step) throws Exception {
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 3; i++)
            threads.add(start(true, "crowd-" + i, step));
        for (Thread thread : threads)
            thread.join();
    }

    public static void main(String[] arguments) throws Exception {
        scenario("monitor", "monitor", "virtualMonitor", "monitorSlept", "monitorUsed");
        scenario("carried", "monitor", "carriedMonitor", "monitorSlept", "monitorUsed");
        scenario("kernel", "monitor", "kernelMonitor", "monitorSlept", "monitorUsed");
        scenario("pinned", "monitor", "pinnedMonitor", "pinnedHeld");
        scenario("one", "rlock", "oneWaited", "oneSlept", "oneUsed");
        scenario("crowd", "monitor", "crowded", "crowdedFew", "crowdedMany");
        scenario("lock", "rlock", "locked", "lockedFew", "lockedMany");
        start(true, "first", () -> Thread.sleep(1)).join();
        for (int i = 0; i < 8; i++) {
            handOver(true, () -> monitorSlept("monitor"), true, Virtual::virtualMonitor);
            handOver(true, () -> monitorUsed("monitor"), true, Virtual::virtualMonitor);
            handOver(false, () -> monitorSlept("carried"), true, Virtual::carriedMonitor);
            handOver(false, () -> monitorUsed("carried"), true, Virtual::carriedMonitor);
            handOver(true, () -> monitorSlept("kernel"), false, Virtual::kernelMonitor);
            handOver(true, () -> monitorUsed("kernel"), false, Virtual::kernelMonitor);
            handOver(i % 2 == 0, Virtual::oneSlept, true, Virtual::oneWaited);
            handOver(i % 2 == 0, Virtual::oneUsed, true, Virtual::oneWaited);
        }
        handOver(true, Virtual::pinnedHeld, true, Pinned::use);
        all(Virtual::crowded);
        all(Virtual::locked);
        System.out.println("{\"scenarios\": {" + String.join(", ", scenarios) + "}, \"waits\": ["
            + String.join(", ", waits) + "], \"holds\": [" + String.join(", ", holds) + "]}");
    }
}

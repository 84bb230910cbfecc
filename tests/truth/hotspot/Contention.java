import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.Semaphore;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/**
 * Threads that wait for each other and keep books of it: who waited from when to when, and who held
 * what from when to when. Prints them as JSON; times are of the clock that the recorder uses.
 */
public final class Contention {
    /** What one thread writes down; nobody else does, so that nobody waits for it. */
    static final class Book {
        final List<String> waits = new ArrayList<>(), holds = new ArrayList<>();

        private long delayed;

        /** When a wait begins; what follows until it is over is waiting. */
        long begin() {
            delayed = delay();
            return System.nanoTime();
        }

        /** Once it could go on, the thread waited for a processor, not for another thread. */
        void waited(String scenario, long start, long end) {
            long slept = Math.max(end - start - (delay() - delayed), 0);
            waits.add(String.format("[\"%s\", %d, %d, %d]", scenario, start, end, slept));
        }

        private static long delay() {
            try {
                String text = Files.readString(Path.of("/proc/thread-self/schedstat"));
                return Long.parseLong(text.split(" ")[1]);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        void held(String scenario, String by, long since, long until) {
            String owner = "Contention." + by;
            holds.add(String.format("[\"%s\", \"%s\", %d, %d]", scenario, owner, since, until));
        }
    }

    /** Where threads may wait for each other to load a class, too. */
    static final List<String> LOADING = List.of("crowd", "lock");

    interface Step {
        void run(Book book) throws Exception;
    }

    static final List<Book> books = new ArrayList<>();
    static final List<String> scenarios = new ArrayList<>();

    static Thread start(String name, Step step) {
        Book book = new Book();
        books.add(book);
        Thread thread = new Thread(() -> {
            try {
                step.run(book);
            } catch (Exception e) {
                throw new RuntimeException(e);
            }
        }, name);
        thread.start();
        return thread;
    }

    static void scenario(String name, String kind, String waiter, boolean signal, String... owners) {
        StringBuilder list = new StringBuilder();
        for (String owner : owners)
            list.append(list.length() > 0 ? ", " : "").append("\"Contention.").append(owner).append('"');
        scenarios.add(String.format(
            "\"%s\": {\"kind\": \"%s\", \"waiter\": \"Contention.%s\", \"owners\": [%s], "
                + "\"by\": \"function\", \"signal\": %s, \"alone\": %s}",
            name, kind, waiter, list, signal, !LOADING.contains(name)));
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

    // ---- one waits, two hold in turn

    static final Object monitor = new Object();
    static volatile boolean held;

    static void monitorHeldShort(Book book) throws Exception {
        synchronized (monitor) {
            long since = System.nanoTime();
            held = true;
            Thread.sleep(12);
            book.held("monitor", "monitorHeldShort", since, System.nanoTime());
        }
    }

    static void monitorHeldLong(Book book) {
        synchronized (monitor) {
            long since = System.nanoTime();
            held = true;
            busy(25);
            book.held("monitor", "monitorHeldLong", since, System.nanoTime());
        }
    }

    static void monitorWaits(Book book) {
        long start = book.begin();
        synchronized (monitor) {
            book.waited("monitor", start, System.nanoTime());
        }
    }

    static void handOver(Step hold, Step wait) throws Exception {
        held = false;
        Thread owner = start("owner", hold);
        while (!held)
            Thread.sleep(1);
        Thread waiter = start("waiter", wait);
        owner.join();
        waiter.join();
    }

    // ---- several threads that want the same thing all the time, by two ways each

    static final Object crowd = new Object();

    static void crowdedFew(Book book, Random random) throws Exception {
        long start = book.begin();
        synchronized (crowd) {
            long since = System.nanoTime();
            book.waited("crowd", start, since);
            Thread.sleep(2 + random.nextInt(3));
            book.held("crowd", "crowdedFew", since, System.nanoTime());
        }
    }

    static void crowdedMany(Book book, Random random) {
        long start = book.begin();
        synchronized (crowd) {
            long since = System.nanoTime();
            book.waited("crowd", start, since);
            busy(1 + random.nextInt(6));
            book.held("crowd", "crowdedMany", since, System.nanoTime());
        }
    }

    static void crowded(Book book) throws Exception {
        Random random = new Random(Thread.currentThread().getName().hashCode());
        for (int i = 0; i < 15; i++) {
            crowdedFew(book, random);
            crowdedMany(book, random);
        }
    }

    // ---- the same of java.util.concurrent

    static final ReentrantLock lock = new ReentrantLock();

    static void lockedFew(Book book, Random random) throws Exception {
        long start = book.begin();
        lock.lock();
        try {
            long since = System.nanoTime();
            book.waited("lock", start, since);
            Thread.sleep(2 + random.nextInt(3));
            book.held("lock", "lockedFew", since, System.nanoTime());
        } finally {
            lock.unlock();
        }
    }

    static void lockedMany(Book book, Random random) {
        long start = book.begin();
        lock.lock();
        try {
            long since = System.nanoTime();
            book.waited("lock", start, since);
            busy(1 + random.nextInt(6));
            book.held("lock", "lockedMany", since, System.nanoTime());
        } finally {
            lock.unlock();
        }
    }

    static void locked(Book book) throws Exception {
        Random random = new Random(Thread.currentThread().getName().hashCode());
        for (int i = 0; i < 15; i++) {
            lockedFew(book, random);
            lockedMany(book, random);
        }
    }

    static final ReentrantReadWriteLock readWrite = new ReentrantReadWriteLock();

    static void written(Book book) throws Exception {
        Lock write = readWrite.writeLock();
        write.lock();
        try {
            long since = System.nanoTime();
            held = true;
            Thread.sleep(30);
            book.held("read", "written", since, System.nanoTime());
        } finally {
            write.unlock();
        }
    }

    static void read(Book book) {
        long start = book.begin();
        readWrite.readLock().lock();
        book.waited("read", start, System.nanoTime());
        readWrite.readLock().unlock();
    }

    static final Semaphore semaphore = new Semaphore(1);

    static void permitHeld(Book book) throws Exception {
        semaphore.acquire();
        held = true;
        Thread.sleep(30);
        semaphore.release();
    }

    static void permitWaited(Book book) throws Exception {
        long start = book.begin();
        semaphore.acquire();
        book.waited("semaphore", start, System.nanoTime());
        semaphore.release();
    }

    // ---- signals

    static final Object bell = new Object();
    static volatile boolean rung;

    static void bellRung(Book book) throws Exception {
        held = true;
        Thread.sleep(30);
        synchronized (bell) {
            rung = true;
            bell.notifyAll();
        }
    }

    static void bellAwaited(Book book) throws Exception {
        synchronized (bell) {
            long start = book.begin();
            while (!rung)
                bell.wait();
            book.waited("notify", start, System.nanoTime());
        }
    }

    static final ReentrantLock gate = new ReentrantLock();
    static final Condition opened = gate.newCondition();
    static boolean open;

    static void gateOpened(Book book) throws Exception {
        held = true;
        Thread.sleep(30);
        gate.lock();
        open = true;
        opened.signal();
        gate.unlock();
    }

    static void gateAwaited(Book book) throws Exception {
        gate.lock();
        long start = book.begin();
        while (!open)
            opened.await();
        book.waited("condition", start, System.nanoTime());
        gate.unlock();
    }

    static final ArrayBlockingQueue<String> queue = new ArrayBlockingQueue<>(4);

    static void itemPut(Book book) throws Exception {
        held = true;
        Thread.sleep(30);
        queue.put("item");
    }

    static void itemTaken(Book book) throws Exception {
        long start = book.begin();
        queue.take();
        book.waited("queue", start, System.nanoTime());
    }

    static volatile CountDownLatch latch;

    static void countedDown(Book book) throws Exception {
        held = true;
        Thread.sleep(30);
        latch.countDown();
    }

    static void latchAwaited(Book book) throws Exception {
        long start = book.begin();
        latch.await();
        book.waited("latch", start, System.nanoTime());
    }

    static volatile FutureTask<String> task;

    static String worked() throws Exception {
        held = true;
        Thread.sleep(30);
        return "done";
    }

    static void taskRun(Book book) {
        task.run();
    }

    static void resultAwaited(Book book) throws Exception {
        long start = book.begin();
        task.get();
        book.waited("future", start, System.nanoTime());
    }

    static volatile int step;

    static void whenWaiting(Thread thread, int at) throws Exception {
        while (step < at || thread.getState() != Thread.State.WAITING)
            Thread.sleep(1);
    }

    /** Each kind of waiting once, so that its classes are there before the books are kept. */
    static void warm() throws Exception {
        Object any = new Object();
        ReentrantLock own = new ReentrantLock();
        Condition condition = own.newCondition();
        ArrayBlockingQueue<String> items = new ArrayBlockingQueue<>(1);
        CountDownLatch down = new CountDownLatch(1);
        FutureTask<String> result = new FutureTask<>(() -> "");
        Book book = new Book();
        Thread waiter = new Thread(() -> {
            try {
                book.waited("warm", book.begin(), System.nanoTime());
                synchronized (any) {
                    any.wait(5);
                }
                own.lock();
                step = 1;
                condition.await();
                own.unlock();
                step = 2;
                items.take();
                step = 3;
                down.await();
                step = 4;
                result.get();
            } catch (InterruptedException | ExecutionException e) {
                throw new RuntimeException(e);
            }
        });
        waiter.start();
        whenWaiting(waiter, 1);
        own.lock();
        condition.signal();
        own.unlock();
        whenWaiting(waiter, 2);
        items.put("");
        whenWaiting(waiter, 3);
        down.countDown();
        whenWaiting(waiter, 4);
        result.run();
        waiter.join();
    }

    // ---- all of it

    static void crowd(Step step) throws Exception {
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 3; i++)
            threads.add(start("crowd-" + i, step));
        for (Thread thread : threads)
            thread.join();
    }

    public static void main(String[] arguments) throws Exception {
        warm();
        scenario("monitor", "monitor", "monitorWaits", false, "monitorHeldShort", "monitorHeldLong");
        for (int i = 0; i < 10; i++) {
            handOver(Contention::monitorHeldShort, Contention::monitorWaits);
            handOver(Contention::monitorHeldLong, Contention::monitorWaits);
        }
        scenario("crowd", "monitor", "crowded", false, "crowdedFew", "crowdedMany");
        crowd(Contention::crowded);
        scenario("lock", "rlock", "locked", false, "lockedFew", "lockedMany");
        crowd(Contention::locked);
        scenario("read", "rwlock", "read", false, "written");
        scenario("semaphore", "semaphore", "permitWaited", true, "permitHeld");
        for (int i = 0; i < 5; i++) {
            handOver(Contention::written, Contention::read);
            handOver(Contention::permitHeld, Contention::permitWaited);
        }
        scenario("notify", "condition", "bellAwaited", true, "bellRung");
        scenario("condition", "condition", "gateAwaited", true, "gateOpened");
        scenario("queue", "queue", "itemTaken", true, "itemPut");
        scenario("latch", "event", "latchAwaited", true, "countedDown");
        scenario("future", "future", "resultAwaited", true, "taskRun");
        for (int i = 0; i < 5; i++) {
            rung = open = false;
            latch = new CountDownLatch(1);
            task = new FutureTask<>(Contention::worked);
            handOver(Contention::bellRung, Contention::bellAwaited);
            handOver(Contention::gateOpened, Contention::gateAwaited);
            handOver(Contention::itemPut, Contention::itemTaken);
            handOver(Contention::countedDown, Contention::latchAwaited);
            handOver(Contention::taskRun, Contention::resultAwaited);
        }

        List<String> waits = new ArrayList<>(), holds = new ArrayList<>();
        for (Book book : books) {
            waits.addAll(book.waits);
            holds.addAll(book.holds);
        }
        System.out.println("{\"scenarios\": {" + String.join(", ", scenarios) + "}, \"waits\": ["
            + String.join(", ", waits) + "], \"holds\": [" + String.join(", ", holds) + "]}");
    }
}

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import sonde.Sonde;
import sonde.Span;
import sonde.ThreadCounters;

/** Work in spans, whose CPU time it knows; compiled by a JDK that may have no virtual threads. */
public final class Spans {
    static final ThreadMXBean clock = ManagementFactory.getThreadMXBean();
    static final Map<String, Long> spent = new TreeMap<>();
    static volatile double sink;

    static void used(String name, long ns) {
        synchronized (spent) {
            spent.merge(name, ns, Long::sum);
        }
    }

    static void work(double from) {
        double x = from;
        for (int i = 0; i < 2000; i++) {
            x = Math.sqrt(x + i);
        }
        sink = x;
    }

    /** CPU time of this thread, which is no virtual one. */
    static void burn(String name, long ms) {
        long began = clock.getCurrentThreadCpuTime(), until = began + ms * 1_000_000;
        while (clock.getCurrentThreadCpuTime() < until) {
            work(1);
        }
        used(name, clock.getCurrentThreadCpuTime() - began);
    }

    static void nested() {
        try (Span outer = Sonde.span("outer")) {
            outer.set("order", 42).set("order", 43);
            burn("outer", 60);
            try (Span inner = Sonde.span("inner")) {
                burn("inner", 40);
                inner.rename("inside");
            }
            burn("outer", 20);
        }
        burn("none", 30);
    }

    static void inOtherThreads() throws Exception {
        try (Span whole = Sonde.span("whole")) {
            whole.set("trace_id", "0af7651916cd43dd8448eb211c80319c").set("span_id", "b7ad6b7169203331");
            Thread worker = new Thread(() -> {
                try (Span part = whole.part("part")) {
                    burn("part", 60);
                }
                burn("none", 20);
            }, "worker");
            worker.start();
            worker.join();
            burn("whole", 20);
        }
    }

    /** The outer one is left first, and by another thread. */
    static void outOfOrder() throws Exception {
        Span first = Sonde.span("first"), second = Sonde.span("second");
        burn("second", 30);
        Thread other = new Thread(first::close);
        other.start();
        other.join();
        burn("second", 30);
        second.close();
        second.close();
        burn("none", 10);
    }

    static final Object lock = new Object();

    static void locked() throws Exception {
        CountDownLatch holds = new CountDownLatch(1);
        Thread holder = new Thread(() -> {
            synchronized (lock) {
                holds.countDown();
                try {
                    Thread.sleep(50);
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            }
        }, "holder");
        holder.start();
        holds.await();
        long began = System.nanoTime();
        try (Span s = Sonde.span("locked")) {
            synchronized (lock) {
                used("waited", System.nanoTime() - began);
            }
        }
        holder.join();
    }

    static void counted() {
        ThreadCounters counters = Sonde.threadCounters("task-clock", "minor-faults");
        try (Span s = counters.span("counted")) {
            burn("counted", 20);
        }
    }

    static Thread startVirtual(String name, Runnable task) throws Exception {
        Class<?> type = Class.forName("java.lang.Thread$Builder");
        Object builder = Thread.class.getMethod("ofVirtual").invoke(null);
        builder = type.getMethod("name", String.class).invoke(builder, name);
        return (Thread) type.getMethod("start", Runnable.class).invoke(builder, task);
    }

    /** Alternately works and leaves its carrier, so that several share few of them. */
    static void virtual(String name, int pieces) {
        try (Span s = Sonde.span(name)) {
            for (int i = 0; i < 30; i++) {
                for (int n = 0; n < pieces; n++) {
                    work(n);
                }
                try {
                    Thread.sleep(1);
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            }
        }
    }

    static void unspanned(int pieces) {
        for (int i = 0; i < 30; i++) {
            for (int n = 0; n < pieces; n++) {
                work(n);
            }
            Thread.yield();
        }
    }

    static void virtuals() throws Exception {
        List<Thread> all = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            all.add(startVirtual("small-" + i, () -> virtual("small", 50)));
            all.add(startVirtual("large-" + i, () -> virtual("large", 150)));
            all.add(startVirtual("", () -> unspanned(50)));
        }
        for (Thread thread : all) {
            thread.join();
        }
    }

    public static void main(String[] arguments) throws Exception {
        used("none", 0); // what is done once only is in no span
        Sonde.mark("begun");
        nested();
        inOtherThreads();
        outOfOrder();
        locked();
        counted();
        Sonde.pause();
        try (Span s = Sonde.span("paused")) {
            burn("paused", 40);
        }
        Sonde.resume();
        try (Span s = Sonde.span("\u00dcber \ud83d\ude00 \ud83d")) {
            s.set("text", null);
        }
        if (arguments.length > 0) {
            virtuals();
        }
        Sonde.mark("\u00fcber");
        StringBuilder told = new StringBuilder();
        spent.forEach((name, ns) ->
            told.append(told.length() > 0 ? ", " : "").append('"').append(name).append("\": ").append(ns));
        System.out.println("{\"recorded\": " + Sonde.isRecorded() + ", \"spent\": {" + told + "}}");
    }
}

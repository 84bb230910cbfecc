import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CyclicBarrier;

/**
 * A thread holds a monitor in synchronized methods that the compilers inline into their callers,
 * while others wait for it. Prints what of the waiting each method caused, by its own clock. Started
 * with {@code -XX:CompileCommand=dontinline,Inlined::keep}: else what happens there for the first
 * time would have the callers' compiled code discarded.
 */
public final class Inlined {
    private static final int WAITERS = 2, BATCHES = 400, CALLS = 100;
    private static final Told.Parts parts = new Told.Parts();
    private static final CyclicBarrier ready = new CyclicBarrier(WAITERS + 1);
    private static final CyclicBarrier over = new CyclicBarrier(WAITERS + 1);
    private static final List<Thread> waiters = new ArrayList<>();
    private static boolean keeps;

    record Stretch(String name, long start, long end) {}

    private static final List<Stretch> held = new ArrayList<>();
    private static final List<Stretch> waited = Collections.synchronizedList(new ArrayList<>());

    /** Called by the method of that name: with its monitor, if it is to be kept for a while. */
    static void keep(String name, int ms) {
        if (!keeps) {
            return;
        }
        keeps = false;
        try {
            ready.await();
            for (Thread waiter : waiters) {
                while (waiter.getState() != Thread.State.BLOCKED) {
                    Thread.sleep(1);
                }
            }
            Thread.sleep(1);
            long began = System.nanoTime();
            Thread.sleep(ms);
            held.add(new Stretch(name, began, System.nanoTime()));
        } catch (InterruptedException | BrokenBarrierException e) {
            throw new IllegalStateException(e);
        }
    }

    static final class Account {
        private int balance;

        synchronized void deposit() {
            balance++;
            keep("deposit", 8);
        }

        synchronized int withdraw(int amount) {
            keep("withdraw", 12);
            return balance -= amount;
        }

        /** Takes a monitor once more that it has, in a method that is inlined as well. */
        synchronized int audit() {
            int before = read();
            keep("audit", 10);
            return before;
        }

        synchronized int read() {
            return balance;
        }

        static synchronized int reset(int to) {
            keep("reset", 6);
            return to + 1;
        }

        synchronized void refuse(int amount) {
            keep("refuse", 9);
            if (amount >= 0) {
                throw REFUSED;
            }
        }
    }

    private static final RuntimeException REFUSED = new RuntimeException("refused");
    private static final Account account = new Account();

    interface Call {
        int with(int i);
    }

    static int deposits(int i) {
        account.deposit();
        return i + 1;
    }

    static int withdraws(int i) {
        int left = account.withdraw(i);
        return left ^ i;
    }

    /** Two levels of inlining. */
    static int audits(int i) {
        return looksInto(i) + 1;
    }

    private static int looksInto(int i) {
        return account.audit() + i;
    }

    static int resets(int i) {
        return Account.reset(i) * 3;
    }

    static int refuses(int i) {
        try {
            account.refuse(i);
        } catch (RuntimeException e) {
            return i;
        }
        return 0;
    }

    private static int sum;

    private static void call(Call call) {
        for (int i = 0; i < CALLS; i++) {
            sum += call.with(i);
        }
    }

    private static void waits(int turns, Object monitor) {
        try {
            for (int i = 0; i < turns; i++) {
                ready.await();
                long began = System.nanoTime();
                synchronized (monitor) {
                    waited.add(new Stretch("", began, System.nanoTime()));
                }
                over.await();
            }
        } catch (InterruptedException | BrokenBarrierException e) {
            throw new IllegalStateException(e);
        }
    }

    private static void rounds(Call call, int rounds, Object monitor) throws Exception {
        waiters.clear();
        for (int i = 0; i < WAITERS; i++) {
            waiters.add(new Thread(() -> waits(rounds, monitor), "waiter-" + i));
            waiters.get(i).start();
        }
        for (int i = 0; i < rounds; i++) {
            keeps = true;
            sum += call.with(i);
            over.await();
        }
        for (Thread waiter : waiters) {
            waiter.join();
        }
        for (Stretch one : held) {
            for (Stretch wait : waited) {
                long ns = Math.min(one.end, wait.end) - Math.max(one.start, wait.start);
                parts.add(one.name, Math.max(ns, 0));
            }
        }
        held.clear();
        waited.clear();
    }

    public static void main(String[] args) throws Exception {
        int rounds = Integer.parseInt(args[0]);
        List<Call> calls = List.of(Inlined::deposits, Inlined::withdraws, Inlined::audits,
            Inlined::resets, Inlined::refuses);
        for (int i = 0; i < BATCHES; i++) {
            for (Call call : calls) {
                call(call);
            }
            if (i % 100 == 99) {
                Thread.sleep(150); // the compilers work meanwhile
            }
        }
        for (Call call : calls) {
            rounds(call, rounds, call == calls.get(3) ? Account.class : account);
        }
        System.out.println(parts);
    }
}

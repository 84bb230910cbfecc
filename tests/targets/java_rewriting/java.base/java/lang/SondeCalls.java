package java.lang;

/** What rewritten classes call, where no agent is: it counts. */
public final class SondeCalls {
    public static long entered, left, unwound, caught, passed, values, counted;

    public static void count() {
        counted++;
    }

    public static void enter(int number) {
        entered++;
    }

    public static void leave(int number) {
        left++;
    }

    public static void unwind(int number) {
        unwound++;
    }

    public static void caught(int number) {
        caught++;
    }

    public static void integer(long value, int number) {
        values++;
    }

    public static void real(double value, int number) {
        values++;
    }

    public static void object(Object value, int number) {
        values++;
    }

    public static void pass(int number) {
        passed++;
    }

    public static void acquires(Object lock, int number) {
    }

    public static void acquired(int number) {
    }

    public static void releases(Object lock, int number) {
    }

    public static void holds(Object lock, int number) {
    }
}

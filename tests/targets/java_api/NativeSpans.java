import sonde.Sonde;
import sonde.Span;

/** Spans of C code in those of Java, in threads of the kernel and in a virtual one if there are. */
public final class NativeSpans {
    static native int burn(int ms);

    static void both(String name) {
        try (Span span = Sonde.span(name)) {
            burn(50);
        }
        burn(20);
    }

    public static void main(String[] arguments) throws Exception {
        System.load(arguments[0]);
        both("java");
        if (arguments.length > 1) {
            ((Thread) Thread.class.getMethod("startVirtualThread", Runnable.class)
                .invoke(null, (Runnable) () -> both("virtual"))).join();
        }
        System.out.println("{\"recorded\": " + (burn(1) != 0) + "}");
    }
}

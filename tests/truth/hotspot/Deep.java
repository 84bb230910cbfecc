/** Recursion of a known depth, interpreted, compiled and inlined into itself. */
public class Deep {
    static final int DEPTH = 1000;

    static long down(int left) {
        return left == 0 ? bottom() : down(left - 1) + 1;
    }

    static long bottom() {
        return Told.mix(20_000);
    }

    public static void main(String[] arguments) {
        long end = Told.clock() + (long) (Double.parseDouble(arguments[0]) * 1e9);
        while (Told.clock() < end) {
            Told.sink += down(DEPTH);
        }
        System.out.println("{\"depth\": " + (DEPTH + 1) + "}");
    }
}

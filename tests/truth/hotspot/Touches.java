import java.util.ArrayList;
import java.util.List;

/** Memory of the Java heap, touched for the first time: as small objects, and as large ones. */
public final class Touches {
    private static final int SMALL_BYTES = 1000, LARGE_BYTES = 3 << 20, EACH_BYTES = 24 << 20;
    static final List<byte[]> kept = new ArrayList<>();

    static void small() {
        for (int i = 0; i < EACH_BYTES / SMALL_BYTES; i++)
            kept.add(new byte[SMALL_BYTES]);
    }

    static void large() {
        for (int i = 0; i < EACH_BYTES / LARGE_BYTES; i++)
            kept.add(new byte[LARGE_BYTES]);
    }

    public static void main(String[] arguments) {
        small();
        large();
        System.out.println(kept.size());
    }
}

import java.util.ArrayList;
import java.util.List;

/** Makes known numbers of objects of known sizes, and says so. */
public final class Allocates {
    static final class Small {
        long a, b, c, d;
    }

    static volatile Object sink;

    static void makeSmall(int n) {
        for (int i = 0; i < n; i++)
            sink = new Small();
    }

    static void makeArrays(int n) {
        for (int i = 0; i < n; i++)
            sink = new byte[10_000];
    }

    static void makeMatrix(int n) {
        for (int i = 0; i < n; i++)
            sink = new long[10][1000];
    }

    static void fillList(int n) {
        List<Integer> list = new ArrayList<>();
        for (int i = 0; i < n; i++)
            list.add(i + 1000);
        sink = list;
    }

    public static void main(String[] arguments) {
        makeSmall(8_000_000);
        makeArrays(40_000);
        makeMatrix(4_000);
        fillList(3_000_000);
        System.out.println("{\"Allocates$Small\": 8000000, \"byte[]\": 40000, \"long[]\": 40000}");
    }
}

import java.util.ArrayList;
import java.util.List;

/** Values that are known: see test_hotspot_probes.py, which looks for the lines. */
public class Probed {
    static int total;
    final String name;
    final List<Object> items = new ArrayList<>();
    final long[] prices = {5, 7};
    Integer limit = 3;

    Probed(String name) {
        this.name = name;
    }

    int take(int number, double share, boolean last) {
        items.add(number);
        int size = items.size();
        total += size;
        return size;
    }

    static int count(String word) {
        return word.length();
    }

    static void rounds(int n) {
        Probed probed = new Probed("crate");
        for (int i = 0; i < n; i++) {
            probed.take(i, i / 2.0, i == n - 1);
            count("pear" + i % 2);
        }
    }

    public static void main(String[] arguments) throws Exception {
        if (arguments.length == 0) {
            rounds(200);
            return;
        }
        System.out.println("ready");
        while (System.in.read() == '\n') {
            rounds(200);
            System.out.println("done");
        }
    }
}

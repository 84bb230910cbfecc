/** Methods, lines and lambdas that take turns for known times. */
public class Shares {
    static final Told.Parts byMethod = new Told.Parts(), byLine = new Told.Parts();
    static final Told.Parts byLambda = new Told.Parts(), byInlined = new Told.Parts();

    static void alpha(int n) {
        Told.sink += Told.mix(n);
    }

    static void beta(int n) {
        Told.sink += Told.mix(n);
    }

    static void allocating(int n) {
        long sum = 0;
        for (int i = 0; i < n / 8; i++) {
            sum += new StringBuilder().append(i).toString().length();
        }
        Told.sink += sum;
    }

    static void sorting(int n) {
        long[] some = new long[n / 8 + 2];
        for (int i = 0; i < some.length; i++) {
            some[i] = i * 2654435761L % 1000003;
        }
        java.util.Arrays.sort(some);
        Told.sink += some[some.length / 2];
    }

    static void turn(int which, int n) {
        long start = Told.clock();
        switch (which) {
            case 0: alpha(n); break;
            case 1: beta(n); break;
            case 2: allocating(n); break;
            default: sorting(n); break;
        }
        byMethod.add(NAMES[which], Told.clock() - start);
    }

    static final String[] NAMES = {"alpha", "beta", "allocating", "sorting"};
    static final int[] SHARES = {40, 20, 10, 10};

    static void lines(int a, int b) {
        long x = a;
        long t0 = Told.clock();
        for (int i = 0; i < a; i++) { // line: multiply
            x = x * 6364136223846793005L + 1442695040888963407L; // line: multiply
        } // line: multiply
        long t1 = Told.clock();
        for (int i = 1; i < b; i++) { // line: divide
            x ^= (x | 1) / i; // line: divide
        } // line: divide
        long t2 = Told.clock();
        Told.sink += x;
        byLine.add("multiply", t1 - t0);
        byLine.add("divide", t2 - t1);
    }

    // Small enough to be inlined, into each other and into the loop that calls them.
    static long little(long x) {
        return x * 6364136223846793005L + 1442695040888963407L;
    }

    static long middle(long x) {
        long y = little(x);
        return y ^ (y >>> 29);
    }

    static void inlined(int n) {
        long start = Told.clock();
        long x = n;
        for (int i = 0; i < n; i++) {
            x = middle(x);
        }
        Told.sink += x;
        byInlined.add("inlined", Told.clock() - start);
    }

    static void run(String name, Runnable what) {
        long start = Told.clock();
        what.run();
        byLambda.add(name, Told.clock() - start);
    }

    static void lambdas(int n) {
        run("lambda$lambdas$0", () -> Told.sink += Told.mix(2 * n));
        run("lambda$lambdas$1", () -> Told.sink += Told.mix(n));
    }

    public static void main(String[] arguments) {
        long end = Told.clock() + (long) (Double.parseDouble(arguments[0]) * 1e9);
        while (Told.clock() < end) {
            for (int which = 0; which < NAMES.length; which++) {
                turn(which, Told.vary(SHARES[which] * 10_000));
            }
            lines(Told.vary(400_000), Told.vary(100_000));
            inlined(Told.vary(300_000));
            lambdas(Told.vary(100_000));
        }
        System.out.println("{\"by_method\": " + byMethod + ", \"by_line\": " + byLine
                + ", \"by_lambda\": " + byLambda + ", \"by_inlined\": " + byInlined + "}");
    }
}

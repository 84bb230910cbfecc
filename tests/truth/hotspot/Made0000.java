/** What generated classes are made from: every 0000 in it becomes a number. */
class Made0000 {
    static long work0000(int n) {
        long x = leaf0000(n);
        return x + 1;
    }

    static long leaf0000(int n) {
        long x = n;
        for (int i = 0; i < n; i++) {
            x = x * 6364136223846793005L + 1442695040888963407L;
            x ^= x >>> 29;
        }
        return x;
    }
}
